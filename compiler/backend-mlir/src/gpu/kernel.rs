//! Emits each part of a kernel as device functions.

mod walk;

use super::mapping::{self, KernelPart, PIECES, THREADS, Team};
use crate::call::Needs;
use crate::func::{Emitter, Source, plus, times};
use crate::scalar;
use crate::schedule::Schedule;
use crate::text::{LoopBounds, Text, Type, Value, commas};
use bnnc_abi::device::{Count, KernelEntry, KernelParameter, LaunchSequence};
use bnnc_abi::plan::{Combine, Storage};
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::motion::sizes;
use bnnc_loops::ir::{Kernel, LoopSize};
use std::collections::BTreeSet;
use walk::Walk;

/// The number of bytes of shared memory per function. It holds one number for each thread of a
/// block, until these are combined.
const SHARED: u32 = 8 * THREADS as u32;

/// The number of bytes that are reserved for the partial result of a block. They are enough for
/// every type of result.
const PIECE: i64 = 8;

/// Returns how many bytes of scratch memory are needed for the partial results of blocks.
pub(super) fn scratch_bytes(kernel: &Kernel, part: &KernelPart) -> i64 {
    match (part.team, mapping::points(kernel, part, true)) {
        (Team::Blocks, Some(points)) => part.outputs.len() as i64 * points * PIECES * PIECE,
        (Team::Blocks | Team::Block | Team::Thread | Team::Alone, _) => 0,
    }
}

/// The task of a function in computing a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The function computes the part completely.
    Whole,
    /// Several blocks run the function, and each stores a partial result.
    Pieces,
    /// A single block combines the partial results of several blocks.
    Combine,
}

/// The part of a kernel that is emitted as functions.
pub(super) struct Function<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The outputs that the part computes, and the threads that compute them.
    pub part: &'a KernelPart,
    /// The width of reals.
    pub precision: Precision,
    /// True if every launch binds different buffers to the kernel's slots.
    pub distinct: bool,
}

impl Function<'_> {
    /// Emits the function for the part, or two functions if several blocks share a kept point.
    /// Returns the entries to launch. If reductions are combined in memory, the first entries write
    /// their initial values.
    pub fn emit(&self, (text, needs): (&mut Text, &mut Needs), symbol: String) -> Vec<KernelEntry> {
        let stages: &[(Stage, String)] = &match self.part.team {
            Team::Blocks => vec![
                (Stage::Pieces, format!("{symbol}_pieces")),
                (Stage::Combine, format!("{symbol}_combine")),
            ],
            Team::Thread | Team::Block | Team::Alone => vec![(Stage::Whole, symbol)],
        };
        let own = stages.iter().map(|(stage, symbol)| {
            self.stage((text, needs), symbol, *stage);
            self.entry(symbol, *stage)
        });
        let own: Vec<KernelEntry> = own.collect();
        self.fills().into_iter().chain(own).collect()
    }

    /// Emits one function.
    fn stage(&self, (text, needs): (&mut Text, &mut Needs), symbol: &str, stage: Stage) {
        let schedule = Schedule::without_loops(self.kernel);
        let source = Source {
            kernel: self.kernel,
            factor: 1,
            divided: 0,
            staging: &schedule.staging,
            schedule: &schedule,
            precision: self.precision,
            distinct: false,
            device: true,
        };
        let ints = self.ints();
        let team = self.part.team;
        if matches!(team, Team::Block | Team::Blocks) {
            text.line(format_args!(
                "llvm.mlir.global internal @shared_{symbol}() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<{SHARED} x i8>"
            ));
        }
        text.restart();
        let bases: Vec<Value> = self
            .kernel
            .slots
            .iter()
            .map(|_| text.fresh(Type::Pointer))
            .collect();
        let numbers: Vec<Value> = ints.iter().map(|_| text.fresh(Type::Long)).collect();
        let addresses = bases.iter().enumerate();
        let addresses = addresses.map(|(slot, base)| format!("{base}: !llvm.ptr{}", self.promises(slot)));
        let mut parameters: Vec<String> = addresses
            .chain(numbers.iter().map(|number| format!("{number}: i64")))
            .collect();
        let scratch = (stage != Stage::Whole).then(|| text.fresh(Type::Pointer));
        parameters.extend(scratch.map(|scratch| format!("{scratch}: !llvm.ptr")));
        begin(text, symbol, &parameters, THREADS);
        let mut slots = vec![None; ints.last().map_or(0, |last| *last as usize + 1)];
        ints.iter()
            .zip(&numbers)
            .for_each(|(slot, number)| slots[*slot as usize] = Some(*number));
        let mut emitter = Emitter::on_device(&source, (text, needs), bases, slots);
        match (team, scratch) {
            (Team::Thread | Team::Alone, _) => self.by_threads(&mut emitter),
            (Team::Blocks, Some(scratch)) if stage == Stage::Combine => {
                self.by_pieces(&mut emitter, symbol, scratch)
            }
            (Team::Block | Team::Blocks, scratch) => self.by_blocks(&mut emitter, symbol, scratch),
        }
        end(text);
    }

    /// Describes the launch of a function.
    fn entry(&self, name: &str, stage: Stage) -> KernelEntry {
        let team = self.part.team;
        let buffers = (0..self.kernel.slots.len() as u32).map(KernelParameter::Buffer);
        let kept = self.axes(true).into_iter().map(|axis| self.kernel.dims[axis]);
        let counts = kept.map(|dim| match dim {
            LoopSize::Fixed(size) => Count::Fixed(size),
            LoopSize::Slot(slot) => Count::Int(slot),
        });
        let points = Count::Product(counts.collect());
        let blocks = matches!(team, Team::Block | Team::Blocks);
        let ints = self.ints().into_iter().map(KernelParameter::Int);
        let scratch = (stage != Stage::Whole).then_some(KernelParameter::Scratch);
        entry(
            (name.to_owned(), if blocks { SHARED } else { 0 }),
            match (blocks, stage) {
                (true, Stage::Pieces) => Count::Product(vec![points, Count::Fixed(PIECES)]),
                (true, Stage::Whole | Stage::Combine) => points,
                (false, _) => over_threads(points),
            },
            buffers.chain(ints).chain(scratch).collect(),
        )
    }

    /// Returns the entries that write initial values to outputs. Only outputs whose reductions are
    /// combined in memory need initial values.
    fn fills(&self) -> Vec<KernelEntry> {
        let outputs = self.part.outputs.iter().filter(|at| !self.in_register(**at));
        let outputs = outputs.map(|at| &self.kernel.outputs[*at]);
        outputs
            .filter_map(|output| {
                let (slot, combine) = (output.access.slot, output.combine?);
                let storage = self.kernel.slots[slot as usize];
                Some(entry(
                    (fill_symbol(storage, combine), 0),
                    over_threads(Count::Elements(slot)),
                    vec![KernelParameter::Buffer(slot), KernelParameter::Elements(slot)],
                ))
            })
            .collect()
    }

    /// Returns the integer slots that the kernel uses, in order.
    fn ints(&self) -> Vec<u32> {
        let slots = sizes(self.kernel).into_iter().filter_map(|size| match size {
            LoopSize::Slot(slot) => Some(slot),
            LoopSize::Fixed(_) => None,
        });
        slots.collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// Returns the LLVM attributes of the function parameter that holds the buffer of a slot.
    fn promises(&self, slot: usize) -> &'static str {
        let written = self
            .kernel
            .outputs
            .iter()
            .any(|output| output.access.slot as usize == slot);
        match (self.distinct, written) {
            (true, false) => " {llvm.noalias, llvm.readonly}",
            (true, true) => " {llvm.noalias}",
            (false, _) => "",
        }
    }

    /// Returns the axes that the part keeps if `kept` is true, and the other axes otherwise. Axes
    /// of length 1 are left out, because their index is 0.
    fn axes(&self, kept: bool) -> Vec<usize> {
        let dims = self.kernel.dims.iter().enumerate();
        dims.filter(|(axis, dim)| **dim != LoopSize::Fixed(1) && self.part.kept[*axis] == kept)
            .map(|(axis, _)| axis)
            .collect()
    }

    /// Emits the code for parts where one thread computes each kept point.
    fn by_threads(&self, emitter: &mut Emitter<'_>) {
        let flat = flat(emitter.text);
        let kept = self.axes(true);
        let total = self.total(emitter, &kept);
        let inside = emitter.text.compare("slt", flat, total);
        emitter.text.open(format_args!("scf.if {inside} {{"));
        self.go_to(emitter, flat, &kept);
        let walk = Walk::of(self);
        walk.begin(emitter);
        walk.through(emitter, &self.axes(false));
        walk.end(emitter);
        emitter.text.close("}");
    }

    /// Emits the code for parts where one block, or [`PIECES`] blocks, compute each kept point. If
    /// many blocks share a point, the blocks store partial results in `scratch`.
    fn by_blocks(&self, emitter: &mut Emitter<'_>, symbol: &str, scratch: Option<Value>) {
        let (thread, block) = place(emitter.text);
        let (mut point, mut first, mut step) = (block, thread, THREADS);
        if scratch.is_some() {
            let pieces = emitter.text.long(PIECES);
            point = emitter.text.alike("arith.divui", &[block, pieces]);
            let piece = emitter.text.alike("arith.remui", &[block, pieces]);
            let threads = emitter.text.long(THREADS);
            let before = times(emitter.text, piece, threads);
            (first, step) = (plus(emitter.text, before, thread), THREADS * PIECES);
        }
        self.go_to(emitter, point, &self.axes(true));
        let reduced = self.axes(false);
        let total = self.total(emitter, &reduced);
        let walk = Walk::of(self);
        walk.begin(emitter);
        walk.compute(emitter, &reduced);
        let bounds = LoopBounds {
            from: first,
            to: total,
            step,
        };
        emitter.count(bounds, &mut |emitter, flat| {
            self.go_to(emitter, flat, &reduced);
            walk.through(emitter, &[]);
        });
        let shared = shared(emitter.text, symbol);
        for (order, at) in self.part.outputs.iter().enumerate() {
            let result = walk.gather(emitter, *at, (shared, thread));
            match scratch {
                Some(scratch) => {
                    let place = self.piece(emitter, (scratch, order), block);
                    emitter.text.store(result, place, "");
                }
                None => walk.write(emitter, *at, result),
            }
            emitter.text.close("}");
            self.wait_between(emitter, order);
        }
    }

    /// Emits the code of the single block that combines the partial results of each kept point.
    fn by_pieces(&self, emitter: &mut Emitter<'_>, symbol: &str, scratch: Value) {
        let (thread, point) = place(emitter.text);
        self.go_to(emitter, point, &self.axes(true));
        let walk = Walk::of(self);
        walk.begin(emitter);
        let pieces = emitter.text.long(PIECES);
        let first = times(emitter.text, point, pieces);
        let first = plus(emitter.text, first, thread);
        let shared = shared(emitter.text, symbol);
        for (order, at) in self.part.outputs.iter().enumerate() {
            let (Some(combine), Some(mut held)) = (self.kernel.outputs[*at].combine, emitter.held[*at])
            else {
                unreachable!("blocks have reductions in registers")
            };
            for turn in 0..PIECES / THREADS {
                let offset = emitter.text.long(turn * THREADS);
                let piece = plus(emitter.text, first, offset);
                let place = self.piece(emitter, (scratch, order), piece);
                let found = emitter.text.load(held.ty, place, "");
                held = scalar::combine(emitter.text, combine, held, found);
            }
            emitter.held[*at] = Some(held);
            let result = walk.gather(emitter, *at, (shared, thread));
            walk.write(emitter, *at, result);
            emitter.text.close("}");
            self.wait_between(emitter, order);
        }
    }

    /// Emits a barrier between two outputs, which use the same shared memory. It ensures that the
    /// first thread has read the result of the first output.
    fn wait_between(&self, emitter: &mut Emitter<'_>, order: usize) {
        if order + 1 < self.part.outputs.len() {
            emitter.text.line("nvvm.barrier0");
        }
    }

    /// Returns the address of the partial result of a block. `order` is the position of the output in the part.
    fn piece(&self, emitter: &mut Emitter<'_>, (scratch, order): (Value, usize), block: Value) -> Value {
        let pieces = mapping::points(self.kernel, self.part, true).unwrap_or(1) * PIECES;
        let before = emitter.text.long(order as i64 * pieces);
        let number = plus(emitter.text, before, block);
        // Every partial result has the size of an `f64`.
        emitter.text.element(scratch, number, Type::Real(Precision::F64))
    }

    /// Returns the number of points along some axes.
    fn total(&self, emitter: &mut Emitter<'_>, axes: &[usize]) -> Value {
        let mut total = emitter.text.long(1);
        for axis in axes {
            let size = emitter.size(self.kernel.dims[*axis]);
            total = times(emitter.text, total, size);
        }
        total
    }

    /// Sets the indices along `axes` to those of the point with the number `flat`.
    fn go_to(&self, emitter: &mut Emitter<'_>, flat: Value, axes: &[usize]) {
        let fixed = axes.iter().map(|axis| match self.kernel.dims[*axis] {
            LoopSize::Fixed(size) => Some(size),
            LoopSize::Slot(_) => None,
        });
        // A 32-bit division takes only a fraction of the time of a 64-bit division.
        let short = fixed
            .product::<Option<i64>>()
            .is_some_and(|total| total <= i64::from(i32::MAX));
        let mut rest = match short {
            true => emitter.text.convert("arith.trunci", flat, Type::Int),
            false => flat,
        };
        for (at, axis) in axes.iter().enumerate().rev() {
            let mut index = rest;
            if at > 0 {
                let size = match (short, self.kernel.dims[*axis]) {
                    (true, LoopSize::Fixed(size)) => emitter.text.literal(Type::Int, size as f64),
                    (_, size) => emitter.size(size),
                };
                index = emitter.text.alike("arith.remui", &[rest, size]);
                rest = emitter.text.alike("arith.divui", &[rest, size]);
            }
            emitter.indices[*axis] = match short {
                true => emitter.text.convert("arith.extui", index, Type::Long),
                false => index,
            };
        }
    }

    /// Returns whether the reduction for an output stays in a register until it is complete.
    fn in_register(&self, output: usize) -> bool {
        let described = &self.kernel.outputs[output];
        let reduces = described.combine.is_some() && described.access.dynamic.is_empty();
        reduces && self.part.team != Team::Alone
    }
}

/// Returns the address of the shared memory of a function.
fn shared(text: &mut Text, symbol: &str) -> Value {
    let shared = text.value(
        Type::Pointer,
        format_args!("llvm.mlir.addressof @shared_{symbol} : !llvm.ptr<3>"),
    );
    text.value(
        Type::Pointer,
        format_args!("llvm.addrspacecast {shared} : !llvm.ptr<3> to !llvm.ptr"),
    )
}

/// Builds an entry whose grid has one axis. Each block has [`THREADS`] threads.
pub(super) fn entry(
    (name, shared): (String, u32),
    blocks: Count,
    parameters: Vec<KernelParameter>,
) -> KernelEntry {
    KernelEntry {
        name,
        grid: [blocks, Count::Fixed(1), Count::Fixed(1)],
        block: [THREADS as u32, 1, 1],
        static_shared: shared,
        dynamic_shared: Count::Fixed(0),
        parameters,
    }
}

/// Returns the number of blocks needed for `count` threads.
pub(super) fn over_threads(count: Count) -> Count {
    Count::Quotient(Box::new(count), THREADS)
}

/// Begins an entry.
pub(super) fn begin(text: &mut Text, symbol: &str, parameters: &[String], threads: i64) {
    text.open(format_args!(
        "llvm.func @{symbol}({}) attributes {{nvvm.kernel, nvvm.maxntid = array<i32: {threads}>, passthrough = [\"nounwind\", \"no-builtins\"]}} {{",
        commas(parameters)
    ));
}

/// Ends an entry.
pub(super) fn end(text: &mut Text) {
    text.line("llvm.return");
    text.close("}");
}

/// Returns the number of this thread within its block, and the number of the block.
pub(super) fn place(text: &mut Text) -> (Value, Value) {
    let [thread, block] = ["tid", "ctaid"].map(|register| {
        let short = text.value(Type::Int, format_args!("nvvm.read.ptx.sreg.{register}.x : i32"));
        text.convert("arith.extui", short, Type::Long)
    });
    (thread, block)
}

/// Returns the number of this thread in the whole grid.
fn flat(text: &mut Text) -> Value {
    let (thread, block) = place(text);
    let threads = text.long(THREADS);
    let first = times(text, block, threads);
    plus(text, first, thread)
}

fn fill_symbol(storage: Storage, combine: Combine) -> String {
    let storage = match storage {
        Storage::Real => "reals",
        Storage::Int => "ints",
    };
    format!("fill_{storage}_{}", combine.name())
}

/// Writes the functions that fill the buffers of these kernels.
pub(super) fn fills(kernels: &[LaunchSequence], precision: Precision, text: &mut Text) {
    let entries = kernels.iter().flat_map(|work| &work.entries);
    let wanted: BTreeSet<&str> = entries.map(|entry| entry.name.as_str()).collect();
    for storage in [Storage::Real, Storage::Int] {
        for combine in [Combine::Sum, Combine::Max] {
            let symbol = fill_symbol(storage, combine);
            if !wanted.contains(symbol.as_str()) {
                continue;
            }
            text.restart();
            let (base, count) = (text.fresh(Type::Pointer), text.fresh(Type::Long));
            begin(
                text,
                &symbol,
                &[format!("{base}: !llvm.ptr"), format!("{count}: i64")],
                THREADS,
            );
            let at = flat(text);
            let inside = text.compare("slt", at, count);
            text.open(format_args!("scf.if {inside} {{"));
            let ty = Type::stored(storage, precision);
            let identity = scalar::identity(text, combine, ty);
            let address = text.element(base, at, ty);
            text.store(identity, address, "");
            text.close("}");
            end(text);
        }
    }
}
