//! Emits calls of runtime primitives, on one element or on a block of elements.

use crate::func::{Emitter, Source, memory};
use crate::sweep;
use bnnc_abi::symbols;
use bnnc_base::arena::Id;
use bnnc_base::dtype::{DType, Precision};
use bnnc_loops::analysis::staging::{BLOCK, KernelStaging};
use bnnc_loops::ir::{Inst, InstId, InstOp, Kernel, Noise};
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Type, Value, types};

/// The number of bytes at the start of scratch memory that are reserved for a call on one element.
/// They hold the result and two operands, each in its own cache line. The scratch slots for blocks
/// follow.
pub(crate) const SINGLE_BYTES: i64 = 3 * LINE;
const LINE: i64 = 64;

/// Returns whether the generated code computes this operation by a call of the runtime.
pub(crate) fn is_called(inst: &Inst) -> bool {
    match &inst.op {
        InstOp::Apply(scalar, _) => scalar.is_called(),
        InstOp::Noise(_) => true,
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => false,
    }
}

/// Returns the symbol and the parameter types of the runtime function that an instruction calls.
pub(crate) fn callee(kernel: &Kernel, id: InstId, precision: Precision) -> (String, Vec<Type>) {
    match &kernel.body[id].op {
        InstOp::Apply(scalar, operands) => (
            symbols::scalar_symbol(*scalar, precision),
            scalar_parameters(operands.len()),
        ),
        InstOp::Noise(noise) => (symbols::noise_symbol(noise.kind, precision), noise_parameters()),
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => unreachable!("{id} is no call"),
    }
}

/// Returns the parameter types of an elementwise function: a [`symbols::Unary`] or a [`symbols::Binary`].
pub(crate) fn scalar_parameters(operands: usize) -> Vec<Type> {
    vec![types::I64; 1 + operands + 1]
}

/// Returns the parameter types of the [`symbols::NoiseFn`] that generates a noise stream.
pub(crate) fn noise_parameters() -> Vec<Type> {
    let (pointer, int, word) = (types::I64, types::I64, types::I32);
    vec![pointer, pointer, int, int, int, word, word, word]
}

/// Returns the instructions of a kernel that call the runtime.
pub(crate) fn calls<'a>(kernel: &'a Kernel, staging: &'a KernelStaging) -> impl Iterator<Item = InstId> + 'a {
    kernel
        .body
        .ids()
        .filter(|id| staging.live[id.index()] && is_called(&kernel.body[*id]))
}

/// Adds the types `parameters` to a signature.
pub(crate) fn signature(mut signature: Signature, parameters: &[Type]) -> Signature {
    signature
        .params
        .extend(parameters.iter().map(|ty| AbiParam::new(*ty)));
    signature
}

/// Returns the number of bytes of scratch memory that one invocation needs.
pub(crate) fn scratch_bytes(source: &Source<'_>) -> usize {
    let homes = source.staging.homes * BLOCK as usize * source.precision.bytes();
    SINGLE_BYTES as usize + homes + sweep::scratch_bytes(source)
}

/// The addresses for a block of elements of a noise stream.
struct NoiseBlock {
    out: Value,
    /// The address of the shape parameters of gamma noise.
    shapes: Value,
    count: Value,
}

impl<'a> Emitter<'a, '_> {
    fn noise_of(&self, id: InstId) -> &'a Noise {
        match &self.source.kernel.body[id].op {
            InstOp::Noise(noise) => noise,
            _ => unreachable!("{id} is noise"),
        }
    }

    /// Returns the address of a scratch slot. Each slot has room for one block.
    pub fn home(&mut self, slot: usize) -> Value {
        let block = BLOCK * self.source.precision.bytes() as i64;
        self.plus(self.scratch, SINGLE_BYTES + slot as i64 * block)
    }

    /// Calls the runtime function of the instruction `id` on a block. `pointers` has the address of
    /// each access at the start of the block.
    pub fn call_block(&mut self, id: InstId, (operands, pointers): (&[InstId], &[Value]), count: Value) {
        let mut arguments = vec![self.home_of(id)];
        for operand in operands {
            arguments.push(self.block_of(*operand, pointers));
        }
        arguments.push(count);
        self.call(id, &arguments);
    }

    fn skip(&mut self, address: Value, bytes: Option<Value>) -> Value {
        match bytes {
            Some(bytes) => self.builder.ins().iadd(address, bytes),
            None => address,
        }
    }

    /// Returns the address of the block from which a call reads an operand.
    fn block_of(&mut self, operand: InstId, pointers: &[Value]) -> Value {
        match self.source.staging.home[operand.index()] {
            Some(home) => self.home(home),
            None => pointers[self.source.accesses.load(operand)],
        }
    }

    /// Generates a block of a noise stream. `inner` is the index of the block's first element along
    /// the innermost axis. `pointers` has the address of each access at the start of the block. The
    /// values are stored `skipped` bytes after the start of the scratch slot.
    pub fn noise_block(
        &mut self,
        id: InstId,
        (inner, count): (Value, Value),
        pointers: &[Value],
        skipped: Option<Value>,
    ) {
        let noise = self.noise_of(id);
        let coordinates = noise.coordinates.map(|coordinate| self.outside(coordinate));
        let out = self.home_of(id);
        let out = self.skip(out, skipped);
        let shapes = match noise.shape {
            Some(shape) => {
                let block = self.block_of(shape, pointers);
                let in_scratch = self.source.staging.home[shape.index()].is_some();
                self.skip(block, skipped.filter(|_| in_scratch))
            }
            None => out,
        };
        let block = NoiseBlock { out, shapes, count };
        self.noise(id, block, coordinates, Some(inner));
    }

    /// Calls the runtime function of the instruction `id` on one element.
    pub fn call_once(&mut self, id: InstId, operands: &[Value]) -> Value {
        let mut arguments = vec![self.scratch];
        for (at, operand) in operands.iter().enumerate() {
            let address = self.plus(self.scratch, LINE * (at as i64 + 1));
            self.builder.ins().store(memory(), *operand, address, 0);
            arguments.push(address);
        }
        arguments.push(self.int(1));
        self.call(id, &arguments);
        self.single_result()
    }

    /// Generates one element of a noise stream. Inside the innermost loop, `inner` is the index along the innermost axis.
    pub fn noise_once(
        &mut self,
        id: InstId,
        coordinates: [Value; 3],
        shape: Option<Value>,
        inner: Option<Value>,
    ) -> Value {
        let one = self.int(1);
        if let Some(shape) = shape {
            self.builder.ins().store(memory(), shape, self.scratch, 0);
        }
        let block = NoiseBlock {
            out: self.scratch,
            shapes: self.scratch,
            count: one,
        };
        self.noise(id, block, coordinates, inner);
        self.single_result()
    }

    fn single_result(&mut self) -> Value {
        let ty = crate::isa::Lanes::one(self.source.precision).of(DType::Real);
        self.builder.ins().load(ty, memory(), self.scratch, 0)
    }

    /// Calls the runtime function that generates a noise stream.
    fn noise(&mut self, id: InstId, block: NoiseBlock, coordinates: [Value; 3], inner: Option<Value>) {
        let noise = self.noise_of(id);
        let key = self.size(noise.key);
        let first = self.linear(noise.offset, &noise.strides, inner);
        let [draw, example, step] = coordinates;
        let NoiseBlock { out, shapes, count } = block;
        self.call(id, &[out, shapes, count, key, first, draw, example, step]);
    }

    fn call(&mut self, id: InstId, arguments: &[Value]) {
        let (symbol, _) = callee(self.source.kernel, id, self.source.precision);
        let function = self.source.callees.get(&symbol);
        let function = *function.unwrap_or_else(|| unreachable!("{symbol} is declared with the kernel"));
        self.builder.ins().call(function, arguments);
    }
}
