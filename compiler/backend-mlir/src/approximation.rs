//! Defines elementary functions and noise as MLIR functions. They are made from recordings, which
//! list the operations that the runtime's primitives perform. The functions return the same numbers
//! as the primitives, but are inlined into loops and vectorised with them.

use crate::gpu::gamma;
use crate::text::{Text, Type, Value};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::Precision;
use bnnc_math::approx::recorded::{self, RecordedOp, RecordedOperand, RecordedStep, RecordedType, Recording};
use bnnc_math::scalar::Scalar;

/// Returns whether a scalar operation is inlined. The others are computed by calls of the runtime.
/// They are long functions, and functions that need exact products.
pub(crate) fn is_inlined(scalar: Scalar) -> bool {
    let short = !matches!(
        scalar,
        Scalar::Cos | Scalar::Digamma | Scalar::Lgamma | Scalar::Sin | Scalar::Trigamma
    );
    short && recorded::unary(scalar, Precision::F32, true).is_some()
}

/// A function that is inlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approximation {
    /// A function with one or two operands.
    Function(Scalar),
    /// An element of a noise stream, as a function of the stream's inputs.
    Noise(NoiseKind),
}

impl Approximation {
    /// Returns the name that the function has in a module.
    pub fn symbol(self, precision: Precision) -> String {
        match self {
            Approximation::Function(scalar) => format!("{}_{precision}", scalar.name()),
            Approximation::Noise(kind) => format!("noise_{}_{precision}", kind.name()),
        }
    }

    fn recording(self, precision: Precision, fused: bool) -> Option<Recording> {
        match self {
            Approximation::Function(scalar) => {
                recorded::unary(scalar, precision, fused).or_else(|| recorded::binary(scalar, precision))
            }
            Approximation::Noise(NoiseKind::Uniform) => Some(recorded::uniform(precision, fused)),
            Approximation::Noise(NoiseKind::Normal) => Some(recorded::normal(precision, fused)),
            Approximation::Noise(NoiseKind::Gamma) => None,
        }
    }

    /// Writes the function.
    pub fn define(self, text: &mut Text, precision: Precision, fused: bool) {
        match self {
            Approximation::Function(Scalar::GammaGradient) => return gamma::gradient(text, precision),
            Approximation::Noise(NoiseKind::Gamma) => return gamma::variate(text, precision),
            Approximation::Function(_) | Approximation::Noise(_) => {}
        }
        let Some(recording) = self.recording(precision, fused) else {
            unreachable!("only what is recorded is inlined")
        };
        let types = recording.inputs.iter().map(|kind| type_of(*kind));
        let result = Type::Real(precision);
        let inputs = text.open_inlined(&self.symbol(precision), types, result);
        let value = inline(text, &recording, &inputs);
        text.line(format_args!("llvm.return {value} : {result}"));
        text.close("}");
    }
}

/// Writes the steps of a recording. Returns the result of the last step.
pub(crate) fn inline(text: &mut Text, recording: &Recording, inputs: &[Value]) -> Value {
    let mut results: Vec<Value> = Vec::new();
    for each in &recording.steps {
        let operands: Vec<Value> = each
            .operands
            .iter()
            .map(|operand| value(text, *operand, inputs, &results))
            .collect();
        results.push(step(text, each, &operands));
    }
    value(text, recording.result, inputs, &results)
}

fn type_of(kind: RecordedType) -> Type {
    match kind {
        RecordedType::Truth => Type::Truth,
        RecordedType::Bits32 => Type::Int,
        RecordedType::Bits64 => Type::Long,
        RecordedType::Single => Type::Real(Precision::F32),
        RecordedType::Double => Type::Real(Precision::F64),
    }
}

fn value(text: &mut Text, operand: RecordedOperand, inputs: &[Value], results: &[Value]) -> Value {
    match operand {
        RecordedOperand::Input(at) => inputs[at],
        RecordedOperand::Step(at) => results[at],
        RecordedOperand::Known(kind, bits) => {
            let number = match kind {
                RecordedType::Single => f64::from(f32::from_bits(bits as u32)),
                RecordedType::Double => f64::from_bits(bits),
                RecordedType::Truth => bits as f64,
                RecordedType::Bits32 => f64::from(bits as u32 as i32),
                RecordedType::Bits64 => return text.long(bits as i64),
            };
            text.literal(type_of(kind), number)
        }
    }
}

fn step(text: &mut Text, step: &RecordedStep, x: &[Value]) -> Value {
    let ty = type_of(step.kind);
    match step.op {
        RecordedOp::Add => text.alike("arith.addf", x),
        RecordedOp::Sub => text.alike("arith.subf", x),
        RecordedOp::Mul => text.alike("arith.mulf", x),
        RecordedOp::Div => text.alike("arith.divf", x),
        RecordedOp::Neg => text.alike("arith.negf", x),
        RecordedOp::Fma => text.intrinsic("fma", x),
        RecordedOp::Magnitude => text.intrinsic("fabs", x),
        RecordedOp::WithSign => text.intrinsic("copysign", x),
        RecordedOp::Root => text.intrinsic("sqrt", x),
        RecordedOp::Less => text.compare("olt", x[0], x[1]),
        RecordedOp::AtMost => text.compare("ole", x[0], x[1]),
        RecordedOp::Equals => text.compare("oeq", x[0], x[1]),
        RecordedOp::Select => text.select(x[0], x[1], x[2]),
        RecordedOp::Bits | RecordedOp::FromBits => text.convert("arith.bitcast", x[0], ty),
        RecordedOp::FromUnsigned => text.convert("arith.uitofp", x[0], ty),
        RecordedOp::FromSigned => text.convert("arith.sitofp", x[0], ty),
        RecordedOp::Widen => text.convert("arith.extf", x[0], ty),
        RecordedOp::Narrow => text.convert("arith.truncf", x[0], ty),
        RecordedOp::And => text.alike("arith.andi", x),
        RecordedOp::Or => text.alike("arith.ori", x),
        RecordedOp::Xor => text.alike("arith.xori", x),
        RecordedOp::Plus => text.alike("arith.addi", x),
        RecordedOp::Below => text.compare("ult", x[0], x[1]),
        RecordedOp::ShiftLeft(bits) => with_number(text, "arith.shli", x[0], i64::from(bits)),
        RecordedOp::ShiftRight(bits) => with_number(text, "arith.shrui", x[0], i64::from(bits)),
        RecordedOp::Has(bit) => {
            let masked = with_number(text, "arith.andi", x[0], 1 << bit);
            let zero = integer(text, x[0].ty, 0);
            text.compare("ne", masked, zero)
        }
        RecordedOp::ProductHigh(factor) => {
            let wide = text.convert("arith.extui", x[0], Type::Long);
            let product = with_number(text, "arith.muli", wide, i64::from(factor));
            let high = with_number(text, "arith.shrui", product, 32);
            text.convert("arith.trunci", high, Type::Int)
        }
        RecordedOp::ProductLow(factor) => with_number(text, "arith.muli", x[0], i64::from(factor)),
    }
}

/// Writes an operation on an integer and a constant of the same type.
pub(crate) fn with_number(text: &mut Text, name: &str, x: Value, number: i64) -> Value {
    let number = integer(text, x.ty, number);
    text.alike(name, &[x, number])
}

/// Writes a constant of an integer type. The number wraps around at the width of the type.
fn integer(text: &mut Text, ty: Type, number: i64) -> Value {
    match ty {
        Type::Int => text.literal(ty, f64::from(number as i32)),
        Type::Real(_) | Type::Truth | Type::Long | Type::Pointer => text.long(number),
    }
}
