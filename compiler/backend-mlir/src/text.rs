//! The text of a module that is being written. Each operation is on its own line. Every value has a
//! number and a type.

use bnnc_abi::plan::Storage;
use bnnc_base::dtype::{DType, Precision};
use std::fmt::{self, Display, Write};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A real of this width.
    Real(Precision),
    /// A Boolean.
    Truth,
    /// A 32-bit integer of a program.
    Int,
    /// A 64-bit index, size or key.
    Long,
    /// An address.
    Pointer,
}

impl Type {
    /// Returns the type of a value whose element type is `dtype`.
    pub fn of(dtype: DType, precision: Precision) -> Type {
        match dtype {
            DType::Real => Type::Real(precision),
            DType::Int => Type::Int,
            DType::Bool => Type::Truth,
        }
    }

    /// Returns the type of elements in memory.
    pub fn stored(storage: Storage, precision: Precision) -> Type {
        match storage {
            Storage::Real => Type::Real(precision),
            Storage::Int => Type::Int,
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Real(precision) => precision.fmt(f),
            Type::Truth => f.write_str("i1"),
            Type::Int => f.write_str("i32"),
            Type::Long => f.write_str("i64"),
            Type::Pointer => f.write_str("!llvm.ptr"),
        }
    }
}

/// The result of an operation, or an argument of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    number: u32,
    /// The index of this result among the results of the operation. `None` if the operation has
    /// only one result.
    result: Option<u32>,
    /// The type of the value.
    pub ty: Type,
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.result {
            Some(result) => write!(f, "%{}#{result}", self.number),
            None => write!(f, "%{}", self.number),
        }
    }
}

/// Formats a list separated by commas.
pub(crate) fn commas<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// A loop whose body is being written.
pub(crate) struct Loop {
    /// The counter of the loop.
    pub counter: Value,
    /// The values that an iteration receives from the previous iteration.
    pub inside: Vec<Value>,
    results: Vec<Value>,
}

/// The text of a module.
#[derive(Default)]
pub(crate) struct Text {
    lines: String,
    depth: usize,
    values: u32,
}

/// The range of a loop counter, as in `(from..to).step_by(step)`.
#[derive(Clone, Copy)]
pub struct LoopBounds {
    /// The first value.
    pub from: Value,
    /// The end, which is excluded.
    pub to: Value,
    /// The difference between consecutive values.
    pub step: i64,
}

impl LoopBounds {
    /// Returns bounds for a loop over all values from `from` to `to`, excluding `to`.
    pub fn by_one(from: Value, to: Value) -> LoopBounds {
        LoopBounds { from, to, step: 1 }
    }
}

impl Text {
    /// Returns the whole text.
    pub fn finish(self) -> String {
        self.lines
    }

    /// Writes a line.
    pub fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "{:1$}{line}", "", 2 * self.depth);
    }

    /// Writes a line that begins a region. The following lines are indented.
    pub fn open(&mut self, line: impl Display) {
        self.line(line);
        self.depth += 1;
    }

    /// Begins a function that LLVM inlines into all its callers. `types` are the types of its parameters.
    /// Returns the parameters.
    pub fn open_inlined(
        &mut self,
        symbol: &str,
        types: impl Iterator<Item = Type>,
        result: Type,
    ) -> Vec<Value> {
        self.restart();
        let inputs: Vec<Value> = types.map(|ty| self.fresh(ty)).collect();
        let parameters = inputs.iter().map(|input| format!("{input}: {}", input.ty));
        self.open(format_args!(
            "llvm.func internal @{symbol}({}) -> {result} attributes {{passthrough = [\"alwaysinline\", \"nounwind\", \"no-builtins\"]}} {{",
            commas(parameters)
        ));
        inputs
    }

    /// Writes a line that ends a region.
    pub fn close(&mut self, line: impl Display) {
        self.depth -= 1;
        self.line(line);
    }

    /// Begins a loop over a counter. The loop carries values from one iteration to the next.
    pub fn open_loop(&mut self, bounds: LoopBounds, carried: &[Value]) -> Loop {
        let LoopBounds { from, to, step } = bounds;
        let step = self.long(step);
        let types: Vec<Type> = carried.iter().map(|value| value.ty).collect();
        let (results, name) = self.several(&types);
        let counter = self.fresh(Type::Long);
        let inside: Vec<Value> = types.iter().map(|ty| self.fresh(*ty)).collect();
        let head = format!("scf.for {counter} = {from} to {to} step {step}");
        if carried.is_empty() {
            self.open(format_args!("{head} : i64 {{"));
        } else {
            let pairs = inside.iter().zip(carried);
            let pairs = commas(pairs.map(|(inside, before)| format!("{inside} = {before}")));
            let types = commas(&types);
            self.open(format_args!(
                "{name} = {head} iter_args({pairs}) -> ({types}) : i64 {{"
            ));
        }
        Loop {
            counter,
            inside,
            results,
        }
    }

    /// Ends a loop. `after` has the values for the next iteration. Returns the values after the last
    /// iteration.
    pub fn close_loop(&mut self, open: Loop, after: &[Value]) -> Vec<Value> {
        if !open.results.is_empty() {
            let types = commas(after.iter().map(|value| value.ty));
            self.line(format_args!("scf.yield {} : {types}", commas(after)));
        }
        self.close("}");
        open.results
    }

    /// Restarts the numbering of values. Every function has its own numbering.
    pub fn restart(&mut self) {
        self.values = 0;
    }

    /// Returns a new value. The next line that is written must define it.
    pub fn fresh(&mut self, ty: Type) -> Value {
        self.values += 1;
        Value {
            number: self.values - 1,
            result: None,
            ty,
        }
    }

    /// Returns several new values. The next line must define all of them together. Also returns the
    /// name of the group of values in that line.
    pub fn several(&mut self, types: &[Type]) -> (Vec<Value>, String) {
        let number = self.fresh(Type::Long).number;
        let value = |(at, ty): (usize, &Type)| Value {
            number,
            result: (types.len() > 1).then_some(at as u32),
            ty: *ty,
        };
        let count = if types.len() > 1 {
            format!(":{}", types.len())
        } else {
            String::new()
        };
        (
            types.iter().enumerate().map(value).collect(),
            format!("%{number}{count}"),
        )
    }

    /// Writes an operation and returns its result.
    pub fn value(&mut self, ty: Type, operation: impl Display) -> Value {
        let value = self.fresh(ty);
        self.line(format_args!("{value} = {operation}"));
        value
    }

    /// Writes an operation `dialect.name operands : type`. The operands and the result have the
    /// same type.
    pub fn alike(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = operands[0].ty;
        self.value(ty, format_args!("{name} {} : {ty}", commas(operands)))
    }

    /// Writes an intrinsic function. The operands and the result have the same type.
    pub fn intrinsic(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = operands[0].ty;
        let types = commas(operands.iter().map(|operand| operand.ty));
        let operands = commas(operands);
        self.value(
            ty,
            format_args!("llvm.intr.{name}({operands}) : ({types}) -> {ty}"),
        )
    }

    /// Writes a constant.
    pub fn literal(&mut self, ty: Type, value: f64) -> Value {
        match ty {
            Type::Real(Precision::F32) => {
                let (text, bits) = (format!("{:?}", value as f32), (value as f32).to_bits());
                self.real(ty, text, format_args!("0x{bits:08X}"))
            }
            Type::Real(Precision::F64) => {
                let (text, bits) = (format!("{value:?}"), value.to_bits());
                self.real(ty, text, format_args!("0x{bits:016X}"))
            }
            Type::Truth => self.value(ty, format_args!("arith.constant {}", value != 0.0)),
            Type::Int => self.value(ty, format_args!("arith.constant {} : i32", value as i32)),
            Type::Long | Type::Pointer => self.long(value as i64),
        }
    }

    /// Writes a real constant. It is written in decimals if possible, and otherwise as bits.
    fn real(&mut self, ty: Type, decimals: String, bits: impl Display) -> Value {
        let whole = decimals
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit());
        match whole && decimals.contains('.') {
            true => self.value(ty, format_args!("arith.constant {decimals} : {ty}")),
            false => self.value(ty, format_args!("arith.constant {bits} : {ty}")),
        }
    }

    /// Writes a constant index or size.
    pub fn long(&mut self, value: i64) -> Value {
        self.value(Type::Long, format_args!("arith.constant {value} : i64"))
    }

    /// Writes a comparison. `predicate` is a predicate of `arith.cmpi` or `arith.cmpf`.
    pub fn compare(&mut self, predicate: &str, x: Value, y: Value) -> Value {
        let name = match x.ty {
            Type::Real(_) => "arith.cmpf",
            Type::Truth | Type::Int | Type::Long | Type::Pointer => "arith.cmpi",
        };
        self.value(
            Type::Truth,
            format_args!("{name} {predicate}, {x}, {y} : {}", x.ty),
        )
    }

    /// Writes `if condition { x } else { y }`.
    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        self.value(
            x.ty,
            format_args!("arith.select {condition}, {x}, {y} : {}", x.ty),
        )
    }

    /// Writes a conversion of a value to another type.
    pub fn convert(&mut self, name: &str, x: Value, to: Type) -> Value {
        self.value(to, format_args!("{name} {x} : {} to {to}", x.ty))
    }

    /// Writes the address of an element.
    pub fn element(&mut self, base: Value, position: Value, ty: Type) -> Value {
        self.value(
            Type::Pointer,
            format_args!(
                "llvm.getelementptr inbounds {base}[{position}] : (!llvm.ptr, i64) -> !llvm.ptr, {ty}"
            ),
        )
    }

    /// Writes the address that lies `bytes` bytes after `base`.
    pub fn skip(&mut self, base: Value, bytes: usize) -> Value {
        self.value(
            Type::Pointer,
            format_args!("llvm.getelementptr inbounds {base}[{bytes}] : (!llvm.ptr) -> !llvm.ptr, i8"),
        )
    }

    /// Writes a load from memory. `attributes` is empty or begins with a space.
    pub fn load(&mut self, ty: Type, address: Value, attributes: &str) -> Value {
        self.value(
            ty,
            format_args!("llvm.load {address}{attributes} : !llvm.ptr -> {ty}"),
        )
    }

    /// Writes a store to memory.
    pub fn store(&mut self, value: Value, address: Value, attributes: &str) {
        self.line(format_args!(
            "llvm.store {value}, {address}{attributes} : {}, !llvm.ptr",
            value.ty
        ));
    }
}
