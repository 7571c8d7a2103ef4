//! Recorded values. A value is either a constant, or a handle to a recorder to which it appends operations.

use super::{RecordedOp, RecordedOperand, RecordedStep, RecordedType, Recorder, evaluate};
use crate::approx::format::{Double, FloatFormat, Single};
use crate::approx::lane::{Arch, Lane, Mask, Word};
use crate::approx::noise::Carrier;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// The type of recorded Booleans.
pub struct Truth;

/// The type of recorded unsigned integers with 32 bits.
pub struct Bits32;

/// The type of recorded unsigned integers with 64 bits.
pub struct Bits64;

/// A Rust type that stands for a [`RecordedType`].
pub trait Kinded {
    /// The recorded type that this Rust type stands for.
    const KIND: RecordedType;
}

/// The types of recorded unsigned integers.
pub trait Integer: Kinded {}

/// The types of recorded real numbers.
pub trait RecordedReal: Kinded + FloatFormat {
    /// The type of integers that have as many bits as these reals.
    type Bits: Integer;

    /// Converts a real to the same number in 64 bits.
    fn widen(value: Value<'_, Self>) -> Value<'_, Double>
    where
        Self: Sized;
    /// Rounds a 64-bit real to the nearest number of this type.
    fn narrow(value: Value<'_, Double>) -> Value<'_, Self>
    where
        Self: Sized;
}

macro_rules! kinds {
    ($($tag:ident)*) => {$(
        impl Kinded for $tag {
            const KIND: RecordedType = RecordedType::$tag;
        }
    )*};
}

kinds!(Truth Bits32 Bits64 Single Double);

impl Integer for Bits32 {}
impl Integer for Bits64 {}

impl RecordedReal for Single {
    type Bits = Bits32;

    fn widen(value: Value<'_, Single>) -> Value<'_, Double> {
        value.one(RecordedOp::Widen)
    }

    fn narrow(value: Value<'_, Double>) -> Value<'_, Single> {
        value.one(RecordedOp::Narrow)
    }
}

impl RecordedReal for Double {
    type Bits = Bits64;

    fn widen(value: Value<'_, Double>) -> Value<'_, Double> {
        value
    }

    fn narrow(value: Value<'_, Double>) -> Value<'_, Double> {
        value
    }
}

/// A recorded value of type `K`.
pub struct Value<'r, K> {
    recorder: Option<&'r Recorder>,
    operand: RecordedOperand,
    kind: PhantomData<K>,
}

impl<K> Clone for Value<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Value<'_, K> {}

impl<'r, K: Kinded> Value<'r, K> {
    pub(super) fn new(recorder: Option<&'r Recorder>, operand: RecordedOperand) -> Value<'r, K> {
        Value {
            recorder,
            operand,
            kind: PhantomData,
        }
    }

    /// Returns the operand that refers to this value in the recording.
    pub fn operand(self) -> RecordedOperand {
        self.operand
    }

    fn bits(bits: u64) -> Value<'r, K> {
        Value::new(None, RecordedOperand::Known(K::KIND, bits))
    }

    /// Applies an operation to this value and to `others`. `recorders` are the recorders of `others`. If all operands are
    /// constants, the operation is evaluated immediately.
    fn record<R: Kinded>(
        self,
        op: RecordedOp,
        others: &[RecordedOperand],
        recorders: &[Option<&'r Recorder>],
    ) -> Value<'r, R> {
        let operands = [&[self.operand], others].concat();
        let recorder = recorders.iter().fold(self.recorder, |one, other| one.or(*other));
        let operand = match recorder {
            Some(recorder) => recorder.push(RecordedStep {
                op,
                operands,
                kind: R::KIND,
            }),
            None => RecordedOperand::Known(R::KIND, evaluate::known(op, R::KIND, &operands)),
        };
        Value::new(recorder, operand)
    }

    fn one<R: Kinded>(self, op: RecordedOp) -> Value<'r, R> {
        self.record(op, &[], &[])
    }

    fn two<L: Kinded, R: Kinded>(self, op: RecordedOp, other: Value<'r, L>) -> Value<'r, R> {
        self.record(op, &[other.operand], &[other.recorder])
    }

    fn three<L: Kinded, R: Kinded>(
        self,
        op: RecordedOp,
        second: Value<'r, L>,
        third: Value<'r, L>,
    ) -> Value<'r, R> {
        let recorders = [second.recorder, third.recorder];
        self.record(op, &[second.operand, third.operand], &recorders)
    }
}

impl<'r> Value<'r, Truth> {
    fn select<K: Kinded>(self, one: Value<'r, K>, other: Value<'r, K>) -> Value<'r, K> {
        match self.operand {
            RecordedOperand::Known(_, 0) => other,
            RecordedOperand::Known(..) => one,
            RecordedOperand::Input(_) | RecordedOperand::Step(_) => {
                self.three(RecordedOp::Select, one, other)
            }
        }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $bound:ident $op:ident;)*) => {$(
        impl<'r, K: $bound> $trait for Value<'r, K> {
            type Output = Value<'r, K>;

            fn $method(self, other: Value<'r, K>) -> Value<'r, K> {
                self.two(RecordedOp::$op, other)
            }
        }
    )*};
}

operators! {
    Add add RecordedReal Add;
    Sub sub RecordedReal Sub;
    Mul mul RecordedReal Mul;
    Div div RecordedReal Div;
    BitAnd bitand Kinded And;
    BitOr bitor Kinded Or;
    BitXor bitxor Kinded Xor;
}

impl<'r, K: RecordedReal> Neg for Value<'r, K> {
    type Output = Value<'r, K>;

    fn neg(self) -> Value<'r, K> {
        self.one(RecordedOp::Neg)
    }
}

impl<'r, K: Kinded> Not for Value<'r, K> {
    type Output = Value<'r, K>;

    fn not(self) -> Value<'r, K> {
        self.two(RecordedOp::Xor, Value::<K>::bits(ones(K::KIND)))
    }
}

/// Returns a word of this type with every bit set.
fn ones(kind: RecordedType) -> u64 {
    match kind {
        RecordedType::Truth => 1,
        RecordedType::Bits32 | RecordedType::Single => u64::from(u32::MAX),
        RecordedType::Bits64 | RecordedType::Double => u64::MAX,
    }
}

impl<'r, K: Integer> Shl<u32> for Value<'r, K> {
    type Output = Value<'r, K>;

    fn shl(self, bits: u32) -> Value<'r, K> {
        self.one(RecordedOp::ShiftLeft(bits))
    }
}

impl<'r, K: Integer> Shr<u32> for Value<'r, K> {
    type Output = Value<'r, K>;

    fn shr(self, bits: u32) -> Value<'r, K> {
        self.one(RecordedOp::ShiftRight(bits))
    }
}

impl Mask for Value<'_, Truth> {
    fn known(value: bool) -> Self {
        Value::bits(u64::from(value))
    }
}

impl<'r, K: Integer> Word for Value<'r, K> {
    type Mask = Value<'r, Truth>;

    fn known(value: u64) -> Self {
        Value::bits(value & ones(K::KIND))
    }

    fn plus(self, other: Self) -> Self {
        self.two(RecordedOp::Plus, other)
    }

    fn below(self, other: Self) -> Value<'r, Truth> {
        self.two(RecordedOp::Below, other)
    }

    fn has(self, bit: u32) -> Value<'r, Truth> {
        self.one(RecordedOp::Has(bit))
    }

    fn when(self, condition: Value<'r, Truth>, other: Self) -> Self {
        condition.select(self, other)
    }
}

impl Carrier for Value<'_, Bits32> {
    fn plus(self, number: u32) -> Self {
        self.two(RecordedOp::Plus, Self::bits(u64::from(number)))
    }

    fn product(self, factor: u32) -> (Self, Self) {
        (
            self.one(RecordedOp::ProductHigh(factor)),
            self.one(RecordedOp::ProductLow(factor)),
        )
    }
}

impl<'r, F: RecordedReal> Lane for Value<'r, F> {
    type Format = F;
    type Mask = Value<'r, Truth>;
    type Bits = Value<'r, F::Bits>;
    type Half = Value<'r, Bits32>;

    fn number(value: f64) -> Self {
        Value::bits(evaluate::nearest(F::KIND, value))
    }

    fn fma<A: Arch>(self, factor: Self, term: Self) -> Self {
        if A::FUSED {
            self.three(RecordedOp::Fma, factor, term)
        } else {
            self * factor + term
        }
    }

    fn magnitude(self) -> Self {
        self.one(RecordedOp::Magnitude)
    }

    fn with_sign(self, sign: Self) -> Self {
        self.two(RecordedOp::WithSign, sign)
    }

    fn root(self) -> Self {
        self.one(RecordedOp::Root)
    }

    fn less(self, other: Self) -> Self::Mask {
        self.two(RecordedOp::Less, other)
    }

    fn at_most(self, other: Self) -> Self::Mask {
        self.two(RecordedOp::AtMost, other)
    }

    fn equals(self, other: Self) -> Self::Mask {
        self.two(RecordedOp::Equals, other)
    }

    fn when(self, condition: Self::Mask, other: Self) -> Self {
        condition.select(self, other)
    }

    fn bits(self) -> Self::Bits {
        self.one(RecordedOp::Bits)
    }

    fn from_bits(bits: Self::Bits) -> Self {
        bits.one(RecordedOp::FromBits)
    }

    fn from_unsigned(word: Self::Half) -> Self {
        word.one(RecordedOp::FromUnsigned)
    }

    fn from_signed(word: Self::Half) -> Self {
        word.one(RecordedOp::FromSigned)
    }
}
