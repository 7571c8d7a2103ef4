//! The operations on elements that the functions use: arithmetic, comparisons that give masks, and access to bits.

use super::format::FloatFormat;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// The instructions of a processor that combine products and sums.
pub trait Arch {
    /// True if a fused multiply-add is one instruction.
    const FUSED: bool;
}

/// The instruction set for which this crate is compiled.
pub struct Plain;

/// A processor with fused multiply-add.
pub struct Fused;

impl Arch for Plain {
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

impl Arch for Fused {
    const FUSED: bool = true;
}

/// A Boolean for each element.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// Returns the same Boolean for every element.
    fn known(value: bool) -> Self;
}

/// An unsigned integer, of 32 or 64 bits.
pub trait Word:
    Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The type of comparisons.
    type Mask: Mask;

    /// Returns the same word for every element; bits that do not fit are dropped.
    fn known(value: u64) -> Self;
    /// Returns the wrapping sum.
    fn plus(self, other: Self) -> Self;
    /// Returns whether `self < other`.
    fn below(self, other: Self) -> Self::Mask;
    /// Returns whether a bit is set.
    fn has(self, bit: u32) -> Self::Mask;
    /// Returns `self` where the condition is true and `other` elsewhere, without a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
}

/// One element: a real number of some [`FloatFormat`].
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The precision of the element.
    type Format: FloatFormat;
    /// The type of comparisons. Comparisons with NaN are false.
    type Mask: Mask;
    /// The type of the element's bits.
    type Bits: Word<Mask = Self::Mask>;
    /// The type of 32 random bits.
    type Half: Word<Mask = Self::Mask>;

    /// Returns the number nearest to `value`, the same for every element.
    fn number(value: f64) -> Self;
    /// Returns `self * factor + term`, rounded once if `A` has a fused multiply-add.
    fn fma<A: Arch>(self, factor: Self, term: Self) -> Self;
    /// Returns `|self|`.
    fn magnitude(self) -> Self;
    /// Returns `|self|` with the sign of `sign`.
    fn with_sign(self, sign: Self) -> Self;
    /// Returns the square root.
    fn root(self) -> Self;
    /// Returns whether `self < other`.
    fn less(self, other: Self) -> Self::Mask;
    /// Returns whether `self <= other`.
    fn at_most(self, other: Self) -> Self::Mask;
    /// Returns whether `self == other`.
    fn equals(self, other: Self) -> Self::Mask;
    /// Returns `self` where the condition is true and `other` elsewhere, without a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
    /// Returns the bits of the element.
    fn bits(self) -> Self::Bits;
    /// Returns the number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// Returns the number nearest to an unsigned integer.
    fn from_unsigned(word: Self::Half) -> Self;
    /// Returns the number nearest to an integer in two's complement.
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

    /// Returns a number whose addition rounds to an integer; the low bits of the sum then hold the integer.
    #[inline(always)]
    fn rounder() -> Self {
        Self::number(1.5 * (1u64 << Self::Format::MANTISSA) as f64)
    }

    /// Returns `2^n`, given `n + rounder`, where `n` is the exponent of a normal number.
    #[inline(always)]
    fn power_of_two(rounded: Self) -> Self {
        let one = Self::Bits::known(Self::Format::ONE);
        Self::from_bits((rounded.bits() << Self::Format::MANTISSA).plus(one))
    }

    /// Returns `(m, k)` with `self = m 2^k` and `m` in `[sqrt(1/2), sqrt 2)`, for positive normal `self`.
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let (mantissa, one, lowest) = (
            Self::Format::MANTISSA,
            Self::Format::ONE,
            Self::Format::ROOT_OF_HALF,
        );
        // An integer added to this number is in the low bits of the sum.
        let integer = (1u64 << mantissa) as f64;
        let shifted = self.bits().plus(Self::Bits::known(one - lowest));
        let low = shifted & Self::Bits::known((1 << mantissa) - 1);
        let high = (shifted >> mantissa) | Self::number(integer).bits();
        (
            Self::from_bits(low.plus(Self::Bits::known(lowest))),
            Self::from_bits(high) - Self::number(integer + Self::Format::BIAS),
        )
    }

    /// Returns `(m, k)` as [`Lane::split`] does, for subnormal numbers too.
    #[inline(always)]
    fn split_any(self) -> (Self, Self) {
        let small = self.less(Self::number(Self::Format::SMALLEST));
        let raised = self * Self::number((1u64 << Self::Format::MANTISSA) as f64);
        let (mantissa, exponent) = raised.when(small, self).split();
        let shift = Self::number(f64::from(Self::Format::MANTISSA)).when(small, Self::zero());
        (mantissa, exponent - shift)
    }
}

/// Evaluates the polynomial with these coefficients, constant first.
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
