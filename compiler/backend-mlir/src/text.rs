//! The text of a module as it grows: one operation a line, every value with its number and type.

use bnnc_base::dtype::{DType, Precision};
use std::fmt::{self, Display, Write};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A real number of this width.
    Real(Precision),
    /// A truth value.
    Truth,
    /// An integer of a program.
    Int,
    /// An index, size or key.
    Long,
    /// An address.
    Pointer,
}

impl Type {
    /// The type of an instruction's results.
    pub fn of(dtype: DType, precision: Precision) -> Type {
        match dtype {
            DType::Real => Type::Real(precision),
            DType::Int => Type::Int,
            DType::Bool => Type::Truth,
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

/// A result of an operation, or an argument of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    number: u32,
    /// Which, where the operation has several.
    result: Option<u32>,
    /// Its type.
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

/// A list with commas.
pub(crate) fn commas<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

/// A loop whose inside is being written.
pub(crate) struct Loop {
    /// Its counter.
    pub counter: Value,
    /// The carried values as an iteration finds them.
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

/// The values of the counter of a loop: those of `(from..to).step_by(step)`.
#[derive(Clone, Copy)]
pub struct LoopBounds {
    /// The first.
    pub from: Value,
    /// Where they end.
    pub to: Value,
    /// The difference of one and the next.
    pub step: i64,
}

impl Text {
    /// All of it.
    pub fn finish(self) -> String {
        self.lines
    }

    /// A line as it is.
    pub fn line(&mut self, line: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "{:1$}{line}", "", 2 * self.depth);
    }

    /// A line that begins a region.
    pub fn open(&mut self, line: impl Display) {
        self.line(line);
        self.depth += 1;
    }

    /// A line that ends the region.
    pub fn close(&mut self, line: impl Display) {
        self.depth -= 1;
        self.line(line);
    }

    /// Begins a loop over a counter, which carries values from iteration to iteration.
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

    /// Ends a loop with what goes into the next iteration; what the last one leaves.
    pub fn close_loop(&mut self, open: Loop, after: &[Value]) -> Vec<Value> {
        if !open.results.is_empty() {
            let types = commas(after.iter().map(|value| value.ty));
            self.line(format_args!("scf.yield {} : {types}", commas(after)));
        }
        self.close("}");
        open.results
    }

    /// Values are numbered anew in each function.
    pub fn restart(&mut self) {
        self.values = 0;
    }

    /// A value that the next line defines.
    pub fn fresh(&mut self, ty: Type) -> Value {
        self.values += 1;
        Value {
            number: self.values - 1,
            result: None,
            ty,
        }
    }

    /// Values that the next line defines together, and how it names them.
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

    /// The result of an operation.
    pub fn value(&mut self, ty: Type, operation: impl Display) -> Value {
        let value = self.fresh(ty);
        self.line(format_args!("{value} = {operation}"));
        value
    }

    /// An operation of `dialect.name operands : type` on operands of its result's type.
    pub fn alike(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = operands[0].ty;
        self.value(ty, format_args!("{name} {} : {ty}", commas(operands)))
    }

    /// An intrinsic function on operands of its result's type.
    pub fn intrinsic(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = operands[0].ty;
        let types = commas(operands.iter().map(|operand| operand.ty));
        let operands = commas(operands);
        self.value(
            ty,
            format_args!("llvm.intr.{name}({operands}) : ({types}) -> {ty}"),
        )
    }

    /// A number.
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

    /// A real number in decimals where it has them, else by its bits.
    fn real(&mut self, ty: Type, decimals: String, bits: impl Display) -> Value {
        let whole = decimals
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit());
        match whole && decimals.contains('.') {
            true => self.value(ty, format_args!("arith.constant {decimals} : {ty}")),
            false => self.value(ty, format_args!("arith.constant {bits} : {ty}")),
        }
    }

    /// An index or size.
    pub fn long(&mut self, value: i64) -> Value {
        self.value(Type::Long, format_args!("arith.constant {value} : i64"))
    }

    /// `if x < y` and the like: `predicate` of `arith.cmpi` or `arith.cmpf`.
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

    /// `if condition { x } else { y }`.
    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        self.value(
            x.ty,
            format_args!("arith.select {condition}, {x}, {y} : {}", x.ty),
        )
    }

    /// A conversion.
    pub fn convert(&mut self, name: &str, x: Value, to: Type) -> Value {
        self.value(to, format_args!("{name} {x} : {} to {to}", x.ty))
    }

    /// The address of an element.
    pub fn element(&mut self, base: Value, position: Value, ty: Type) -> Value {
        self.value(
            Type::Pointer,
            format_args!(
                "llvm.getelementptr inbounds {base}[{position}] : (!llvm.ptr, i64) -> !llvm.ptr, {ty}"
            ),
        )
    }

    /// The address a number of bytes further on.
    pub fn skip(&mut self, base: Value, bytes: usize) -> Value {
        self.value(
            Type::Pointer,
            format_args!("llvm.getelementptr inbounds {base}[{bytes}] : (!llvm.ptr) -> !llvm.ptr, i8"),
        )
    }

    /// What memory holds; `attributes` come with a space in front.
    pub fn load(&mut self, ty: Type, address: Value, attributes: &str) -> Value {
        self.value(
            ty,
            format_args!("llvm.load {address}{attributes} : !llvm.ptr -> {ty}"),
        )
    }

    /// Writes to memory.
    pub fn store(&mut self, value: Value, address: Value, attributes: &str) {
        self.line(format_args!(
            "llvm.store {value}, {address}{attributes} : {}, !llvm.ptr",
            value.ty
        ));
    }
}
