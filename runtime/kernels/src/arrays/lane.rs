//! What the array primitives need of a floating-point type, and of a processor: all of it free of branches.
//!
//! Note [One source, three versions]. The functions of [`super::functions`] are scalar code without branches, generic over
//! the precision and over [`Arch`]. The loops of [`super::blocks`] apply them to blocks of fixed length and are compiled
//! once per instruction set; the code generator turns each into vector code of that width. An element's value depends on
//! neither its position nor the length, because the last block is padded rather than treated apart.

use super::coefficients;
use std::fmt::Debug;
use std::hint::select_unpredictable;
use std::ops::{Add, Div, Mul, Neg, Sub};

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

/// One element.
pub trait Lane:
    Copy
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1/2.
    const HALF: Self;
    /// 1.
    const ONE: Self;
    /// 2.
    const TWO: Self;
    /// The smallest positive normal number.
    const SMALLEST: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Not a number.
    const NAN: Self;
    /// `1 / log 2`.
    const LOG2_E: Self;
    /// `log 2` with trailing zero bits, so that its products with small integers are exact.
    const LN2_HIGH: Self;
    /// The rest of `log 2`.
    const LN2_LOW: Self;
    /// Adding it rounds to an integer, which the low bits of the sum then hold.
    const ROUNDER: Self;
    /// The exponential is 0 below.
    const EXP_LOWEST: Self;
    /// The exponential is infinite above.
    const EXP_LARGEST: Self;
    /// `exp x - 1` is -1 to the last bit below.
    const EXPM1_LOWEST: Self;
    /// Functions with slope 1 at zero are their argument to the last bit below this magnitude.
    const TINY: Self;
    /// `2 / pi`.
    const TWO_OVER_PI: Self;
    /// `pi / 2` in three parts.
    const HALF_PI: [Self; 3];
    /// Angles up to here are reduced by [`Lane::HALF_PI`] without loss.
    const ANGLE_LARGEST: Self;
    /// The error function is 1 to the last bit above.
    const ERF_LARGEST: Self;
    /// The correction of `1 + x` does not matter above this exponent.
    const CORRECTED: Self;

    /// `self * factor + term`, rounded once where `A` can.
    fn fma<A: Arch>(self, factor: Self, term: Self) -> Self;
    /// `|self|`.
    fn magnitude(self) -> Self;
    /// `|self|` with the sign of `sign`.
    fn with_sign(self, sign: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// `2^n`, given `n + ROUNDER` with `n` a normal exponent.
    fn power_of_two(rounded: Self) -> Self;
    /// Whether the integer `n` has this bit, given `n + ROUNDER`.
    fn has_bit(rounded: Self, bit: u32) -> bool;
    /// `(m, k)` with `self = m 2^k` and `m` in `[sqrt(1/2), sqrt 2)`, for positive normal `self`.
    fn split(self) -> (Self, Self);
    /// `(m, k)` as [`Lane::split`], for subnormal numbers too.
    fn split_any(self) -> (Self, Self);
    /// `(exp r - 1 - r) / r^2` for `|r| <= log(2) / 2`.
    fn exp_rest<A: Arch>(r: Self) -> Self;
    /// `log(1 + f) + k log 2` for `1 + f` in `[sqrt(1/2), sqrt 2)`.
    fn log_reduced<A: Arch>(f: Self, k: Self) -> Self;
    /// `(cos, sin)` for angles of at most a quarter of pi.
    fn cos_sin_reduced<A: Arch>(angle: Self) -> (Self, Self);
    /// `log(1 + x) / x` for `x` from 0 to 1.
    fn log1p_slope<A: Arch>(x: Self) -> Self;
    /// `erf x / x`, by `x^2` for `|x| < 1`.
    fn erf_slope<A: Arch>(square: Self) -> Self;
    /// `exp(x^2) erfc x`, by `t = (x - 2) / (x + 2)` for `x` from 1 to [`Lane::ERF_LARGEST`].
    fn erfc_scaled<A: Arch>(t: Self) -> Self;
    /// `word + 1/2`, rounded once.
    fn from_word<A: Arch>(word: u32) -> Self;
    /// `number + 1/2`.
    fn from_signed(number: i32) -> Self;
    /// The number nearest to `value`.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;

    /// `if condition { self } else { other }` without a branch.
    #[inline(always)]
    fn when(self, condition: bool, other: Self) -> Self {
        select_unpredictable(condition, self, other)
    }
}

/// The polynomial with these coefficients, constant first.
#[inline(always)]
fn horner<A: Arch, T: Lane, const N: usize>(x: T, coefficients: [T; N]) -> T {
    let mut sum = coefficients[N - 1];
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = sum.fma::<A>(x, coefficients[at]);
    }
    sum
}

macro_rules! lane_operations {
    ($real:ident, $bits:ident, $mantissa:literal, $bias:literal) => {
        const ZERO: $real = 0.0;
        const HALF: $real = 0.5;
        const ONE: $real = 1.0;
        const TWO: $real = 2.0;
        const SMALLEST: $real = $real::MIN_POSITIVE;
        const INFINITY: $real = $real::INFINITY;
        const NAN: $real = $real::NAN;
        const LOG2_E: $real = std::$real::consts::LOG2_E;
        const TWO_OVER_PI: $real = std::$real::consts::FRAC_2_PI;
        const ROUNDER: $real = 1.5 * (1u64 << $mantissa) as $real;
        const TINY: $real = $real::EPSILON / 4.0;

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
        fn power_of_two(rounded: $real) -> $real {
            $real::from_bits((rounded.to_bits() << $mantissa).wrapping_add((1.0 as $real).to_bits()))
        }

        #[inline(always)]
        fn has_bit(rounded: $real, bit: u32) -> bool {
            rounded.to_bits() & (1 << bit) != 0
        }

        #[inline(always)]
        fn split(self) -> ($real, $real) {
            const LOWEST: $bits = std::$real::consts::FRAC_1_SQRT_2.to_bits();
            const INTEGER: $real = (1u64 << $mantissa) as $real;
            let shifted = self
                .to_bits()
                .wrapping_add((1.0 as $real).to_bits() - LOWEST);
            let mantissa = $real::from_bits((shifted & ((1 << $mantissa) - 1)).wrapping_add(LOWEST));
            let exponent = $real::from_bits((shifted >> $mantissa) | INTEGER.to_bits());
            (mantissa, exponent - (INTEGER + $bias))
        }

        #[inline(always)]
        fn split_any(self) -> ($real, $real) {
            let small = self < $real::MIN_POSITIVE;
            let raised = self * (1u64 << $mantissa) as $real;
            let (mantissa, exponent) = raised.when(small, self).split();
            (mantissa, exponent - ($mantissa as $real).when(small, 0.0))
        }

        #[inline(always)]
        fn from_f64(value: f64) -> $real {
            value as $real
        }

        #[inline(always)]
        fn to_f64(self) -> f64 {
            f64::from(self)
        }
    };
}

impl Lane for f32 {
    lane_operations!(f32, u32, 23, 127.0);

    const LN2_HIGH: f32 = 355.0 / 512.0;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    const EXP_LOWEST: f32 = -104.0;
    const EXP_LARGEST: f32 = 89.0;
    const EXPM1_LOWEST: f32 = -20.0;
    const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
    const ANGLE_LARGEST: f32 = 1e4;
    const ERF_LARGEST: f32 = 4.0;
    const CORRECTED: f32 = 60.0;

    #[inline(always)]
    fn exp_rest<A: Arch>(r: f32) -> f32 {
        horner::<A, f32, _>(r, coefficients::EXP_F32)
    }

    #[inline(always)]
    fn log_reduced<A: Arch>(f: f32, k: f32) -> f32 {
        let series = horner::<A, f32, _>(f, coefficients::LOG_F32);
        let square = f * f;
        let small = (square * f).fma::<A>(series, k * Self::LN2_LOW);
        let rest = square.fma::<A>(-0.5, small);
        k.fma::<A>(Self::LN2_HIGH, f + rest)
    }

    #[inline(always)]
    fn cos_sin_reduced<A: Arch>(angle: f32) -> (f32, f32) {
        let z = angle * angle;
        let sin = horner::<A, f32, _>(z, coefficients::SIN_F32);
        let cos = horner::<A, f32, _>(z, coefficients::COS_F32);
        (
            (z * z).fma::<A>(cos, z.fma::<A>(-0.5, 1.0)),
            (angle * z).fma::<A>(sin, angle),
        )
    }

    #[inline(always)]
    fn log1p_slope<A: Arch>(x: f32) -> f32 {
        horner::<A, f32, _>(x, coefficients::LOG1P_F32)
    }

    #[inline(always)]
    fn erf_slope<A: Arch>(square: f32) -> f32 {
        horner::<A, f32, _>(square, coefficients::ERF_F32)
    }

    #[inline(always)]
    fn erfc_scaled<A: Arch>(t: f32) -> f32 {
        horner::<A, f32, _>(t, coefficients::ERFC_F32)
    }

    #[inline(always)]
    fn from_word<A: Arch>(word: u32) -> f32 {
        ((word >> 16) as f32).fma::<A>(65_536.0, (word & 0xFFFF) as f32 + 0.5)
    }

    #[inline(always)]
    fn from_signed(number: i32) -> f32 {
        number as f32 + 0.5
    }
}

/// Logarithm after fdlibm's `e_log.c`: `log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2))` with `s = f / (2 + f)`.
impl Lane for f64 {
    lane_operations!(f64, u64, 52, 1023.0);

    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const EXP_LOWEST: f64 = -746.0;
    const EXP_LARGEST: f64 = 710.0;
    const EXPM1_LOWEST: f64 = -40.0;
    const HALF_PI: [f64; 3] = [
        std::f64::consts::FRAC_PI_2,
        6.123_233_995_736_766e-17,
        -1.497_384_904_859_169_8e-33,
    ];
    const ANGLE_LARGEST: f64 = 1e6;
    const ERF_LARGEST: f64 = 6.2;
    const CORRECTED: f64 = 100.0;

    #[inline(always)]
    fn exp_rest<A: Arch>(r: f64) -> f64 {
        horner::<A, f64, _>(r, coefficients::EXP_F64)
    }

    #[inline(always)]
    fn log_reduced<A: Arch>(f: f64, k: f64) -> f64 {
        let s = f / (2.0 + f);
        let z = s * s;
        let series = horner::<A, f64, _>(z, coefficients::LOG_F64);
        let half_square = 0.5 * f * f;
        let rest = s.fma::<A>(z.fma::<A>(series, half_square), k * Self::LN2_LOW);
        k * Self::LN2_HIGH - ((half_square - rest) - f)
    }

    #[inline(always)]
    fn cos_sin_reduced<A: Arch>(angle: f64) -> (f64, f64) {
        let z = angle * angle;
        let sin = horner::<A, f64, _>(z, coefficients::SIN_F64);
        let cos = horner::<A, f64, _>(z, coefficients::COS_F64);
        (
            (z * z).fma::<A>(cos, z.fma::<A>(-0.5, 1.0)),
            (angle * z).fma::<A>(sin, angle),
        )
    }

    #[inline(always)]
    fn log1p_slope<A: Arch>(x: f64) -> f64 {
        horner::<A, f64, _>(x, coefficients::LOG1P_F64)
    }

    #[inline(always)]
    fn erf_slope<A: Arch>(square: f64) -> f64 {
        horner::<A, f64, _>(square, coefficients::ERF_F64)
    }

    #[inline(always)]
    fn erfc_scaled<A: Arch>(t: f64) -> f64 {
        horner::<A, f64, _>(t, coefficients::ERFC_F64)
    }

    #[inline(always)]
    fn from_word<A: Arch>(word: u32) -> f64 {
        f64::from(word) + 0.5
    }

    #[inline(always)]
    fn from_signed(number: i32) -> f64 {
        f64::from(number) + 0.5
    }
}
