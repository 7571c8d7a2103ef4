//! Emits a scalar operation, or the step that combines two values of a reduction, as MLIR
//! operations.

use crate::text::{Text, Type, Value};
use bnnc_abi::plan::Combine;
use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// Emits the operation `scalar` on the operands `x`. `never_nan` states, for each of the first two
/// operands, whether it cannot be NaN.
pub(crate) fn apply(text: &mut Text, scalar: Scalar, x: &[Value], never_nan: [bool; 2]) -> Value {
    match scalar {
        Scalar::Add => text.alike(of(x, "arith.addf", "arith.addi"), x),
        Scalar::Sub => text.alike(of(x, "arith.subf", "arith.subi"), x),
        Scalar::Mul => text.alike(of(x, "arith.mulf", "arith.muli"), x),
        Scalar::Div => text.alike("arith.divf", x),
        Scalar::Abs => abs(text, x[0]),
        Scalar::Neg => neg(text, x[0]),
        Scalar::Sqrt => text.intrinsic("sqrt", x),
        Scalar::Floor => text.intrinsic("floor", x),
        Scalar::Max | Scalar::Min => extremum(text, scalar, x, never_nan),
        Scalar::Sign => sign(text, x[0]),
        Scalar::Eq => text.compare(of(x, "oeq", "eq"), x[0], x[1]),
        Scalar::Lt => text.compare(of(x, "olt", "slt"), x[0], x[1]),
        Scalar::Le => text.compare(of(x, "ole", "sle"), x[0], x[1]),
        Scalar::And => text.alike("arith.andi", x),
        Scalar::Or => text.alike("arith.ori", x),
        Scalar::Not => {
            let yes = text.literal(Type::Truth, 1.0);
            text.alike("arith.xori", &[x[0], yes])
        }
        Scalar::Select => text.select(x[0], x[1], x[2]),
        Scalar::ToInt => int_of(text, x[0]),
        Scalar::ToReal => unreachable!("the width of reals is needed for it: see `real_of`"),
        Scalar::Cos
        | Scalar::Digamma
        | Scalar::Erf
        | Scalar::Erfc
        | Scalar::Exp
        | Scalar::Expm1
        | Scalar::GammaGradient
        | Scalar::Lgamma
        | Scalar::Log
        | Scalar::Log1p
        | Scalar::LogSigmoid
        | Scalar::Pow
        | Scalar::Sigmoid
        | Scalar::Sin
        | Scalar::Softplus
        | Scalar::Tanh
        | Scalar::Trigamma => unreachable!("the staging makes these calls of array primitives"),
    }
}

/// Combines the accumulated value of a reduction with a new element. The terms of a sum may be
/// added in another order, so that LLVM can vectorise the sum.
pub(crate) fn combine(text: &mut Text, combine: Combine, held: Value, new: Value) -> Value {
    let operands = [held, new];
    match (combine, held.ty) {
        (Combine::Sum, Type::Real(_)) => text.value(
            held.ty,
            format_args!("arith.addf {held}, {new} fastmath<reassoc> : {}", held.ty),
        ),
        (Combine::Sum, _) => text.alike("arith.addi", &operands),
        (Combine::Max, Type::Real(_)) => text.alike("arith.maximumf", &operands),
        (Combine::Max, _) => text.alike("arith.maxsi", &operands),
    }
}

/// Returns the initial value of a reduction.
pub(crate) fn identity(text: &mut Text, combine: Combine, ty: Type) -> Value {
    match ty {
        Type::Int => text.literal(ty, combine.identity().max(f64::from(i32::MIN))),
        _ => text.literal(ty, combine.identity()),
    }
}

/// Returns the type of a reduction in a register. Sums of reals are kept in 64 bits, so that their
/// rounding errors do not grow with the number of terms.
pub(crate) fn register_type(combine: Combine, stored: Type) -> Type {
    match (combine, stored) {
        (Combine::Sum, Type::Real(_)) => Type::Real(Precision::F64),
        _ => stored,
    }
}

/// Converts a real to another width.
pub(crate) fn resized(text: &mut Text, x: Value, to: Type) -> Value {
    match (x.ty, to) {
        (Type::Real(Precision::F32), Type::Real(Precision::F64)) => text.convert("arith.extf", x, to),
        (Type::Real(Precision::F64), Type::Real(Precision::F32)) => text.convert("arith.truncf", x, to),
        _ => x,
    }
}

/// Converts an integer or a Boolean to a real.
pub(crate) fn real_of(text: &mut Text, x: Value, real: Type) -> Value {
    match x.ty {
        Type::Real(_) => x,
        Type::Truth => text.convert("arith.uitofp", x, real),
        Type::Int | Type::Long | Type::Pointer => text.convert("arith.sitofp", x, real),
    }
}

/// Converts an element read from memory to a Boolean.
pub(crate) fn truth(text: &mut Text, stored: Value) -> Value {
    let zero = text.literal(stored.ty, 0.0);
    text.compare("une", stored, zero)
}

fn of<'a>(x: &[Value], real: &'a str, int: &'a str) -> &'a str {
    match x[x.len() - 1].ty {
        Type::Real(_) => real,
        Type::Truth | Type::Int | Type::Long | Type::Pointer => int,
    }
}

fn abs(text: &mut Text, x: Value) -> Value {
    if x.ty != Type::Int {
        return text.intrinsic("fabs", &[x]);
    }
    let zero = text.literal(Type::Int, 0.0);
    let (negative, negated) = (text.compare("slt", x, zero), text.alike("arith.subi", &[zero, x]));
    text.select(negative, negated, x)
}

fn neg(text: &mut Text, x: Value) -> Value {
    if x.ty != Type::Int {
        return text.alike("arith.negf", &[x]);
    }
    let zero = text.literal(Type::Int, 0.0);
    text.alike("arith.subi", &[zero, x])
}

/// Converts a value to an integer. A real is truncated, a number outside the range saturates, and
/// NaN becomes zero.
fn int_of(text: &mut Text, x: Value) -> Value {
    match x.ty {
        Type::Real(_) => text.value(
            Type::Int,
            format_args!("llvm.call_intrinsic \"llvm.fptosi.sat\"({x}) : ({}) -> i32", x.ty),
        ),
        Type::Truth => text.convert("arith.extui", x, Type::Int),
        Type::Int | Type::Long | Type::Pointer => x,
    }
}

/// Emits the larger or the smaller of two operands; see Note \[Extrema\].
fn extremum(text: &mut Text, scalar: Scalar, x: &[Value], never_nan: [bool; 2]) -> Value {
    let max = scalar == Scalar::Max;
    if x[0].ty == Type::Int {
        let name = if max { "arith.maxsi" } else { "arith.minsi" };
        return text.alike(name, x);
    }
    // A constant operand is moved to the front.
    let (x, y, never_nan) = match never_nan {
        [false, true] => (x[1], x[0], true),
        [never_nan, _] => (x[0], x[1], never_nan),
    };
    let x_wins = match max {
        true => text.compare("olt", y, x),
        false => text.compare("olt", x, y),
    };
    let winner = text.select(x_wins, x, y);
    if never_nan {
        return winner;
    }
    let x_is_nan = text.compare("uno", x, x);
    text.select(x_is_nan, x, winner)
}

/// Emits the sign of `x`: -1 if `x` is negative, and 1 if it is positive. If `x` is zero or NaN,
/// the result is `x` itself.
fn sign(text: &mut Text, x: Value) -> Value {
    let [one, minus_one, zero] = [1.0, -1.0, 0.0].map(|value| text.literal(x.ty, value));
    let less = of(&[x], "olt", "slt");
    let negative = text.compare(less, x, zero);
    let positive = text.compare(less, zero, x);
    let signed = text.select(negative, minus_one, x);
    text.select(positive, one, signed)
}

// Note [Extrema]. The operation `select (lt y x) x y` is one machine instruction, whose result is
// `y` if either operand is NaN. More instructions are needed only if `x` can be NaN, which is never
// the case for a constant.
