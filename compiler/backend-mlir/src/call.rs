//! Emits calls of runtime primitives, on one element or on a block of elements.

use crate::access::{LINE, SINGLE_BYTES};
use crate::approximation::Approximation;
use crate::func::Emitter;
use crate::schedule::Schedule;
use crate::text::{Type, Value, commas};
use bnnc_abi::symbols::{self, NoiseKind};
use bnnc_base::arena::Id;
use bnnc_base::dtype::Precision;
use bnnc_loops::analysis::staging::BLOCK;
use bnnc_loops::ir::{InstId, InstOp, Noise};
use std::collections::BTreeMap;

/// Returns the symbol and the parameter types of the runtime function that an instruction calls.
fn callee(op: &InstOp, precision: Precision) -> Option<(String, Vec<Type>)> {
    match op {
        InstOp::Apply(scalar, operands) => {
            let mut parameters = vec![Type::Pointer; 1 + operands.len()];
            parameters.push(Type::Long);
            Some((symbols::scalar_symbol(*scalar, precision), parameters))
        }
        InstOp::Noise(noise) => {
            let (pointer, long, int) = (Type::Pointer, Type::Long, Type::Int);
            let parameters = vec![pointer, pointer, long, long, long, int, int, int];
            Some((symbols::noise_symbol(noise.kind, precision), parameters))
        }
        InstOp::Const(_) | InstOp::Index(_) | InstOp::Load(_) => None,
    }
}

/// Returns the number of bytes of scratch memory that one invocation needs.
pub(crate) fn scratch_bytes(schedule: &Schedule, precision: Precision) -> usize {
    let narrow = schedule.staging.homes * precision.bytes();
    let wide = schedule.sums.len() * Precision::F64.bytes();
    SINGLE_BYTES + (narrow + wide) * BLOCK as usize
}

/// The addresses of the results and of the gamma shapes for a block of noise, and the number of its
/// elements.
struct NoiseAddresses {
    out: Value,
    shapes: Value,
    count: Value,
}

impl<'a> Emitter<'a> {
    fn noise_of(&self, id: InstId) -> &'a Noise {
        match &self.source.kernel.body[id].op {
            InstOp::Noise(noise) => noise,
            _ => unreachable!("{id} is noise"),
        }
    }

    /// Calls the runtime function of the instruction `id` on the block of `count` elements that
    /// begins at the current indices.
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

    /// Returns the address of the block from which a call reads an operand.
    fn block_of(&mut self, operand: InstId) -> Value {
        match (
            self.source.staging.home[operand.index()],
            &self.source.kernel.body[operand].op,
        ) {
            (Some(home), _) => self.home(home),
            (None, InstOp::Load(access)) => self.address(access, None),
            (None, _) => unreachable!("{operand} is stored for the call that reads it"),
        }
    }

    /// Generates a block of a noise stream. The block begins at the current indices. Its values are
    /// stored `skipped` elements after the start of the scratch slot.
    pub fn noise_block(&mut self, id: InstId, count: Value, skipped: Option<Value>) {
        let noise = self.noise_of(id);
        let coordinates = noise.coordinates.map(|coordinate| self.value(coordinate, None));
        let out = self.home(self.home_of(id));
        let out = self.skipped(out, skipped);
        let shapes = match noise.shape {
            Some(shape) => {
                let block = self.block_of(shape);
                let in_scratch = self.source.staging.home[shape.index()].is_some();
                self.skipped(block, skipped.filter(|_| in_scratch))
            }
            None => out,
        };
        self.noise(id, NoiseAddresses { out, shapes, count }, coordinates);
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
    pub fn call_once(&mut self, op: &InstOp, operands: &[Value]) -> Value {
        let mut arguments = vec![self.scratch];
        for (at, operand) in operands.iter().enumerate() {
            let address = self.text.skip(self.scratch, LINE * (at + 1));
            self.text.store(*operand, address, "");
            arguments.push(address);
        }
        arguments.push(self.text.long(1));
        self.call(op, &arguments);
        self.single_result()
    }

    /// Generates one element of a noise stream.
    pub fn noise_once(&mut self, id: InstId, coordinates: [Value; 3], shape: Option<Value>) -> Value {
        let kind = self.noise_of(id).kind;
        match (kind, shape) {
            (NoiseKind::Gamma, Some(shape)) if self.source.device => {
                let (key, element) = self.key_and_element(id);
                let [low, high, element] =
                    [(key, 0), (key, 32), (element, 0)].map(|(long, bits)| self.half(long, bits));
                let [draw, example, step] = coordinates;
                let inputs = [low, high, element, draw, example, step, shape];
                self.inlined(Approximation::Noise(NoiseKind::Gamma), &inputs)
            }
            (NoiseKind::Gamma, shape) => {
                let one = self.text.long(1);
                if let Some(shape) = shape {
                    self.text.store(shape, self.scratch, "");
                }
                let addresses = NoiseAddresses {
                    out: self.scratch,
                    shapes: self.scratch,
                    count: one,
                };
                self.noise(id, addresses, coordinates);
                self.single_result()
            }
            (NoiseKind::Uniform | NoiseKind::Normal, _) => self.noise_inline(id, kind, coordinates),
        }
    }

    /// Generates one element of a noise stream with inlined arithmetic.
    fn noise_inline(&mut self, id: InstId, kind: NoiseKind, coordinates: [Value; 3]) -> Value {
        let (key, element) = self.key_and_element(id);
        let (low, high) = (self.half(key, 0), self.half(key, 32));
        let block = self.half(element, 2);
        let three = self.text.long(3);
        let lane = self.text.alike("arith.andi", &[element, three]);
        let lane = self.text.convert("arith.trunci", lane, Type::Int);
        let [draw, example, step] = coordinates;
        let inputs = [low, high, block, draw, example, step, lane];
        self.inlined(Approximation::Noise(kind), &inputs)
    }

    /// Returns 32 bits of a 64-bit number, beginning at bit `from`.
    fn half(&mut self, long: Value, from: i64) -> Value {
        let from = self.text.long(from);
        let shifted = self.text.alike("arith.shrui", &[long, from]);
        self.text.convert("arith.trunci", shifted, Type::Int)
    }

    /// Calls a function that the module defines.
    pub fn inlined(&mut self, function: Approximation, operands: &[Value]) -> Value {
        if !self.needs.approximations.contains(&function) {
            self.needs.approximations.push(function);
        }
        let precision = self.source.precision;
        let types = commas(operands.iter().map(|operand| operand.ty));
        let real = Type::Real(precision);
        let (symbol, operands) = (function.symbol(precision), commas(operands));
        self.text.value(
            real,
            format_args!("llvm.call @{symbol}({operands}) : ({types}) -> {real}"),
        )
    }

    fn single_result(&mut self) -> Value {
        self.text
            .load(Type::Real(self.source.precision), self.scratch, "")
    }

    fn key_and_element(&mut self, id: InstId) -> (Value, Value) {
        let noise = self.noise_of(id);
        (self.size(noise.key), self.linear(noise.offset, &noise.strides))
    }

    fn noise(&mut self, id: InstId, addresses: NoiseAddresses, coordinates: [Value; 3]) {
        let (key, first) = self.key_and_element(id);
        let [draw, example, step] = coordinates;
        let op = &self.source.kernel.body[id].op;
        let NoiseAddresses { out, shapes, count } = addresses;
        self.call(op, &[out, shapes, count, key, first, draw, example, step]);
    }

    fn call(&mut self, op: &InstOp, arguments: &[Value]) {
        let Some((symbol, parameters)) = callee(op, self.source.precision) else {
            unreachable!("only calls are called")
        };
        let parameters = commas(parameters);
        let (arguments, name) = (commas(arguments), &self.source.kernel.name);
        self.text.line(format_args!(
            "llvm.call @{symbol}({arguments}) : ({parameters}) -> ()"
        ));
        let declaration = format!("llvm.func @{symbol}({parameters})");
        self.needs
            .runtime
            .entry(symbol)
            .or_insert_with(|| (declaration, name.clone()));
    }
}

/// The functions that the kernels of a module call.
#[derive(Default)]
pub(crate) struct Needs {
    /// Runtime functions by symbol, each with its declaration and the name of one kernel that calls
    /// it.
    pub runtime: BTreeMap<String, (String, String)>,
    /// The functions that are inlined.
    pub approximations: Vec<Approximation>,
}
