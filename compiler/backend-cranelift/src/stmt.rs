//! Emits the innermost loop: blocks, stages, vectors, and the remaining elements that do not fill a
//! vector.

use crate::func::{CounterRange, Emitter, Source, memory};
use crate::isa::{Lanes, VECTOR_BYTES};
use crate::reduce::Reduction;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_loops::analysis::motion::{Motion, element_bytes, motion};
use bnnc_loops::analysis::staging::{BLOCK, BlockStage};
use bnnc_loops::ir::{Access, InstId, InstOp, LoopSize};
use cranelift_codegen::ir::{ConstantData, InstBuilder, Value, types};

/// A contiguous part of the innermost axis.
pub(crate) struct Span {
    /// The address of each access at the first element.
    pub pointers: Vec<Value>,
    /// The index of the first element.
    first: Value,
    /// The number of elements.
    count: Value,
    /// The number of elements, if it is a constant.
    known: Option<i64>,
    /// The number of bytes that come before the value of the first element in each scratch slot.
    skipped: Option<Value>,
}

/// A loop over a span, or over those of its elements that remain after a faster loop.
#[derive(Clone, Copy)]
struct Pass<'s> {
    stage: &'s BlockStage,
    span: &'s Span,
    /// The number of elements in one value.
    lanes: Lanes,
    /// The number of independent values per iteration. Their instructions are interleaved to hide latencies.
    copies: usize,
    /// The reductions of the stage. Only the stage that writes outputs has reductions.
    reductions: Option<&'s [Reduction]>,
}

/// Neighbouring elements that one iteration of a pass computes.
struct Group<'s> {
    pass: Pass<'s>,
    /// The number of bytes of reals between the start of the span and the group.
    at: Value,
    /// The current address of each access whose address changes during the pass.
    moving: Vec<Option<Value>>,
    /// The values of each instruction, one for each copy.
    values: Vec<Vec<Value>>,
}

impl<'a> Emitter<'a, '_> {
    /// Emits the loop over the innermost axis. `pointers` are the addresses of the accesses.
    pub fn innermost(&mut self, pointers: &[Value]) {
        let stages = &self.source.staging.stages;
        let span = self.whole_axis(pointers, None);
        if stages.len() == 1 || span.known.is_some_and(|size| size <= BLOCK) {
            self.stages(&span);
        } else {
            self.blocks(&span);
        }
    }

    /// Returns the whole innermost axis as a span. In the scratch slots, the values of these
    /// elements begin `skipped` bytes after the start.
    pub fn whole_axis(&mut self, pointers: &[Value], skipped: Option<Value>) -> Span {
        let kernel = self.source.kernel;
        let pointers = self.placed(pointers);
        let innermost = kernel.dims.len() - 1;
        let (first, end) = self.axis_range(innermost);
        let (count, known) = match kernel.dims[innermost] {
            LoopSize::Fixed(size) if innermost > 0 => (end, Some(size)),
            LoopSize::Slot(_) if innermost > 0 => (end, None),
            LoopSize::Fixed(_) | LoopSize::Slot(_) => (self.builder.ins().isub(end, first), None),
        };
        Span {
            pointers,
            first,
            count,
            known,
            skipped,
        }
    }

    /// Returns the elements `first .. first + count` of the innermost axis as a span.
    pub fn span(&mut self, pointers: &[Value], (first, count): (Value, Value)) -> Span {
        Span {
            pointers: self.placed(pointers),
            first,
            count,
            known: None,
            skipped: None,
        }
    }

    /// Adds the offsets of computed positions to `pointers`. Only positions that are constant along
    /// the innermost axis are added.
    fn placed(&mut self, pointers: &[Value]) -> Vec<Value> {
        let mut pointers = pointers.to_vec();
        for (at, access) in self.source.accesses.list().iter().enumerate() {
            if !access.dynamic.is_empty() && self.is_placed_outside(access) {
                pointers[at] = self.place_outside(access, pointers[at]);
            }
        }
        pointers
    }

    /// Returns whether all computed positions of an access are constant along the innermost axis.
    pub fn is_placed_outside(&self, access: &Access) -> bool {
        let Source { kernel, staging, .. } = self.source;
        access.positions().all(|id| staging.is_hoisted(kernel, id))
    }

    /// Emits a span in blocks that fit into scratch slots.
    fn blocks(&mut self, span: &Span) {
        let axis = self.source.kernel.dims.len() - 1;
        let (from, to) = (self.int(0), span.count);
        let range = CounterRange {
            from,
            to,
            step: BLOCK,
        };
        self.walk(axis, range, &span.pointers, &mut |emitter, done, pointers| {
            let count = emitter.rest(done, to, BLOCK);
            let first = emitter.builder.ins().iadd(span.first, done);
            emitter.stages(&Span {
                pointers: pointers.to_vec(),
                first,
                count,
                known: None,
                skipped: None,
            });
        });
    }

    /// Emits all stages over a span that fits into scratch slots.
    pub fn stages(&mut self, span: &Span) {
        for (number, stage) in self.source.staging.stages.iter().enumerate() {
            self.stage_loops(number, span);
            stage.calls.iter().for_each(|id| self.block_call(*id, span));
        }
    }

    /// Emits the loops of one stage over a span.
    pub fn stage_loops(&mut self, number: usize, span: &Span) {
        let staging = self.source.staging;
        let stage = &staging.stages[number];
        if staging.is_last(number) {
            let reductions = self.reductions();
            let held = self.stage(stage, Some(&reductions), span);
            self.finish_reductions(&reductions, &held, span);
        } else if staging.has_loop(number) {
            self.stage(stage, None, span);
        }
    }

    fn block_call(&mut self, id: InstId, span: &Span) {
        match &self.source.kernel.body[id].op {
            InstOp::Apply(_, operands) => self.call_block(id, (operands, &span.pointers), span.count),
            _ => self.noise_block(id, (span.first, span.count), &span.pointers, None),
        }
    }

    /// Returns the address of the scratch slot of an instruction.
    pub fn home_of(&mut self, id: InstId) -> Value {
        let home = self.source.staging.home[id.index()];
        self.home(home.unwrap_or_else(|| unreachable!("{id} has a scratch slot")))
    }

    /// Emits the loops of one stage over a span. Returns the results of the stage's reductions.
    fn stage(&mut self, stage: &BlockStage, reductions: Option<&[Reduction]>, span: &Span) -> Vec<Value> {
        let precision = self.source.precision;
        let bytes = precision.bytes() as i64;
        let total = match span.known {
            Some(count) => self.int(count * bytes),
            None => self.scaled(span.count, bytes),
        };
        let mut from = self.int(0);
        let mut pass = Pass {
            stage,
            span,
            lanes: Lanes::one(precision),
            copies: 1,
            reductions,
        };
        if !self.source.schedule.vector {
            let held = self.identities(pass.reductions.unwrap_or(&[]), pass.lanes);
            return self.pass(&pass, (from, total), held);
        }
        pass.lanes = Lanes::vector(precision);
        let mut held = self.identities(reductions.unwrap_or(&[]), pass.lanes);
        let unroll = self.source.schedule.unroll;
        for copies in [unroll, 1].into_iter().skip(usize::from(unroll == 1)) {
            let step = copies as i64 * VECTOR_BYTES;
            let to = match span.known.map(|count| count * bytes) {
                Some(total) if total < step => continue,
                Some(total) => self.int(total / step * step),
                None => self.builder.ins().band_imm_s(total, -step),
            };
            pass.copies = copies;
            held = self.pass(&pass, (from, to), held);
            from = to;
        }
        held = self.fold_lanes(reductions.unwrap_or(&[]), pass.lanes, &held);
        if span.known.is_some_and(|count| count * bytes % VECTOR_BYTES == 0) {
            return held;
        }
        let rest = Pass {
            lanes: Lanes::one(precision),
            copies: 1,
            ..pass
        };
        self.pass(&rest, (from, total), held)
    }

    /// Emits one loop. `held` contains the current values of the reductions.
    fn pass(&mut self, pass: &Pass<'_>, (from, to): (Value, Value), held: Vec<Value>) -> Vec<Value> {
        let reductions = pass.reductions.unwrap_or(&[]);
        let mut carried = self.spread_copies(reductions, (pass.lanes, pass.copies), &held);
        let sums = carried.len();
        let (moving, strides) = self.moving_steps(pass);
        carried.extend(moving.iter().map(|at| pass.span.pointers[*at]));
        let step = pass.copies as i64 * pass.lanes.bytes();
        let last = self.count(
            CounterRange { from, to, step },
            &carried,
            &mut |emitter, at, carried| {
                let mut addresses = vec![None; pass.span.pointers.len()];
                moving
                    .iter()
                    .zip(&carried[sums..])
                    .for_each(|(at, address)| addresses[*at] = Some(*address));
                let values = vec![Vec::new(); emitter.source.kernel.body.len()];
                let mut group = Group {
                    pass: *pass,
                    at,
                    moving: addresses,
                    values,
                };
                emitter.body(&mut group);
                let mut next = match pass.reductions {
                    Some(reductions) => emitter.outputs(&mut group, reductions, &carried[..sums]),
                    None => Vec::new(),
                };
                next.extend(emitter.advance(&carried[sums..], &strides));
                next
            },
        );
        self.fold_copies(reductions, (pass.lanes, pass.copies), &last[..sums])
    }

    /// Returns the accesses that need their own pointers in a pass, and the distance by which each
    /// of these pointers moves per step. Passes over vectors do not need such pointers.
    fn moving_steps(&mut self, pass: &Pass<'_>) -> (Vec<usize>, Vec<Value>) {
        if pass.lanes.is_vector() {
            return (Vec::new(), Vec::new());
        }
        let (kernel, precision) = (self.source.kernel, self.source.precision);
        let list = self.source.accesses.list();
        let steps = self.steps(kernel.dims.len() - 1);
        let pairs = steps.0.into_iter().zip(steps.1);
        pairs
            .filter(|(at, _)| motion(kernel, list[*at], precision) == Motion::Moving)
            .unzip()
    }

    /// Emits the instructions of a stage, and stores the results of the stage in scratch memory.
    fn body(&mut self, group: &mut Group<'_>) {
        let lanes = group.pass.lanes;
        for id in &group.pass.stage.body {
            group.values[id.index()] = self.element(group, *id);
        }
        for id in &group.pass.stage.store {
            let address = self.home_in_group(*id, group);
            for copy in 0..group.pass.copies {
                let mut value = self.value(group, *id, copy);
                if self.source.kernel.body[*id].dtype == DType::Bool && !lanes.is_vector() {
                    value = self.builder.ins().bmask(lanes.mask(), value);
                }
                self.builder
                    .ins()
                    .store(memory(), value, address, (copy as i64 * lanes.bytes()) as i32);
            }
        }
    }

    /// Emits an instruction once for every copy of a group.
    fn element(&mut self, group: &mut Group<'_>, id: InstId) -> Vec<Value> {
        let inst = &self.source.kernel.body[id];
        let Pass { lanes, copies, .. } = group.pass;
        match &inst.op {
            InstOp::Const(_) => unreachable!("constants are outside of loops"),
            InstOp::Index(_) => (0..copies).map(|copy| self.index(group, copy)).collect(),
            InstOp::Load(access) => {
                let address = self.address(group, access, self.source.accesses.load(id));
                let read = |copy| self.read(inst.dtype, lanes, address, copy as i64 * lanes.bytes());
                (0..copies).map(read).collect()
            }
            InstOp::Apply(_, operands) => (0..copies)
                .map(|copy| {
                    let operands: Vec<Value> = operands
                        .iter()
                        .map(|operand| self.value(group, *operand, copy))
                        .collect();
                    self.compute(id, lanes, &operands)
                })
                .collect(),
            InstOp::Noise(noise) => {
                let coordinates = noise
                    .coordinates
                    .map(|coordinate| self.value(group, coordinate, 0));
                let shape = noise.shape.map(|shape| self.value(group, shape, 0));
                let index = self.wide_index(group);
                vec![self.noise_once(id, coordinates, shape, Some(index))]
            }
        }
    }

    /// Returns the value of an operand for one copy of a group.
    fn value(&mut self, group: &mut Group<'_>, id: InstId, copy: usize) -> Value {
        let lanes = group.pass.lanes;
        if self.source.staging.is_hoisted(self.source.kernel, id) {
            return match self.splats[id.index()] {
                Some(splat) if lanes.is_vector() => splat,
                _ => self.outside(id),
            };
        }
        if group.values[id.index()].is_empty() {
            let address = self.home_in_group(id, group);
            group.values[id.index()] = (0..group.pass.copies)
                .map(|copy| self.fetch(id, lanes, (address, copy)))
                .collect();
        }
        group.values[id.index()][copy]
    }

    fn home_in_group(&mut self, id: InstId, group: &Group<'_>) -> Value {
        let mut home = self.home_of(id);
        if let Some(skipped) = group.pass.span.skipped {
            home = self.builder.ins().iadd(home, skipped);
        }
        self.builder.ins().iadd(home, group.at)
    }

    fn fetch(&mut self, id: InstId, lanes: Lanes, (address, copy): (Value, usize)) -> Value {
        let dtype = self.source.kernel.body[id].dtype;
        let ty = if dtype == DType::Bool {
            lanes.mask()
        } else {
            lanes.of(dtype)
        };
        let value = self
            .builder
            .ins()
            .load(ty, memory(), address, (copy as i64 * lanes.bytes()) as i32);
        if dtype == DType::Bool && !lanes.is_vector() {
            let truth = self.builder.ins().bmask(types::I8, value);
            return self.builder.ins().band_imm_u(truth, 1);
        }
        value
    }

    /// Returns the address of an access at the start of a group.
    fn address(&mut self, group: &mut Group<'_>, access: &Access, number: usize) -> Value {
        let pointer = group.pass.span.pointers[number];
        let pointer = match (
            motion(self.source.kernel, access, self.source.precision),
            group.moving[number],
        ) {
            (Motion::Still, _) => pointer,
            (Motion::Unit, _) => self.builder.ins().iadd(pointer, group.at),
            (Motion::Moving, moving) => {
                moving.unwrap_or_else(|| unreachable!("vectors have no moving accesses"))
            }
        };
        if self.is_placed_outside(access) {
            return pointer;
        }
        let positions: Vec<Value> = access.positions().map(|id| self.value(group, id, 0)).collect();
        self.place(access, pointer, &positions)
    }

    /// Returns the index of the first element of a group along the innermost axis.
    fn wide_index(&mut self, group: &Group<'_>) -> Value {
        let shift = i64::from(self.source.precision.bytes().trailing_zeros());
        let done = self.builder.ins().ushr_imm_u(group.at, shift);
        self.builder.ins().iadd(group.pass.span.first, done)
    }

    fn index(&mut self, group: &Group<'_>, copy: usize) -> Value {
        let lanes = group.pass.lanes;
        let wide = self.wide_index(group);
        let wide = self.plus(wide, copy as i64 * lanes.count());
        let index = self.builder.ins().ireduce(types::I32, wide);
        if !lanes.is_vector() {
            return index;
        }
        let numbers: Vec<u8> = (0..lanes.count() as i32).flat_map(i32::to_le_bytes).collect();
        let numbers = self
            .builder
            .func
            .dfg
            .constants
            .insert(ConstantData::from(numbers));
        let numbers = self.builder.ins().vconst(lanes.of(DType::Int), numbers);
        let index = self.builder.ins().splat(lanes.of(DType::Int), index);
        self.builder.ins().iadd(index, numbers)
    }

    /// Writes the outputs of a group. Returns the values of the reductions for the next iteration.
    fn outputs(&mut self, group: &mut Group<'_>, reductions: &[Reduction], held: &[Value]) -> Vec<Value> {
        let Pass { lanes, copies, .. } = group.pass;
        let mut next = Vec::new();
        for (number, output) in self.source.kernel.outputs.iter().enumerate() {
            if let Some(reduction) = reductions.iter().find(|reduction| reduction.output == number) {
                for copy in 0..copies {
                    let value = self.stored(group, output.value, copy);
                    let sum = held[next.len()];
                    let sum = self
                        .scalars(lanes)
                        .combine(reduction.combine, reduction.dtype, sum, value);
                    next.push(sum);
                }
                continue;
            }
            let address = self.address(group, &output.access, self.source.accesses.output(number));
            for copy in 0..copies {
                let mut value = self.stored(group, output.value, copy);
                let offset = copy as i64 * lanes.bytes();
                if let Some(combine) = output.combine {
                    let dtype = self.stored_type(output);
                    let held = self.read(dtype, lanes, address, offset);
                    value = self.scalars(lanes).combine(combine, dtype, held, value);
                }
                self.builder.ins().store(memory(), value, address, offset as i32);
            }
        }
        next
    }

    /// Converts a value to its representation in memory.
    fn stored(&mut self, group: &mut Group<'_>, id: InstId, copy: usize) -> Value {
        let value = self.value(group, id, copy);
        match self.source.kernel.body[id].dtype {
            DType::Bool => self.scalars(group.pass.lanes).real_of(DType::Bool, value),
            DType::Real | DType::Int => value,
        }
    }

    /// Returns the accesses whose addresses change along an axis, with their strides in bytes.
    pub fn steps(&mut self, axis: usize) -> (Vec<usize>, Vec<Value>) {
        let list = self.source.accesses.list();
        let moving: Vec<usize> = (0..list.len())
            .filter(|at| list[*at].strides[axis] != LoopSize::Fixed(0))
            .collect();
        let stride = |at: &usize| {
            let bytes = element_bytes(self.source.kernel, list[*at], self.source.precision);
            self.bytes(list[*at].strides[axis], bytes)
        };
        let strides = moving.iter().map(stride).collect();
        (moving, strides)
    }

    /// Advances every pointer by its stride.
    pub fn advance(&mut self, pointers: &[Value], strides: &[Value]) -> Vec<Value> {
        let pairs = pointers.iter().zip(strides);
        pairs
            .map(|(pointer, stride)| self.builder.ins().iadd(*pointer, *stride))
            .collect()
    }
}
