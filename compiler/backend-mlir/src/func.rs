//! Emits one kernel as a function. The function contains the arguments, the loops, and the values
//! that are computed between the loops.

use crate::approximation::{Approximation, is_inlined};
use crate::call::Needs;
use crate::scalar;
use crate::schedule::{Schedule, is_called};
use crate::text::{LoopBounds, Text, Type, Value};
use bnnc_abi::code::KernelArgs;
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::analysis::staging::KernelStaging;
use bnnc_loops::ir::{InstId, InstOp, Kernel, LoopSize};
use bnnc_math::scalar::Scalar;
use std::mem::offset_of;

/// The kernel that is emitted as a function, and the decisions about how to emit it.
pub(crate) struct Source<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The number of iterations of the kernel's outermost axis for one iteration of the outer axis
    /// in the launch.
    pub factor: i64,
    /// The axis that is divided among launches. It is the outermost axis unless axes were
    /// exchanged.
    pub divided: usize,
    /// The loops and the stages that compute each instruction.
    pub staging: &'a KernelStaging,
    /// The other decisions about the kernel.
    pub schedule: &'a Schedule,
    /// The width of reals.
    pub precision: Precision,
    /// True if every launch binds different buffers to the kernel's slots.
    pub distinct: bool,
    /// True if the function runs on a GPU, where it cannot call the runtime.
    pub device: bool,
}

/// A function under construction.
pub(crate) struct Emitter<'a> {
    /// The kernel that the function implements.
    pub source: &'a Source<'a>,
    /// The text that receives the operations.
    pub text: &'a mut Text,
    /// The value of each instruction at the current point of the text. `None` if the value is not
    /// known there.
    pub values: Vec<Option<Value>>,
    /// The current value of the reduction for each output. It is set only inside the loops that
    /// carry this value.
    pub held: Vec<Option<Value>>,
    /// The current index of each enclosing loop.
    pub indices: Vec<Value>,
    /// The base address of each slot.
    pub bases: Vec<Value>,
    /// The scratch memory of this invocation.
    pub scratch: Value,
    /// The functions that the kernel calls.
    pub needs: &'a mut Needs,
    range: (Value, Value),
    ints: Vec<Option<Value>>,
}

/// The body of a loop, which receives the counter of the loop.
pub(crate) type Body<'b, 'a> = &'b mut dyn FnMut(&mut Emitter<'a>, Value);

impl<'a> Emitter<'a> {
    /// Emits the kernel as the function `name`.
    pub fn emit(source: &'a Source<'a>, (text, needs): (&'a mut Text, &'a mut Needs), name: &str) {
        text.restart();
        text.open(format_args!(
            "llvm.func @{name}(%args: !llvm.ptr {{llvm.noalias, llvm.readonly}}) attributes {{passthrough = [\"nounwind\", \"no-builtins\"]}} {{"
        ));
        let kernel = source.kernel;
        let buffers = argument(text, offset_of!(KernelArgs, buffers), Type::Pointer);
        let ints = argument(text, offset_of!(KernelArgs, ints), Type::Pointer);
        let mut start = argument(text, offset_of!(KernelArgs, start), Type::Long);
        let mut end = argument(text, offset_of!(KernelArgs, end), Type::Long);
        let scratch = argument(text, offset_of!(KernelArgs, scratch), Type::Pointer);
        if source.factor != 1 {
            let factor = text.long(source.factor);
            start = times(text, start, factor);
            end = times(text, end, factor);
        }
        let ints = read_ints(kernel, text, ints);
        let element = |(at, _): (usize, _)| {
            let address = text.skip(buffers, at * size_of::<*mut u8>());
            text.load(Type::Pointer, address, " invariant")
        };
        let bases = kernel.slots.iter().enumerate().map(element).collect();
        let mut emitter = Emitter {
            source,
            text,
            values: vec![None; kernel.body.len()],
            held: vec![None; kernel.outputs.len()],
            indices: Vec::new(),
            bases,
            scratch,
            needs,
            range: (start, end),
            ints,
        };
        emitter.unless_empty();
        emitter.text.line("llvm.return");
        emitter.text.close("}");
    }

    /// Creates an emitter inside a GPU function. For each slot, the address of the buffer or the
    /// integer of the kernel is given.
    pub fn on_device(
        source: &'a Source<'a>,
        (text, needs): (&'a mut Text, &'a mut Needs),
        bases: Vec<Value>,
        ints: Vec<Option<Value>>,
    ) -> Emitter<'a> {
        let zero = text.long(0);
        Emitter {
            source,
            text,
            values: vec![None; source.kernel.body.len()],
            held: vec![None; source.kernel.outputs.len()],
            indices: vec![zero; source.kernel.dims.len()],
            bases,
            scratch: zero,
            needs,
            range: (zero, zero),
            ints,
        }
    }

    /// Emits the kernel inside a condition, so that it runs only if all axes have iterations.
    /// Values that are read outside the loops exist only then.
    fn unless_empty(&mut self) {
        let (start, end) = self.range;
        let mut some = self.text.compare("slt", start, end);
        for (axis, dim) in self.source.kernel.dims.iter().enumerate() {
            if axis != self.source.divided && !matches!(dim, LoopSize::Fixed(size) if *size > 0) {
                let (zero, size) = (self.text.long(0), self.size(*dim));
                let positive = self.text.compare("slt", zero, size);
                some = self.text.alike("arith.andi", &[some, positive]);
            }
        }
        self.text.open(format_args!("scf.if {some} {{"));
        self.nest(0);
        self.text.close("}");
    }

    /// Returns a size as a 64-bit value.
    pub fn size(&mut self, size: LoopSize) -> Value {
        match size {
            LoopSize::Fixed(size) => self.text.long(size),
            LoopSize::Slot(slot) => self.ints[slot as usize].unwrap_or_else(|| unreachable!("read at entry")),
        }
    }

    /// Returns the first iteration of an axis, and the iteration after the last.
    pub fn axis_range(&mut self, axis: usize) -> (Value, Value) {
        match axis == self.source.divided {
            true => self.range,
            false => (self.text.long(0), self.size(self.source.kernel.dims[axis])),
        }
    }

    /// Emits a loop over a counter. The loop carries the current values of the reductions.
    pub fn count(&mut self, bounds: LoopBounds, body: Body<'_, 'a>) {
        let carried: Vec<Value> = self.held.iter().copied().flatten().collect();
        let open = self.text.open_loop(bounds, &carried);
        let known = self.values.clone();
        self.replace_held(&open.inside);
        body(self, open.counter);
        self.values = known;
        let after: Vec<Value> = self.held.iter().copied().flatten().collect();
        let results = self.text.close_loop(open, &after);
        self.replace_held(&results);
    }

    fn replace_held(&mut self, by: &[Value]) {
        let held = self.held.iter_mut().filter_map(Option::as_mut);
        held.zip(by).for_each(|(held, by)| *held = *by);
    }

    /// Emits the loop over `axis`, with everything inside this loop.
    fn nest(&mut self, axis: usize) {
        self.hoist(axis, None);
        let rank = self.source.kernel.dims.len();
        let staged = self.source.staging.stages.len() > 1;
        self.reduce(axis, &mut |emitter| {
            let (from, to) = emitter.axis_range(axis);
            if emitter.source.schedule.swept && axis + 2 == rank {
                return emitter.sweep(LoopBounds::by_one(from, to));
            }
            if staged && emitter.source.staging.tile.is_some() && axis + 2 == rank {
                return emitter.tiles((from, to));
            }
            if staged && axis + 1 == rank {
                return emitter.blocks((from, to));
            }
            emitter.count(LoopBounds::by_one(from, to), &mut |emitter, index| {
                emitter.indices.push(index);
                match axis + 1 == rank {
                    true => emitter.point(0, None),
                    false => emitter.nest(axis + 1),
                }
                emitter.indices.pop();
            });
        });
    }

    /// Emits the instructions that belong inside the first `depth` loops and not inside further
    /// ones. If `needed` is given, emits only the instructions that it marks.
    pub fn hoist(&mut self, depth: usize, needed: Option<&[bool]>) {
        let Source { kernel, staging, .. } = self.source;
        for id in kernel.body.ids() {
            let wanted = needed.is_none_or(|needed| needed[id.index()]) && staging.live[id.index()];
            if wanted && staging.depth[id.index()] == depth {
                let value = self.compute(id, None);
                self.values[id.index()] = Some(value);
            }
        }
    }

    /// Emits the computation of an instruction. The values of its operands must be known. If the
    /// loop has blocks, `within` is the offset in the current block.
    pub fn compute(&mut self, id: InstId, within: Option<Value>) -> Value {
        let inst = &self.source.kernel.body[id];
        let ty = Type::of(inst.dtype, self.source.precision);
        match &inst.op {
            InstOp::Const(value) => self.text.literal(ty, *value),
            InstOp::Index(axis) => {
                let index = self.indices[*axis as usize];
                self.text.convert("arith.trunci", index, Type::Int)
            }
            InstOp::Load(access) => {
                let value = self.read(access, within);
                match inst.dtype {
                    DType::Bool => scalar::truth(self.text, value),
                    DType::Real | DType::Int => value,
                }
            }
            InstOp::Apply(scalar, operands) => {
                let never_nan = self.never_nan(operands);
                let operands: Vec<Value> = operands
                    .iter()
                    .map(|operand| self.value(*operand, within))
                    .collect();
                match scalar {
                    Scalar::ToReal => {
                        scalar::real_of(self.text, operands[0], Type::Real(self.source.precision))
                    }
                    scalar if self.inlines(*scalar) => {
                        self.inlined(Approximation::Function(*scalar), &operands)
                    }
                    _ if is_called(inst) => self.call_once(&inst.op, &operands),
                    _ => scalar::apply(self.text, *scalar, &operands, never_nan),
                }
            }
            InstOp::Noise(noise) => {
                let coordinates = noise.coordinates.map(|coordinate| self.value(coordinate, within));
                let shape = noise.shape.map(|shape| self.value(shape, within));
                self.noise_once(id, coordinates, shape)
            }
        }
    }

    /// Returns whether a scalar operation is emitted as inline arithmetic.
    fn inlines(&self, scalar: Scalar) -> bool {
        is_inlined(scalar) || (self.source.device && scalar.is_called())
    }

    /// Returns, for each of the first two operands, whether the operand cannot be NaN.
    fn never_nan(&self, operands: &[InstId]) -> [bool; 2] {
        let number = |at: usize| {
            let operand = operands.get(at).map(|id| &self.source.kernel.body[*id].op);
            matches!(operand, Some(InstOp::Const(value)) if !value.is_nan())
        };
        [number(0), number(1)]
    }

    /// Returns the value of an instruction. A value that is not known at this point is read from
    /// scratch memory, at the offset `within` in the current block.
    pub fn value(&mut self, id: InstId, within: Option<Value>) -> Value {
        match (self.values[id.index()], within) {
            (Some(value), _) => value,
            (None, Some(within)) => self.recall(id, within),
            (None, None) => unreachable!("{id} is computed before its users"),
        }
    }
}

/// Loads a field of the kernel arguments.
fn argument(text: &mut Text, offset: usize, ty: Type) -> Value {
    let address = text.value(
        Type::Pointer,
        format_args!("llvm.getelementptr inbounds %args[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8"),
    );
    text.load(ty, address, " invariant")
}

/// Loads the integers that a kernel uses. The result is indexed by slot.
fn read_ints(kernel: &Kernel, text: &mut Text, ints: Value) -> Vec<Option<Value>> {
    let mut read: Vec<Option<Value>> = Vec::new();
    for size in bnnc_loops::analysis::motion::sizes(kernel) {
        let LoopSize::Slot(slot) = size else { continue };
        let slot = slot as usize;
        if slot >= read.len() {
            read.resize(slot + 1, None);
        }
        if read[slot].is_none() {
            let address = text.skip(ints, slot * size_of::<i64>());
            read[slot] = Some(text.load(Type::Long, address, " invariant"));
        }
    }
    read
}

/// Multiplies indices or sizes. The product cannot overflow, because it addresses memory.
pub(crate) fn times(text: &mut Text, x: Value, y: Value) -> Value {
    text.value(
        Type::Long,
        format_args!("arith.muli {x}, {y} overflow<nsw> : i64"),
    )
}

/// Adds indices or sizes. The sum cannot overflow, because it addresses memory.
pub(crate) fn plus(text: &mut Text, x: Value, y: Value) -> Value {
    text.value(
        Type::Long,
        format_args!("arith.addi {x}, {y} overflow<nsw> : i64"),
    )
}
