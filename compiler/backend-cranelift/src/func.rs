//! Emits one kernel as a function. The function contains the arguments, the outer loops, and the
//! values that are computed between the loops.

use crate::access::Accesses;
use crate::call::is_called;
use crate::isa::Lanes;
use crate::scalar::Scalars;
use crate::schedule::Schedule;
use bnnc_abi::code::KernelArgs;
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::analysis::motion::{element_bytes, sizes};
use bnnc_loops::analysis::staging::KernelStaging;
use bnnc_loops::ir::{Access, InstId, InstOp, Kernel, LoopSize};
use bnnc_math::scalar::Scalar;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use std::collections::HashMap;
use std::mem::offset_of;

/// The kernel that is emitted as a function, and the decisions about how to emit it.
pub(crate) struct Source<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The number of iterations of the kernel's outermost axis for one iteration of the outer axis
    /// in the launch.
    pub factor: i64,
    /// The axis that is divided among launches. It is the outermost axis unless axes were exchanged.
    pub divided: usize,
    /// The loops and the stages that compute each instruction.
    pub staging: &'a KernelStaging,
    /// The other decisions about the kernel.
    pub schedule: &'a Schedule,
    /// The kernel's distinct accesses.
    pub accesses: &'a Accesses<'a>,
    /// The width of reals.
    pub precision: Precision,
    /// References to the runtime functions, by symbol.
    pub callees: &'a HashMap<String, FuncRef>,
}

/// A function under construction.
pub(crate) struct Emitter<'a, 'f> {
    /// The kernel that the function implements.
    pub source: &'a Source<'a>,
    /// The builder that receives the instructions.
    pub builder: FunctionBuilder<'f>,
    /// The value of each instruction that is computed outside the innermost loop.
    pub hoisted: Vec<Option<Value>>,
    /// For each instruction outside the innermost loop, a vector with its value in every lane.
    /// Present only if vector instructions in the loop need it.
    pub splats: Vec<Option<Value>>,
    /// The current index of each enclosing loop.
    pub indices: Vec<Value>,
    /// The address of the scratch memory.
    pub scratch: Value,
    start: Value,
    end: Value,
    ints: Vec<Option<Value>>,
}

/// The body of a loop: a function of `(emitter, counter, carried)` that returns the values for the
/// next iteration.
pub(crate) type LoopBody<'b, 'a, 'f> = &'b mut dyn FnMut(&mut Emitter<'a, 'f>, Value, &[Value]) -> Vec<Value>;

/// The body of a loop over an axis, as a function of `(emitter, counter, pointers)`. `pointers` are the
/// addresses of the accesses.
pub(crate) type AxisBody<'b, 'a, 'f> = &'b mut dyn FnMut(&mut Emitter<'a, 'f>, Value, &[Value]);

/// The range of a counter, as in `(from..to).step_by(step)`.
#[derive(Clone, Copy)]
pub struct CounterRange {
    /// The first value.
    pub from: Value,
    /// The end, which is excluded.
    pub to: Value,
    /// The difference between consecutive values.
    pub step: i64,
}

impl<'a, 'f> Emitter<'a, 'f> {
    /// Emits the whole function.
    pub fn emit(source: &'a Source<'a>, mut builder: FunctionBuilder<'f>) -> FunctionBuilder<'f> {
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let args = builder.block_params(entry)[0];
        let mut field = |offset: usize| {
            builder
                .ins()
                .load(types::I64, fixed_memory(), args, offset as i32)
        };
        let buffers = field(offset_of!(KernelArgs, buffers));
        let ints = field(offset_of!(KernelArgs, ints));
        let (start, end) = (
            field(offset_of!(KernelArgs, start)),
            field(offset_of!(KernelArgs, end)),
        );
        let scratch = field(offset_of!(KernelArgs, scratch));
        let count = source.kernel.body.len();
        let (hoisted, splats) = (vec![None; count], vec![None; count]);
        let (indices, ints_read) = (Vec::new(), Vec::new());
        let mut emitter = Emitter {
            source,
            builder,
            hoisted,
            splats,
            indices,
            scratch,
            start,
            end,
            ints: ints_read,
        };
        emitter.read_ints(ints);
        emitter.scale_range();
        let exit = emitter.builder.create_block();
        emitter.leave_if_empty(exit);
        let pointers = emitter.base_pointers(buffers);
        emitter.nest(0, &pointers);
        emitter.builder.ins().jump(exit, &[]);
        emitter.builder.switch_to_block(exit);
        emitter.builder.ins().return_(&[]);
        emitter.builder.seal_all_blocks();
        emitter.builder
    }

    /// Returns an emitter of single operations on values with these lanes.
    pub fn scalars(&mut self, lanes: Lanes) -> Scalars<'_, 'f> {
        Scalars {
            builder: &mut self.builder,
            lanes,
        }
    }

    /// Returns an emitter of operations on single elements.
    pub fn single(&mut self) -> Scalars<'_, 'f> {
        self.scalars(Lanes::one(self.source.precision))
    }

    /// Emits a 64-bit constant.
    pub fn int(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(types::I64, value)
    }

    /// Emits `x + number`.
    pub fn plus(&mut self, x: Value, number: i64) -> Value {
        if number == 0 {
            x
        } else {
            self.builder.ins().iadd_imm_s(x, number)
        }
    }

    /// Returns a size as a 64-bit value.
    pub fn size(&mut self, size: LoopSize) -> Value {
        match size {
            LoopSize::Fixed(size) => self.int(size),
            LoopSize::Slot(slot) => self.ints[slot as usize].unwrap_or_else(|| unreachable!("read at entry")),
        }
    }

    /// Returns a size multiplied by `bytes`. `bytes` must be a power of two.
    pub fn bytes(&mut self, size: LoopSize, bytes: i64) -> Value {
        match size {
            LoopSize::Fixed(size) => self.int(size * bytes),
            LoopSize::Slot(_) => {
                let size = self.size(size);
                self.scaled(size, bytes)
            }
        }
    }

    /// Emits `x * bytes`. `bytes` must be a power of two.
    pub fn scaled(&mut self, x: Value, bytes: i64) -> Value {
        self.builder
            .ins()
            .ishl_imm_u(x, i64::from(bytes.trailing_zeros()))
    }

    /// Emits the smaller of `to - first` and `most`.
    pub fn rest(&mut self, first: Value, to: Value, most: i64) -> Value {
        let rest = self.builder.ins().isub(to, first);
        let most = self.int(most);
        self.builder.ins().smin(rest, most)
    }

    /// Returns the first iteration of an axis, and the iteration after the last.
    pub fn axis_range(&mut self, axis: usize) -> (Value, Value) {
        match axis == self.source.divided {
            true => (self.start, self.end),
            false => (self.int(0), self.size(self.source.kernel.dims[axis])),
        }
    }

    /// Emits a loop over a counter. Values are passed from one iteration to the next. Returns these
    /// values after the last iteration.
    pub fn count(
        &mut self,
        range: CounterRange,
        carried: &[Value],
        body: LoopBody<'_, 'a, 'f>,
    ) -> Vec<Value> {
        let CounterRange { from, to, step } = range;
        let (inside, after) = (self.builder.create_block(), self.builder.create_block());
        let counter = self.builder.append_block_param(inside, types::I64);
        let mut state = Vec::new();
        let mut result = Vec::new();
        for value in carried {
            let ty = self.builder.func.dfg.value_type(*value);
            state.push(self.builder.append_block_param(inside, ty));
            result.push(self.builder.append_block_param(after, ty));
        }
        self.branch_while((from, to), carried, (inside, after));
        self.builder.switch_to_block(inside);
        let next = body(self, counter, &state);
        let counter = self.plus(counter, step);
        self.branch_while((counter, to), &next, (inside, after));
        self.builder.switch_to_block(after);
        result
    }

    /// Emits a loop that does not pass values from one iteration to the next.
    pub fn each(&mut self, range: CounterRange, body: &mut dyn FnMut(&mut Emitter<'a, 'f>, Value)) {
        self.count(range, &[], &mut |emitter, counter, _| {
            body(emitter, counter);
            Vec::new()
        });
    }

    /// Emits a loop over iterations of an axis, in steps of one or more iterations. The body receives the
    /// addresses of the accesses at its iteration; `pointers` are the addresses at the first one.
    pub fn walk(&mut self, axis: usize, range: CounterRange, pointers: &[Value], body: AxisBody<'_, 'a, 'f>) {
        let (moving, mut strides) = self.steps(axis);
        if range.step > 1 {
            for stride in &mut strides {
                *stride = self.builder.ins().imul_imm_s(*stride, range.step);
            }
        }
        let carried: Vec<Value> = moving.iter().map(|at| pointers[*at]).collect();
        let mut pointers = pointers.to_vec();
        self.count(range, &carried, &mut |emitter, counter, carried| {
            for (at, pointer) in moving.iter().zip(carried) {
                pointers[*at] = *pointer;
            }
            body(emitter, counter, &pointers);
            emitter.advance(carried, &strides)
        });
    }

    /// Returns the address of an access: `pointer` plus the offsets of the computed positions. Each
    /// computed position is clamped to its axis.
    pub fn place(&mut self, access: &Access, pointer: Value, positions: &[Value]) -> Value {
        let bytes = element_bytes(self.source.kernel, access, self.source.precision);
        let mut address = pointer;
        for (dynamic, position) in access.dynamic.iter().zip(positions) {
            let index = self.builder.ins().sextend(types::I64, *position);
            let (limit, zero) = (self.size(dynamic.limit), self.int(0));
            let last = self.plus(limit, -1);
            let below = self.builder.ins().smin(index, last);
            let clamped = self.builder.ins().smax(below, zero);
            let stride = self.bytes(dynamic.stride, bytes);
            let skipped = self.builder.ins().imul(clamped, stride);
            address = self.builder.ins().iadd(address, skipped);
        }
        address
    }

    /// Returns the address of an access. All its computed positions must be computed outside the
    /// innermost loop.
    pub fn place_outside(&mut self, access: &Access, pointer: Value) -> Value {
        let positions: Vec<Value> = access.positions().map(|id| self.outside(id)).collect();
        self.place(access, pointer, &positions)
    }

    /// Returns the value of an instruction that is computed outside the innermost loop.
    pub fn outside(&self, id: InstId) -> Value {
        self.hoisted[id.index()].unwrap_or_else(|| unreachable!("{id} is computed before its users"))
    }

    /// Emits `offset + sum strides * index` over the enclosing loops. `inner` is the index along the innermost axis.
    pub fn linear(&mut self, offset: LoopSize, strides: &[LoopSize], inner: Option<Value>) -> Value {
        let mut position = self.size(offset);
        let indices: Vec<Value> = self.indices.iter().copied().chain(inner).collect();
        for (stride, index) in strides.iter().zip(indices) {
            if *stride != LoopSize::Fixed(0) {
                let stride = self.size(*stride);
                let skipped = self.builder.ins().imul(stride, index);
                position = self.builder.ins().iadd(position, skipped);
            }
        }
        position
    }

    /// Loads elements of type `dtype` from memory.
    pub fn read(&mut self, dtype: DType, lanes: Lanes, address: Value, offset: i64) -> Value {
        let stored = if dtype == DType::Bool { DType::Real } else { dtype };
        let value = self
            .builder
            .ins()
            .load(lanes.of(stored), memory(), address, offset as i32);
        if dtype == DType::Bool {
            self.scalars(lanes).truth(value)
        } else {
            value
        }
    }

    fn branch_while(&mut self, (at, to): (Value, Value), carried: &[Value], (inside, after): (Block, Block)) {
        let more = self.builder.ins().icmp(IntCC::SignedLessThan, at, to);
        let leaving: Vec<BlockArg> = carried.iter().map(|value| BlockArg::from(*value)).collect();
        let staying: Vec<BlockArg> = std::iter::once(BlockArg::from(at))
            .chain(leaving.iter().copied())
            .collect();
        self.builder.ins().brif(more, inside, &staying, after, &leaving);
    }

    fn read_ints(&mut self, ints: Value) {
        for size in sizes(self.source.kernel) {
            let LoopSize::Slot(slot) = size else { continue };
            let slot = slot as usize;
            if slot >= self.ints.len() {
                self.ints.resize(slot + 1, None);
            }
            if self.ints[slot].is_none() {
                self.ints[slot] = Some(self.builder.ins().load(
                    types::I64,
                    fixed_memory(),
                    ints,
                    8 * slot as i32,
                ));
            }
        }
    }

    fn scale_range(&mut self) {
        if self.source.factor != 1 {
            let factor = self.int(self.source.factor);
            self.start = self.builder.ins().imul(self.start, factor);
            self.end = self.builder.ins().imul(self.end, factor);
        }
    }

    fn leave_if_empty(&mut self, exit: Block) {
        let mut some = self
            .builder
            .ins()
            .icmp(IntCC::SignedLessThan, self.start, self.end);
        for (axis, dim) in self.source.kernel.dims.iter().enumerate() {
            if axis == self.source.divided {
                continue;
            }
            if !matches!(dim, LoopSize::Fixed(size) if *size > 0) {
                let (zero, size) = (self.int(0), self.size(*dim));
                let positive = self.builder.ins().icmp(IntCC::SignedLessThan, zero, size);
                some = self.builder.ins().band(some, positive);
            }
        }
        let work = self.builder.create_block();
        self.builder.ins().brif(some, work, &[], exit, &[]);
        self.builder.switch_to_block(work);
    }

    /// Returns the address of each access at the first iteration.
    fn base_pointers(&mut self, buffers: Value) -> Vec<Value> {
        let mut pointers = Vec::new();
        for access in self.source.accesses.list() {
            let bytes = element_bytes(self.source.kernel, access, self.source.precision);
            let slot = 8 * access.slot as i32;
            let mut pointer = self.builder.ins().load(types::I64, fixed_memory(), buffers, slot);
            if access.offset != LoopSize::Fixed(0) {
                let offset = self.bytes(access.offset, bytes);
                pointer = self.builder.ins().iadd(pointer, offset);
            }
            let stride = access.strides[self.source.divided];
            if stride != LoopSize::Fixed(0) {
                let stride = self.bytes(stride, bytes);
                let skipped = self.builder.ins().imul(self.start, stride);
                pointer = self.builder.ins().iadd(pointer, skipped);
            }
            pointers.push(pointer);
        }
        pointers
    }

    /// Emits the loop over `axis`, including everything inside this loop. `pointers` are the
    /// addresses of the accesses.
    fn nest(&mut self, axis: usize, pointers: &[Value]) {
        self.hoist(axis, pointers, None);
        let kernel = self.source.kernel;
        if axis + 1 == kernel.dims.len() {
            return self.innermost(pointers);
        }
        let last_two = axis + 2 == kernel.dims.len();
        if last_two && !self.source.schedule.sums.is_empty() {
            return self.sweep(pointers);
        }
        if let Some(tile) = self.source.staging.tile.filter(|_| last_two) {
            let range = self.axis_range(axis);
            return self.tiles(pointers, range, tile);
        }
        let (from, to) = self.axis_range(axis);
        let range = CounterRange { from, to, step: 1 };
        self.walk(axis, range, pointers, &mut |emitter, index, pointers| {
            emitter.indices.push(index);
            emitter.nest(axis + 1, pointers);
            emitter.indices.pop();
        });
    }

    /// Emits the instructions that belong inside the first `depth` loops and not inside further
    /// ones. If `needed` is given, emits only the instructions that it marks.
    pub fn hoist(&mut self, depth: usize, pointers: &[Value], needed: Option<&[bool]>) {
        let Source {
            kernel,
            staging,
            accesses,
            ..
        } = self.source;
        for id in kernel.body.ids() {
            let wanted = needed.is_none_or(|needed| needed[id.index()]) && staging.live[id.index()];
            if !wanted || staging.depth[id.index()] != depth {
                continue;
            }
            let inst = &kernel.body[id];
            let value = match &inst.op {
                InstOp::Const(value) => self.single().literal(inst.dtype, *value),
                InstOp::Index(axis) => {
                    let index = self.indices[*axis as usize];
                    self.builder.ins().ireduce(types::I32, index)
                }
                InstOp::Load(access) => {
                    let address = self.place_outside(access, pointers[accesses.load(id)]);
                    let lanes = Lanes::one(self.source.precision);
                    self.read(inst.dtype, lanes, address, 0)
                }
                InstOp::Apply(_, operands) => {
                    let operands: Vec<Value> =
                        operands.iter().map(|operand| self.outside(*operand)).collect();
                    match is_called(inst) {
                        true => self.call_once(id, &operands),
                        false => self.compute(id, Lanes::one(self.source.precision), &operands),
                    }
                }
                InstOp::Noise(noise) => {
                    let coordinates = noise.coordinates.map(|coordinate| self.outside(coordinate));
                    let shape = noise.shape.map(|shape| self.outside(shape));
                    self.noise_once(id, coordinates, shape, None)
                }
            };
            self.hoisted[id.index()] = Some(value);
            if self.source.schedule.splat[id.index()] {
                let lanes = Lanes::vector(self.source.precision);
                self.splats[id.index()] = Some(self.scalars(lanes).splat(inst.dtype, value));
            }
        }
    }

    /// Emits an operation that does not need a call.
    pub fn compute(&mut self, id: InstId, lanes: Lanes, operands: &[Value]) -> Value {
        let kernel = self.source.kernel;
        let InstOp::Apply(scalar, ids) = &kernel.body[id].op else {
            unreachable!("{id} is an operation")
        };
        let never_nan = |id: InstId| matches!(kernel.body[id].op, InstOp::Const(value) if !value.is_nan());
        let Some(last) = ids.last() else {
            unreachable!("operations have operands")
        };
        let dtype = kernel.body[*last].dtype;
        // An extremum takes the fewest instructions if its first operand is a constant, so a
        // constant second operand is moved to the front.
        let extremum = matches!(scalar, Scalar::Max | Scalar::Min);
        if extremum && never_nan(*last) {
            return self
                .scalars(lanes)
                .apply(*scalar, dtype, &[operands[1], operands[0]], true);
        }
        self.scalars(lanes)
            .apply(*scalar, dtype, operands, never_nan(ids[0]))
    }
}

/// Returns the memory flags for accesses to buffer elements, which are aligned and lie inside their
/// buffers.
pub(crate) fn memory() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Returns the memory flags for reading the kernel arguments, to which kernels never write.
fn fixed_memory() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly()
}
