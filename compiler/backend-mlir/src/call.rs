//! Calls of runtime primitives, on one element or on a block.

use crate::access::{LINE, SINGLE_BYTES};
use crate::func::Emitter;
use crate::schedule::{Schedule, is_called};
use crate::text::{Type, Value, commas};
use bnnc_abi::symbols;
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_base::scalar::Scalar;
use bnnc_loops::analysis::staging::BLOCK;
use bnnc_loops::ir::{InstId, InstOp, Kernel};

/// The runtime function that an instruction calls, and the types of its parameters.
fn callee(op: &InstOp, precision: Precision) -> Option<(String, Vec<Type>)> {
    match op {
        InstOp::Apply(scalar, operands) => {
            let mut parameters = vec![Type::Pointer; 1 + operands.len()];
            parameters.push(Type::Long);
            Some((symbols::scalar_symbol(*scalar, precision), parameters))
        }
        InstOp::Noise { kind, .. } => {
            let (pointer, long, int) = (Type::Pointer, Type::Long, Type::Int);
            let parameters = vec![pointer, pointer, long, long, long, int, int, int];
            Some((symbols::noise_symbol(*kind, precision), parameters))
        }
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => None,
    }
}

/// The runtime functions that a kernel calls: their symbols and declarations.
pub(crate) fn callees(kernel: &Kernel, schedule: &Schedule, precision: Precision) -> Vec<(String, String)> {
    let called = kernel
        .body
        .ids()
        .filter(|id| schedule.live[id.index()] && is_called(&kernel.body[*id]));
    let callee = |id: InstId| callee(&kernel.body[id].op, precision);
    called
        .filter_map(callee)
        .map(|(symbol, parameters)| {
            let declaration = format!("llvm.func @{symbol}({})", commas(parameters));
            (symbol, declaration)
        })
        .collect()
}

/// Scratch memory of one invocation.
pub(crate) fn scratch_bytes(schedule: &Schedule, precision: Precision) -> usize {
    SINGLE_BYTES + schedule.homes * BLOCK as usize * precision.bytes()
}

impl Emitter<'_> {
    /// Calls `id` on the block of `count` elements that begins at the current indices.
    pub fn call_block(&mut self, id: InstId, count: Value) {
        let InstOp::Apply(_, operands) = &self.source.kernel.body[id].op else {
            return self.noise_block(id, count, None);
        };
        let mut arguments = vec![self.home(self.home_of(id))];
        for operand in operands {
            arguments.push(self.block_of(*operand));
        }
        arguments.push(count);
        self.call(&self.source.kernel.body[id].op, &arguments);
    }

    /// Where a call finds the values of its operand at a block.
    fn block_of(&mut self, operand: InstId) -> Value {
        match (
            self.source.schedule.home[operand.index()],
            &self.source.kernel.body[operand].op,
        ) {
            (Some(home), _) => self.home(home),
            (None, InstOp::Load(access)) => self.address(access, None),
            (None, _) => unreachable!("{operand} is stored for the call that reads it"),
        }
    }

    /// A block of a noise stream that begins at the current indices, its values `skipped` elements after the start of
    /// their scratch slots.
    pub fn noise_block(&mut self, id: InstId, count: Value, skipped: Option<Value>) {
        let InstOp::Noise {
            coordinates, shape, ..
        } = &self.source.kernel.body[id].op
        else {
            unreachable!("{id} is noise")
        };
        let coordinates = coordinates.map(|coordinate| self.value(coordinate, None));
        let out = self.home(self.home_of(id));
        let out = self.skipped(out, skipped);
        let shapes = match shape {
            Some(shape) => {
                let block = self.block_of(*shape);
                let in_scratch = self.source.schedule.home[shape.index()].is_some();
                self.skipped(block, skipped.filter(|_| in_scratch))
            }
            None => out,
        };
        self.noise(id, (out, shapes, count), coordinates);
    }

    fn skipped(&mut self, address: Value, elements: Option<Value>) -> Value {
        match elements {
            Some(elements) => self
                .text
                .element(address, elements, Type::Real(self.source.precision)),
            None => address,
        }
    }

    /// Calls a scalar operation on one element.
    pub fn call_once(&mut self, scalar: Scalar, operands: &[Value]) -> Value {
        let mut arguments = vec![self.scratch];
        for (at, operand) in operands.iter().enumerate() {
            let address = self.text.skip(self.scratch, LINE * (at + 1));
            self.text.store(*operand, address, "");
            arguments.push(address);
        }
        arguments.push(self.text.long(1));
        let op = InstOp::Apply(scalar, vec![InstId(0); operands.len()]);
        self.call(&op, &arguments);
        self.single_result()
    }

    /// One element of a noise stream.
    pub fn noise_once(&mut self, id: InstId, coordinates: [Value; 3], shape: Option<Value>) -> Value {
        let one = self.text.long(1);
        if let Some(shape) = shape {
            self.text.store(shape, self.scratch, "");
        }
        self.noise(id, (self.scratch, self.scratch, one), coordinates);
        self.single_result()
    }

    fn single_result(&mut self) -> Value {
        self.text
            .load(Type::Real(self.source.precision), self.scratch, "")
    }

    fn noise(&mut self, id: InstId, (out, shapes, count): (Value, Value, Value), coordinates: [Value; 3]) {
        let op = &self.source.kernel.body[id].op;
        let InstOp::Noise {
            key, offset, strides, ..
        } = op
        else {
            unreachable!("{id} is noise")
        };
        let key = self.size(*key);
        let first = self.linear(*offset, strides);
        let [draw, example, step] = coordinates;
        self.call(op, &[out, shapes, count, key, first, draw, example, step]);
    }

    fn call(&mut self, op: &InstOp, arguments: &[Value]) {
        let Some((symbol, parameters)) = callee(op, self.source.precision) else {
            unreachable!("only calls are called")
        };
        self.text.line(format_args!(
            "llvm.call @{symbol}({}) : ({}) -> ()",
            commas(arguments),
            commas(parameters)
        ));
    }
}
