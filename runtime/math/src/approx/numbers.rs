//! Implements the element types for machine numbers.

use super::format::{Double, Single};
use super::lane::{Arch, Lane, Mask, Word};
use super::noise::Carrier;
use std::fmt::Debug;
use std::hint::select_unpredictable;

/// An element that is a machine number.
pub trait Number: Lane<Mask = bool, Half = u32> + Debug + PartialOrd + Send + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The smallest positive normal number.
    const SMALLEST: Self;

    /// Converts the number to `f64` without rounding.
    fn to_f64(self) -> f64;
}

impl Mask for bool {
    #[inline(always)]
    fn known(value: bool) -> bool {
        value
    }
}

macro_rules! words {
    ($($word:ident)*) => {$(
        impl Word for $word {
            type Mask = bool;

            #[inline(always)]
            fn known(value: u64) -> $word {
                value as $word
            }

            #[inline(always)]
            fn plus(self, other: $word) -> $word {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn below(self, other: $word) -> bool {
                self < other
            }

            #[inline(always)]
            fn has(self, bit: u32) -> bool {
                self & (1 << bit) != 0
            }

            #[inline(always)]
            fn when(self, condition: bool, other: $word) -> $word {
                select_unpredictable(condition, self, other)
            }
        }
    )*};
}

words!(u32 u64);

/// A 32-bit word is stored in a 64-bit element, so that the product of two words does not need vector shuffles. The upper half of the
/// element may hold arbitrary bits, because products and results read only the lower half.
impl Carrier for u64 {
    #[inline(always)]
    fn plus(self, number: u32) -> u64 {
        u64::from((self as u32).wrapping_add(number))
    }

    #[inline(always)]
    fn product(self, factor: u32) -> (u64, u64) {
        let product = (self & 0xFFFF_FFFF) * u64::from(factor);
        (product >> 32, product)
    }
}

macro_rules! numbers {
    ($($real:ident $format:ident $bits:ident;)*) => {$(
        impl Number for $real {
            const ZERO: $real = 0.0;
            const ONE: $real = 1.0;
            const SMALLEST: $real = $real::MIN_POSITIVE;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }

        impl Lane for $real {
            type Format = $format;
            type Mask = bool;
            type Bits = $bits;
            type Half = u32;

            #[inline(always)]
            fn number(value: f64) -> $real {
                value as $real
            }

            #[inline(always)]
            fn fma<A: Arch>(self, factor: $real, term: $real) -> $real {
                if A::FUSED {
                    self.mul_add(factor, term)
                } else {
                    self * factor + term
                }
            }

            #[inline(always)]
            fn magnitude(self) -> $real {
                self.abs()
            }

            #[inline(always)]
            fn with_sign(self, sign: $real) -> $real {
                self.copysign(sign)
            }

            #[inline(always)]
            fn root(self) -> $real {
                self.sqrt()
            }

            #[inline(always)]
            fn less(self, other: $real) -> bool {
                self < other
            }

            #[inline(always)]
            fn at_most(self, other: $real) -> bool {
                self <= other
            }

            #[inline(always)]
            fn equals(self, other: $real) -> bool {
                self == other
            }

            #[inline(always)]
            fn when(self, condition: bool, other: $real) -> $real {
                select_unpredictable(condition, self, other)
            }

            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }

            #[inline(always)]
            fn from_bits(bits: $bits) -> $real {
                $real::from_bits(bits)
            }

            #[inline(always)]
            fn from_unsigned(word: u32) -> $real {
                word as $real
            }

            #[inline(always)]
            fn from_signed(word: u32) -> $real {
                word as i32 as $real
            }
        }
    )*};
}

numbers! {
    f32 Single u32;
    f64 Double u64;
}
