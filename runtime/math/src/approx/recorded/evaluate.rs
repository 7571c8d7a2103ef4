//! Evaluates recorded operations on machine numbers.

use super::{RecordedOp, RecordedOperand, RecordedType, Recording};
use crate::approx::lane::Fused;
use crate::approx::numbers::Number;

/// Returns the bits of the number of type `kind` that is nearest to `value`.
pub fn nearest(kind: RecordedType, value: f64) -> u64 {
    match kind {
        RecordedType::Single => u64::from((value as f32).to_bits()),
        RecordedType::Double => value.to_bits(),
        RecordedType::Truth | RecordedType::Bits32 | RecordedType::Bits64 => value as u64,
    }
}

/// Evaluates an operation whose operands are constants.
pub(super) fn known(op: RecordedOp, kind: RecordedType, operands: &[RecordedOperand]) -> u64 {
    let known = |operand: &RecordedOperand| match operand {
        RecordedOperand::Known(kind, bits) => (*kind, *bits),
        RecordedOperand::Input(_) | RecordedOperand::Step(_) => {
            unreachable!("a value that is not known has a recorder")
        }
    };
    let operands: Vec<(RecordedType, u64)> = operands.iter().map(known).collect();
    evaluate(op, kind, &operands)
}

impl Recording {
    /// Evaluates the recording. Takes the bits of the inputs, and returns the bits of the result.
    pub fn evaluate(&self, inputs: &[u64]) -> u64 {
        let mut values: Vec<u64> = Vec::with_capacity(self.steps.len());
        let read = |operand: &RecordedOperand, values: &[u64]| match *operand {
            RecordedOperand::Known(kind, bits) => (kind, bits),
            RecordedOperand::Input(at) => (self.inputs[at], inputs[at]),
            RecordedOperand::Step(at) => (self.steps[at].kind, values[at]),
        };
        for step in &self.steps {
            let operands: Vec<(RecordedType, u64)> = step
                .operands
                .iter()
                .map(|operand| read(operand, &values))
                .collect();
            values.push(evaluate(step.op, step.kind, &operands));
        }
        read(&self.result, &values).1
    }
}

/// Evaluates an operation. Each operand is given by its type and its bits.
fn evaluate(op: RecordedOp, kind: RecordedType, operands: &[(RecordedType, u64)]) -> u64 {
    let bits = |at: usize| operands[at].1;
    match (op, operands[0].0) {
        (RecordedOp::Select, _) => bits(if bits(0) == 0 { 2 } else { 1 }),
        (RecordedOp::Bits | RecordedOp::FromBits, _) => bits(0),
        (RecordedOp::Widen, _) => f64::from(f32::from_bits(bits(0) as u32)).to_bits(),
        (RecordedOp::Narrow, _) => nearest(RecordedType::Single, f64::from_bits(bits(0))),
        (_, RecordedType::Single) => {
            let x: Vec<f32> = operands.iter().map(|x| f32::from_bits(x.1 as u32)).collect();
            real(op, &x, |x| u64::from(x.to_bits()))
        }
        (_, RecordedType::Double) => {
            let x: Vec<f64> = operands.iter().map(|x| f64::from_bits(x.1)).collect();
            real(op, &x, f64::to_bits)
        }
        (_, RecordedType::Truth | RecordedType::Bits32 | RecordedType::Bits64) => integer(op, kind, operands),
    }
}

fn real<T: Number>(op: RecordedOp, x: &[T], store: fn(T) -> u64) -> u64 {
    match op {
        RecordedOp::Add => store(x[0] + x[1]),
        RecordedOp::Sub => store(x[0] - x[1]),
        RecordedOp::Mul => store(x[0] * x[1]),
        RecordedOp::Div => store(x[0] / x[1]),
        RecordedOp::Neg => store(-x[0]),
        RecordedOp::Fma => store(x[0].fma::<Fused>(x[1], x[2])),
        RecordedOp::Magnitude => store(x[0].magnitude()),
        RecordedOp::WithSign => store(x[0].with_sign(x[1])),
        RecordedOp::Root => store(x[0].root()),
        RecordedOp::Less => u64::from(x[0] < x[1]),
        RecordedOp::AtMost => u64::from(x[0] <= x[1]),
        RecordedOp::Equals => u64::from(x[0] == x[1]),
        RecordedOp::Select
        | RecordedOp::Bits
        | RecordedOp::FromBits
        | RecordedOp::FromUnsigned
        | RecordedOp::FromSigned => {
            unreachable!("no operation on reals alone")
        }
        RecordedOp::Widen | RecordedOp::Narrow | RecordedOp::And | RecordedOp::Or | RecordedOp::Xor => {
            unreachable!("no operation on reals")
        }
        RecordedOp::ShiftLeft(_)
        | RecordedOp::ShiftRight(_)
        | RecordedOp::Plus
        | RecordedOp::Below
        | RecordedOp::Has(_) => {
            unreachable!("an operation on integers")
        }
        RecordedOp::ProductHigh(_) | RecordedOp::ProductLow(_) => unreachable!("an operation on integers"),
    }
}

fn integer(op: RecordedOp, kind: RecordedType, operands: &[(RecordedType, u64)]) -> u64 {
    let (width, x) = (operands[0].0, operands[0].1);
    let other = || operands[1].1;
    let fit = |value: u64| match width {
        RecordedType::Bits64 => value,
        _ => value & u64::from(u32::MAX),
    };
    match op {
        RecordedOp::And => x & other(),
        RecordedOp::Or => x | other(),
        RecordedOp::Xor => x ^ other(),
        RecordedOp::ShiftLeft(bits) => fit(x << bits),
        RecordedOp::ShiftRight(bits) => x >> bits,
        RecordedOp::Plus => fit(x.wrapping_add(other())),
        RecordedOp::Below => u64::from(x < other()),
        RecordedOp::Has(bit) => (x >> bit) & 1,
        RecordedOp::ProductHigh(factor) => (x * u64::from(factor)) >> 32,
        RecordedOp::ProductLow(factor) => fit(x * u64::from(factor)),
        RecordedOp::FromUnsigned => match kind {
            RecordedType::Single => u64::from((x as f32).to_bits()),
            _ => (x as f64).to_bits(),
        },
        RecordedOp::FromSigned => match kind {
            RecordedType::Single => u64::from((x as u32 as i32 as f32).to_bits()),
            _ => f64::from(x as u32 as i32).to_bits(),
        },
        RecordedOp::Add
        | RecordedOp::Sub
        | RecordedOp::Mul
        | RecordedOp::Div
        | RecordedOp::Neg
        | RecordedOp::Fma
        | RecordedOp::Magnitude
        | RecordedOp::WithSign => {
            unreachable!("an operation on reals")
        }
        RecordedOp::Root
        | RecordedOp::Less
        | RecordedOp::AtMost
        | RecordedOp::Equals
        | RecordedOp::Widen
        | RecordedOp::Narrow => {
            unreachable!("an operation on reals")
        }
        RecordedOp::Select | RecordedOp::Bits | RecordedOp::FromBits => {
            unreachable!("no operation on integers alone")
        }
    }
}
