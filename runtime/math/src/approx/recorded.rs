//! Elements that record the operations applied to them. When a function of [`super::functions`] is applied to such an element, its operations are
//! recorded as a list.
//!
//! Operations whose operands are constants are evaluated immediately, so a recording contains only operations that depend on its inputs.

mod evaluate;
mod values;

pub use values::{Bits32, Bits64, Truth, Value};

use super::format::{Double, Single};
use super::functions::{self, Cos, Elementwise, Sin};
use super::lane::{Arch, Fused, Lane, Plain, Word};
use super::noise::{self, NoiseLaw};
use super::{gamma, rare};
use crate::scalar::Scalar;
use bnnc_base::dtype::Precision;
use std::cell::RefCell;
use values::RecordedReal;

/// The type of a recorded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedType {
    /// A Boolean.
    Truth,
    /// An unsigned integer of 32 bits.
    Bits32,
    /// An unsigned integer of 64 bits.
    Bits64,
    /// A real number of 32 bits.
    Single,
    /// A real number of 64 bits.
    Double,
}

impl RecordedType {
    /// Returns the type of real numbers with this precision.
    pub fn real(precision: Precision) -> RecordedType {
        match precision {
            Precision::F32 => RecordedType::Single,
            Precision::F64 => RecordedType::Double,
        }
    }
}

/// An operation on recorded values. Results of operations on reals are rounded to the nearest number, comparisons with NaN are false, and integers
/// wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedOp {
    /// The sum of reals.
    Add,
    /// The difference of reals.
    Sub,
    /// The product of reals.
    Mul,
    /// The quotient of reals.
    Div,
    /// The negation of a real.
    Neg,
    /// The sum `a * b + c` of reals, rounded only once.
    Fma,
    /// The absolute value of a real.
    Magnitude,
    /// The absolute value of the first operand with the sign of the second.
    WithSign,
    /// The square root of a real.
    Root,
    /// The comparison `a < b` of reals.
    Less,
    /// The comparison `a <= b` of reals.
    AtMost,
    /// The comparison `a == b` of reals.
    Equals,
    /// The second operand if the first operand, a Boolean, is true, and the third operand otherwise.
    Select,
    /// The bits of a real.
    Bits,
    /// The real that is represented by these bits.
    FromBits,
    /// The real that is nearest to an unsigned integer.
    FromUnsigned,
    /// The real that is nearest to a signed integer in two's complement.
    FromSigned,
    /// A 32-bit real, converted to a 64-bit real.
    Widen,
    /// The 32-bit real that is nearest to a 64-bit real.
    Narrow,
    /// The bits that are set in both integers or Booleans.
    And,
    /// The bits that are set in at least one of two integers or Booleans.
    Or,
    /// The bits that are set in exactly one of two integers or Booleans.
    Xor,
    /// An integer, shifted left by this number of bits.
    ShiftLeft(u32),
    /// An integer, shifted right by this number of bits and filled with zeros.
    ShiftRight(u32),
    /// The sum of integers.
    Plus,
    /// The comparison `a < b` of unsigned integers.
    Below,
    /// True if the bit with this index is set in an integer.
    Has(u32),
    /// The upper half of the 64-bit product of an integer and this number.
    ProductHigh(u32),
    /// The lower half of the 64-bit product of an integer and this number.
    ProductLow(u32),
}

/// A value in a recording: an operand or the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedOperand {
    /// A constant, given by its bits. The constant is the same for every element.
    Known(RecordedType, u64),
    /// The input with this index in the recording.
    Input(usize),
    /// The result of the step with this index in the recording.
    Step(usize),
}

/// One operation of a recording, with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    /// The operation of the step.
    pub op: RecordedOp,
    /// The operands of the operation.
    pub operands: Vec<RecordedOperand>,
    /// The type of the result of the step.
    pub kind: RecordedType,
}

/// A function, recorded as a list of operations in the order of their evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The types of the inputs, in order.
    pub inputs: Vec<RecordedType>,
    /// The operations, in the order of their evaluation.
    pub steps: Vec<RecordedStep>,
    /// The value that the function returns.
    pub result: RecordedOperand,
}

/// The recorder to which recorded values append their operations.
#[derive(Debug, Default)]
pub struct Recorder {
    steps: RefCell<Vec<RecordedStep>>,
}

impl Recorder {
    /// Returns the value of the input with the index `at`.
    pub fn input<K: values::Kinded>(&self, at: usize) -> Value<'_, K> {
        Value::new(Some(self), RecordedOperand::Input(at))
    }

    fn push(&self, step: RecordedStep) -> RecordedOperand {
        let mut steps = self.steps.borrow_mut();
        if let Some(at) = steps.iter().position(|known| *known == step) {
            return RecordedOperand::Step(at);
        }
        steps.push(step);
        RecordedOperand::Step(steps.len() - 1)
    }

    fn finish(self, inputs: Vec<RecordedType>, result: RecordedOperand) -> Recording {
        Recording {
            inputs,
            steps: self.steps.into_inner(),
            result,
        }
    }
}

/// Records a function of one operand. `fused` states whether the processor has a fused multiply-add. The recording is valid for all arguments.
/// Returns `None` if the scalar operation is not approximated. The functions in [`rare`]
/// always use fused multiply-adds, because these give exact products.
pub fn unary(scalar: Scalar, precision: Precision, fused: bool) -> Option<Recording> {
    let recorder = Recorder::default();
    let result = match (precision, fused) {
        (Precision::F32, true) => one::<Fused, Single>(&recorder, scalar),
        (Precision::F32, false) => one::<Plain, Single>(&recorder, scalar),
        (Precision::F64, true) => one::<Fused, Double>(&recorder, scalar),
        (Precision::F64, false) => one::<Plain, Double>(&recorder, scalar),
    }?;
    Some(recorder.finish(vec![RecordedType::real(precision)], result))
}

fn one<'r, A: Arch, F: RecordedReal>(recorder: &'r Recorder, scalar: Scalar) -> Option<RecordedOperand> {
    let x: Value<'r, F> = recorder.input(0);
    let wide = |function: fn(Value<'r, Double>) -> Value<'r, Double>| F::narrow(function(F::widen(x)));
    let value = match scalar {
        Scalar::Cos => wide(|x| rare::turn(x).0).when(Cos::is_beyond::<A, _>(x), Cos::apply::<A, _>(x)),
        Scalar::Sin => wide(|x| rare::turn(x).1).when(Sin::is_beyond::<A, _>(x), Sin::apply::<A, _>(x)),
        Scalar::Digamma => wide(rare::digamma),
        Scalar::Lgamma => wide(rare::lgamma),
        Scalar::Trigamma => wide(rare::trigamma),
        _ => {
            let table = functions::table::<A, Value<'_, F>>();
            let (_, function) = table.into_iter().find(|(known, _)| *known == scalar)?;
            function(x)
        }
    };
    Some(value.operand())
}

/// Records a function of two operands in the same way as [`unary`]. Returns `None` for all operations except [`Scalar::Pow`].
pub fn binary(scalar: Scalar, precision: Precision) -> Option<Recording> {
    if scalar != Scalar::Pow {
        return None;
    }
    let recorder = Recorder::default();
    let result = match precision {
        Precision::F32 => power::<Single>(&recorder),
        Precision::F64 => power::<Double>(&recorder),
    };
    Some(recorder.finish(vec![RecordedType::real(precision); 2], result))
}

fn power<F: RecordedReal>(recorder: &Recorder) -> RecordedOperand {
    let input = |at| F::widen(recorder.input::<F>(at));
    F::narrow(rare::pow(input(0), input(1))).operand()
}

/// Records the generation of a uniform number on (0, 1). The inputs are words of 32 bits, in this order: the lower and the upper word of the key,
/// the index of the element divided by 4, draw, example, step, and the index of the element modulo 4.
pub fn uniform(precision: Precision, fused: bool) -> Recording {
    stream::<noise::Uniform>(precision, fused)
}

/// Records the generation of a standard normal number. The inputs are the same as in [`uniform`].
pub fn normal(precision: Precision, fused: bool) -> Recording {
    stream::<noise::StandardNormal>(precision, fused)
}

fn stream<N: NoiseLaw>(precision: Precision, fused: bool) -> Recording {
    let recorder = Recorder::default();
    let result = match (precision, fused) {
        (Precision::F32, true) => element::<N, Fused, Single>(&recorder),
        (Precision::F32, false) => element::<N, Plain, Single>(&recorder),
        (Precision::F64, true) => element::<N, Fused, Double>(&recorder),
        (Precision::F64, false) => element::<N, Plain, Double>(&recorder),
    };
    recorder.finish(vec![RecordedType::Bits32; 7], result)
}

fn element<N: NoiseLaw, A: Arch, F: RecordedReal>(recorder: &Recorder) -> RecordedOperand {
    let word = |at| recorder.input::<Bits32>(at);
    let words = noise::philox([word(2), word(3), word(4), word(5)], [word(0), word(1)]);
    let late = word(6).has(1);
    let (first, second) = (words[2].when(late, words[0]), words[3].when(late, words[1]));
    let (even, odd) = N::pair::<A, Value<'_, F>>(first, second);
    odd.when(word(6).has(0), even).operand()
}

/// Records one attempt in the loop that generates a gamma variate in `f64`. The two recordings return whether the attempt is accepted, and the
/// variate: see [`crate::approx::gamma`]. The inputs are the lower and the upper word of the attempt's key, the element, draw, example, step, and
/// the shape.
pub fn gamma_attempt() -> [Recording; 2] {
    let accepted = attempt(|accepted, _| accepted.operand());
    [accepted, attempt(|_, variate| variate.operand())]
}

type Wide<'r> = Value<'r, Double>;

fn attempt(choose: impl for<'r> Fn(Value<'r, Truth>, Wide<'r>) -> RecordedOperand) -> Recording {
    let recorder = Recorder::default();
    let word = |at| recorder.input::<Bits32>(at);
    let words = noise::philox([word(2), word(3), word(4), word(5)], [word(0), word(1)]);
    let (accepted, variate) = gamma::attempt(words, recorder.input::<Double>(6));
    let result = choose(accepted, variate);
    let inputs = [vec![RecordedType::Bits32; 6], vec![RecordedType::Double]].concat();
    recorder.finish(inputs, result)
}

/// Records the variate that is used if no attempt is accepted. The input is the shape.
pub fn gamma_fallback() -> Recording {
    let recorder = Recorder::default();
    let result = gamma::fallback(recorder.input::<Double>(0)).operand();
    recorder.finish(vec![RecordedType::Double], result)
}

/// Records the start of the series for the derivative of a variate. The two recordings return whether the series is used, and its first term. The
/// inputs are the shape and the variate.
pub fn gamma_series() -> [Recording; 2] {
    let of = |choose: fn(Value<'_, Truth>, Wide<'_>) -> RecordedOperand| {
        let recorder = Recorder::default();
        let (is_series, start) =
            gamma::series_start(recorder.input::<Double>(0), recorder.input::<Double>(1));
        let result = choose(is_series, start);
        recorder.finish(vec![RecordedType::Double; 2], result)
    };
    [
        of(|is_series, _| is_series.operand()),
        of(|_, start| start.operand()),
    ]
}

/// Records the derivative of a variate with respect to its shape. The inputs are the shape, the variate, and the sum of the series.
pub fn gamma_gradient() -> Recording {
    let recorder = Recorder::default();
    let input = |at| recorder.input::<Double>(at);
    let result = gamma::gradient(input(0), input(1), input(2)).operand();
    recorder.finish(vec![RecordedType::Double; 3], result)
}

#[cfg(test)]
mod tests;
