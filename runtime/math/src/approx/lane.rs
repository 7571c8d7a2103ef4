//! The operations on elements that the functions use: arithmetic, comparisons that return masks, and access to
//! bits.

use super::format::FloatFormat;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// The properties of a processor's instruction set that affect the results of products and sums.
pub trait Arch {
    /// True if the processor computes a fused multiply-add with one instruction.
    const FUSED: bool;
}

/// The instruction set that this crate is compiled for.
pub struct Plain;

/// An instruction set with fused multiply-add.
pub struct Fused;

impl Arch for Plain {
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

impl Arch for Fused {
    const FUSED: bool = true;
}

/// A mask: one Boolean per element.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// Returns a mask with the same Boolean for every element.
    fn known(value: bool) -> Self;
}

/// An unsigned integer with 32 or 64 bits.
pub trait Word:
    Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The type of the masks that comparisons return.
    type Mask: Mask;

    /// Returns the same word for every element. Bits of `value` that do not fit are dropped.
    fn known(value: u64) -> Self;
    /// Returns the sum. It wraps around on overflow.
    fn plus(self, other: Self) -> Self;
    /// Returns whether `self < other`.
    fn below(self, other: Self) -> Self::Mask;
    /// Returns whether the bit with this index is set.
    fn has(self, bit: u32) -> Self::Mask;
    /// Returns `self` where the condition is true, and `other` elsewhere. The selection does not need a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
}

/// One element: a real number in some [`FloatFormat`].
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The precision of the elements.
    type Format: FloatFormat;
    /// The type of the masks that comparisons return. A comparison with NaN is false.
    type Mask: Mask;
    /// The type of the words that hold the bits of an element.
    type Bits: Word<Mask = Self::Mask>;
    /// The type of the words that hold 32 random bits.
    type Half: Word<Mask = Self::Mask>;

    /// Returns the number of this precision that is nearest to `value`, for every element.
    fn number(value: f64) -> Self;
    /// Returns `self * factor + term`. If `A` has a fused multiply-add, the result is rounded only once.
    fn fma<A: Arch>(self, factor: Self, term: Self) -> Self;
    /// Returns `|self|`.
    fn magnitude(self) -> Self;
    /// Returns `|self|` with the sign of `sign`.
    fn with_sign(self, sign: Self) -> Self;
    /// Returns the square root of `self`.
    fn root(self) -> Self;
    /// Returns whether `self < other`.
    fn less(self, other: Self) -> Self::Mask;
    /// Returns whether `self <= other`.
    fn at_most(self, other: Self) -> Self::Mask;
    /// Returns whether `self == other`.
    fn equals(self, other: Self) -> Self::Mask;
    /// Returns `self` where the condition is true, and `other` elsewhere. The selection does not need a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
    /// Returns the bits of the element.
    fn bits(self) -> Self::Bits;
    /// Returns the number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// Returns the number of this precision that is nearest to an unsigned integer.
    fn from_unsigned(word: Self::Half) -> Self;
    /// Returns the number of this precision that is nearest to a signed integer in two's complement.
    fn from_signed(word: Self::Half) -> Self;

    /// Returns 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::number(0.0)
    }

    /// Returns 1.
    #[inline(always)]
    fn one() -> Self {
        Self::number(1.0)
    }

    /// Returns a large number. Adding this number to another rounds the sum to an integer, and the low bits of the
    /// sum hold this integer.
    #[inline(always)]
    fn rounder() -> Self {
        Self::number(1.5 * (1u64 << Self::Format::MANTISSA) as f64)
    }

    /// Returns `2^n`. The argument is `n + rounder`, and `2^n` must be a normal number.
    #[inline(always)]
    fn power_of_two(rounded: Self) -> Self {
        let one = Self::Bits::known(Self::Format::ONE);
        Self::from_bits((rounded.bits() << Self::Format::MANTISSA).plus(one))
    }

    /// Writes a positive normal number as `m 2^k`, with `m` in `[sqrt(1/2), sqrt 2)`. Returns `(m, k)`.
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let mantissa = Self::Format::MANTISSA;
        let one = Self::Format::ONE;
        let lowest = Self::Format::ROOT_OF_HALF;
        // After a small integer is added to this number, the low bits of the sum hold the integer.
        let integer = (1u64 << mantissa) as f64;
        let shifted = self.bits().plus(Self::Bits::known(one - lowest));
        let low = shifted & Self::Bits::known((1 << mantissa) - 1);
        let high = (shifted >> mantissa) | Self::number(integer).bits();
        (
            Self::from_bits(low.plus(Self::Bits::known(lowest))),
            Self::from_bits(high) - Self::number(integer + Self::Format::BIAS),
        )
    }

    /// Returns the same pair `(m, k)` as [`Lane::split`], but also accepts subnormal numbers.
    #[inline(always)]
    fn split_any(self) -> (Self, Self) {
        let small = self.less(Self::number(Self::Format::SMALLEST));
        let raised = self * Self::number((1u64 << Self::Format::MANTISSA) as f64);
        let (mantissa, exponent) = raised.when(small, self).split();
        let shift = Self::number(f64::from(Self::Format::MANTISSA)).when(small, Self::zero());
        (mantissa, exponent - shift)
    }
}

/// Evaluates a polynomial. The constant coefficient comes first.
#[inline(always)]
pub fn horner<A: Arch, T: Lane, C: Copy + Into<f64>, const N: usize>(x: T, coefficients: [C; N]) -> T {
    let mut sum = T::number(coefficients[N - 1].into());
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = sum.fma::<A>(x, T::number(coefficients[at].into()));
    }
    sum
}
