//! The operations on an element that the functions need: arithmetic, comparisons that give masks, and its bits.

use super::format::Format;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// How products and sums combine on a processor.
pub trait Arch {
    /// Whether a fused multiply-add is one instruction.
    const FUSED: bool;
}

/// The instruction set that the compiler was told to assume.
pub struct Plain;

/// A processor with fused multiply-add.
pub struct Fused;

impl Arch for Plain {
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

impl Arch for Fused {
    const FUSED: bool = true;
}

/// A truth value for each element.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// The same for every element.
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
    /// The result of comparisons.
    type Mask: Mask;

    /// The same for every element; bits that do not fit are dropped.
    fn known(value: u64) -> Self;
    /// The sum, wrapping.
    fn plus(self, other: Self) -> Self;
    /// `self < other`.
    fn below(self, other: Self) -> Self::Mask;
    /// Returns whether a bit is set.
    fn has(self, bit: u32) -> Self::Mask;
    /// `if condition { self } else { other }` without a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
}

/// One element: a real number of some [`Format`].
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Its precision.
    type Format: Format;
    /// The result of comparisons; those with NaN are false.
    type Mask: Mask;
    /// Its bits.
    type Bits: Word<Mask = Self::Mask>;
    /// 32 random bits.
    type Half: Word<Mask = Self::Mask>;

    /// The number nearest to `value`, the same for every element.
    fn number(value: f64) -> Self;
    /// `self * factor + term`, rounded once where `A` can.
    fn fma<A: Arch>(self, factor: Self, term: Self) -> Self;
    /// `|self|`.
    fn magnitude(self) -> Self;
    /// `|self|` with the sign of `sign`.
    fn with_sign(self, sign: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// `self < other`.
    fn less(self, other: Self) -> Self::Mask;
    /// `self <= other`.
    fn at_most(self, other: Self) -> Self::Mask;
    /// `self == other`.
    fn equals(self, other: Self) -> Self::Mask;
    /// `if condition { self } else { other }` without a branch.
    fn when(self, condition: Self::Mask, other: Self) -> Self;
    /// Its bits.
    fn bits(self) -> Self::Bits;
    /// The number with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The number nearest to an unsigned integer.
    fn from_unsigned(word: Self::Half) -> Self;
    /// The number nearest to an integer in two's complement.
    fn from_signed(word: Self::Half) -> Self;

    /// 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::number(0.0)
    }

    /// 1.
    #[inline(always)]
    fn one() -> Self {
        Self::number(1.0)
    }

    /// Adding it rounds to an integer, which the low bits of the sum then hold.
    #[inline(always)]
    fn rounder() -> Self {
        Self::number(1.5 * (1u64 << Self::Format::MANTISSA) as f64)
    }

    /// `2^n`, given `n + rounder` with `n` a normal exponent.
    #[inline(always)]
    fn power_of_two(rounded: Self) -> Self {
        let one = Self::Bits::known(Self::Format::ONE);
        Self::from_bits((rounded.bits() << Self::Format::MANTISSA).plus(one))
    }

    /// `(m, k)` with `self = m 2^k` and `m` in `[sqrt(1/2), sqrt 2)`, for positive normal `self`.
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let (mantissa, one, lowest) = (
            Self::Format::MANTISSA,
            Self::Format::ONE,
            Self::Format::ROOT_OF_HALF,
        );
        // An integer added to this number is in its low bits.
        let integer = (1u64 << mantissa) as f64;
        let shifted = self.bits().plus(Self::Bits::known(one - lowest));
        let low = shifted & Self::Bits::known((1 << mantissa) - 1);
        let high = (shifted >> mantissa) | Self::number(integer).bits();
        (
            Self::from_bits(low.plus(Self::Bits::known(lowest))),
            Self::from_bits(high) - Self::number(integer + Self::Format::BIAS),
        )
    }

    /// `(m, k)` as [`Lane::split`], for subnormal numbers too.
    #[inline(always)]
    fn split_any(self) -> (Self, Self) {
        let small = self.less(Self::number(Self::Format::SMALLEST));
        let raised = self * Self::number((1u64 << Self::Format::MANTISSA) as f64);
        let (mantissa, exponent) = raised.when(small, self).split();
        let shift = Self::number(f64::from(Self::Format::MANTISSA)).when(small, Self::zero());
        (mantissa, exponent - shift)
    }
}

/// The polynomial with these coefficients, constant first.
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
