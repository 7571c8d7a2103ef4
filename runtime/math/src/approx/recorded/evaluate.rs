//! The evaluation of operations on machine numbers.

use super::{Kind, Op, Operand, Recording};
use crate::approx::lane::Fused;
use crate::approx::numbers::Number;

/// Returns the bits of the number of this kind that is nearest to `value`.
pub fn nearest(kind: Kind, value: f64) -> u64 {
    match kind {
        Kind::Single => u64::from((value as f32).to_bits()),
        Kind::Double => value.to_bits(),
        Kind::Truth | Kind::Bits32 | Kind::Bits64 => value as u64,
    }
}

/// Evaluates an operation on constants.
pub(super) fn known(op: Op, kind: Kind, operands: &[Operand]) -> u64 {
    let known = |operand: &Operand| match operand {
        Operand::Known(kind, bits) => (*kind, *bits),
        Operand::Input(_) | Operand::Step(_) => unreachable!("a value that is not known has a recorder"),
    };
    let operands: Vec<(Kind, u64)> = operands.iter().map(known).collect();
    evaluate(op, kind, &operands)
}

impl Recording {
    /// Returns the bits of the result, given the bits of the inputs.
    pub fn evaluate(&self, inputs: &[u64]) -> u64 {
        let mut values: Vec<u64> = Vec::with_capacity(self.steps.len());
        let read = |operand: &Operand, values: &[u64]| match *operand {
            Operand::Known(kind, bits) => (kind, bits),
            Operand::Input(at) => (self.inputs[at], inputs[at]),
            Operand::Step(at) => (self.steps[at].kind, values[at]),
        };
        for step in &self.steps {
            let operands: Vec<(Kind, u64)> = step
                .operands
                .iter()
                .map(|operand| read(operand, &values))
                .collect();
            values.push(evaluate(step.op, step.kind, &operands));
        }
        read(&self.result, &values).1
    }
}

/// Evaluates an operation on numbers that are given as kinds and bits.
fn evaluate(op: Op, kind: Kind, operands: &[(Kind, u64)]) -> u64 {
    let bits = |at: usize| operands[at].1;
    match (op, operands[0].0) {
        (Op::Select, _) => bits(if bits(0) == 0 { 2 } else { 1 }),
        (Op::Bits | Op::FromBits, _) => bits(0),
        (Op::Widen, _) => f64::from(f32::from_bits(bits(0) as u32)).to_bits(),
        (Op::Narrow, _) => nearest(Kind::Single, f64::from_bits(bits(0))),
        (_, Kind::Single) => {
            let x: Vec<f32> = operands.iter().map(|x| f32::from_bits(x.1 as u32)).collect();
            real(op, &x, |x| u64::from(x.to_bits()))
        }
        (_, Kind::Double) => {
            let x: Vec<f64> = operands.iter().map(|x| f64::from_bits(x.1)).collect();
            real(op, &x, f64::to_bits)
        }
        (_, Kind::Truth | Kind::Bits32 | Kind::Bits64) => integer(op, kind, operands),
    }
}

fn real<T: Number>(op: Op, x: &[T], store: fn(T) -> u64) -> u64 {
    match op {
        Op::Add => store(x[0] + x[1]),
        Op::Sub => store(x[0] - x[1]),
        Op::Mul => store(x[0] * x[1]),
        Op::Div => store(x[0] / x[1]),
        Op::Neg => store(-x[0]),
        Op::Fma => store(x[0].fma::<Fused>(x[1], x[2])),
        Op::Magnitude => store(x[0].magnitude()),
        Op::WithSign => store(x[0].with_sign(x[1])),
        Op::Root => store(x[0].root()),
        Op::Less => u64::from(x[0] < x[1]),
        Op::AtMost => u64::from(x[0] <= x[1]),
        Op::Equals => u64::from(x[0] == x[1]),
        Op::Select | Op::Bits | Op::FromBits | Op::FromUnsigned | Op::FromSigned => {
            unreachable!("no operation on reals alone")
        }
        Op::Widen | Op::Narrow | Op::And | Op::Or | Op::Xor => unreachable!("no operation on reals"),
        Op::ShiftLeft(_) | Op::ShiftRight(_) | Op::Plus | Op::Below | Op::Has(_) => {
            unreachable!("an operation on integers")
        }
        Op::ProductHigh(_) | Op::ProductLow(_) => unreachable!("an operation on integers"),
    }
}

fn integer(op: Op, kind: Kind, operands: &[(Kind, u64)]) -> u64 {
    let (width, x) = (operands[0].0, operands[0].1);
    let other = || operands[1].1;
    let fit = |value: u64| match width {
        Kind::Bits64 => value,
        _ => value & u64::from(u32::MAX),
    };
    match op {
        Op::And => x & other(),
        Op::Or => x | other(),
        Op::Xor => x ^ other(),
        Op::ShiftLeft(bits) => fit(x << bits),
        Op::ShiftRight(bits) => x >> bits,
        Op::Plus => fit(x.wrapping_add(other())),
        Op::Below => u64::from(x < other()),
        Op::Has(bit) => (x >> bit) & 1,
        Op::ProductHigh(factor) => (x * u64::from(factor)) >> 32,
        Op::ProductLow(factor) => fit(x * u64::from(factor)),
        Op::FromUnsigned => match kind {
            Kind::Single => u64::from((x as f32).to_bits()),
            _ => (x as f64).to_bits(),
        },
        Op::FromSigned => match kind {
            Kind::Single => u64::from((x as u32 as i32 as f32).to_bits()),
            _ => f64::from(x as u32 as i32).to_bits(),
        },
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Fma | Op::Magnitude | Op::WithSign => {
            unreachable!("an operation on reals")
        }
        Op::Root | Op::Less | Op::AtMost | Op::Equals | Op::Widen | Op::Narrow => {
            unreachable!("an operation on reals")
        }
        Op::Select | Op::Bits | Op::FromBits => unreachable!("no operation on integers alone"),
    }
}
