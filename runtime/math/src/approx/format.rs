//! The two floating-point precisions. Each precision has its own constants, and its own version of every formula that depends on the
//! number of digits.

use super::coefficients;
use super::lane::{Arch, Lane, Word, horner};

/// A floating-point precision.
pub trait FloatFormat {
    /// The number of stored mantissa bits.
    const MANTISSA: u32;
    /// The number that is added to an exponent before it is stored.
    const BIAS: f64;
    /// The bits that represent 1.
    const ONE: u64;
    /// The bits that represent `sqrt(1/2)`.
    const ROOT_OF_HALF: u64;
    /// The smallest positive normal number.
    const SMALLEST: f64;
    /// If the magnitude of `x` is below this number, every function with `f(0) = 0` and slope 1 at zero returns `x` to the last bit.
    const TINY: f64;
    /// The leading digits of `log 2`, followed by zero bits. Products of this number with small integers are exact.
    const LN2_HIGH: f64;
    /// The remaining digits of `log 2`: the digits that [`FloatFormat::LN2_HIGH`] leaves out.
    const LN2_LOW: f64;
    /// If the argument is below this number, its exponential is 0.
    const EXP_LOWEST: f64;
    /// If the argument is above this number, its exponential is infinite.
    const EXP_LARGEST: f64;
    /// If the argument is below this number, `exp x - 1` is -1 to the last bit.
    const EXPM1_LOWEST: f64;
    /// Three numbers whose sum is `pi / 2` with extended precision.
    const HALF_PI: [f64; 3];
    /// The largest angle that can be reduced with [`FloatFormat::HALF_PI`] without loss of accuracy.
    const ANGLE_LARGEST: f64;
    /// If the argument is above this number, the complement of the error function is 0.
    const ERFC_LARGEST: f64;
    /// If the exponent of `1 + x` is above this number, correcting for the rounding error of `1 + x` does not change the logarithm.
    const CORRECTED: f64;

    /// Returns `(exp r - 1 - r) / r^2` for `|r| <= log(2) / 2`.
    fn exp_rest<A: Arch, T: Lane<Format = Self>>(r: T) -> T;
    /// Returns `log(1 + f) + k log 2` for `1 + f` in `[sqrt(1/2), sqrt 2)`.
    fn log_reduced<A: Arch, T: Lane<Format = Self>>(f: T, k: T) -> T;
    /// Returns two functions of the squared angle `z`. For an angle `a = z^(1/2)` of at most `pi / 4`, the functions are
    /// `(sin a / a - 1) / z` and `((cos a - 1) / z + 1/2) / z`.
    fn turn_rests<A: Arch, T: Lane<Format = Self>>(z: T) -> (T, T);
    /// Returns `log(1 + x) / x` for `x` from 0 to 1.
    fn log1p_slope<A: Arch, T: Lane<Format = Self>>(x: T) -> T;
    /// Returns `erf x / x` as a function of `x^2`, for `|x| < 1/2`.
    fn erf_slope<A: Arch, T: Lane<Format = Self>>(square: T) -> T;
    /// Returns `exp(x^2) erfc x (x + 3)` as a function of `t = (x - 3) / (x + 3)`, for `x` from 1/2 to [`FloatFormat::ERFC_LARGEST`].
    fn erfc_scaled<A: Arch, T: Lane<Format = Self>>(t: T) -> T;
    /// Returns `word + 1/2`. The result is rounded only once.
    fn middle<A: Arch, T: Lane<Format = Self>>(word: T::Half) -> T;
}

/// Numbers of 32 bits.
pub struct Single;

/// Numbers of 64 bits.
pub struct Double;

macro_rules! polynomials {
    ($($name:ident $table:ident;)*) => {$(
        #[inline(always)]
        fn $name<A: Arch, T: Lane<Format = Self>>(x: T) -> T {
            horner::<A, T, _, _>(x, coefficients::$table)
        }
    )*};
}

impl FloatFormat for Single {
    const MANTISSA: u32 = 23;
    const BIAS: f64 = 127.0;
    const ONE: u64 = 1f32.to_bits() as u64;
    const ROOT_OF_HALF: u64 = std::f32::consts::FRAC_1_SQRT_2.to_bits() as u64;
    const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
    const TINY: f64 = f32::EPSILON as f64 / 4.0;
    const LN2_HIGH: f64 = 355.0 / 512.0;
    const LN2_LOW: f64 = -2.121_944_4e-4f32 as f64;
    const EXP_LOWEST: f64 = -104.0;
    const EXP_LARGEST: f64 = 89.0;
    const EXPM1_LOWEST: f64 = -20.0;
    const HALF_PI: [f64; 3] = [
        std::f32::consts::FRAC_PI_2 as f64,
        -4.371_139e-8f32 as f64,
        -1.715_124_5e-15f32 as f64,
    ];
    const ANGLE_LARGEST: f64 = 1e4;
    const ERFC_LARGEST: f64 = 10.5;
    const CORRECTED: f64 = 60.0;

    polynomials! {
        exp_rest EXP_F32;
        log1p_slope LOG1P_F32;
        erf_slope ERF_F32;
        erfc_scaled ERFC_F32;
    }

    #[inline(always)]
    fn log_reduced<A: Arch, T: Lane<Format = Self>>(f: T, k: T) -> T {
        let series = horner::<A, T, _, _>(f, coefficients::LOG_F32);
        let square = f * f;
        let small = (square * f).fma::<A>(series, k * T::number(Self::LN2_LOW));
        let rest = square.fma::<A>(T::number(-0.5), small);
        k.fma::<A>(T::number(Self::LN2_HIGH), f + rest)
    }

    #[inline(always)]
    fn turn_rests<A: Arch, T: Lane<Format = Self>>(z: T) -> (T, T) {
        let sin = horner::<A, T, _, _>(z, coefficients::SIN_F32);
        (sin, horner::<A, T, _, _>(z, coefficients::COS_F32))
    }

    #[inline(always)]
    fn middle<A: Arch, T: Lane<Format = Self>>(word: T::Half) -> T {
        let low = T::from_unsigned(word & T::Half::known(0xFFFF)) + T::number(0.5);
        T::from_unsigned(word >> 16).fma::<A>(T::number(65_536.0), low)
    }
}

/// The logarithm is computed as in `e_log.c` of fdlibm: `log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2))` with `s = f / (2 + f)`.
impl FloatFormat for Double {
    const MANTISSA: u32 = 52;
    const BIAS: f64 = 1023.0;
    const ONE: u64 = 1f64.to_bits();
    const ROOT_OF_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const SMALLEST: f64 = f64::MIN_POSITIVE;
    const TINY: f64 = f64::EPSILON / 4.0;
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
    const ERFC_LARGEST: f64 = 28.0;
    const CORRECTED: f64 = 100.0;

    polynomials! {
        exp_rest EXP_F64;
        log1p_slope LOG1P_F64;
        erf_slope ERF_F64;
        erfc_scaled ERFC_F64;
    }

    #[inline(always)]
    fn log_reduced<A: Arch, T: Lane<Format = Self>>(f: T, k: T) -> T {
        let s = f / (T::number(2.0) + f);
        let z = s * s;
        let series = horner::<A, T, _, _>(z, coefficients::LOG_F64);
        let half_square = T::number(0.5) * f * f;
        let rest = s.fma::<A>(z.fma::<A>(series, half_square), k * T::number(Self::LN2_LOW));
        k * T::number(Self::LN2_HIGH) - ((half_square - rest) - f)
    }

    #[inline(always)]
    fn turn_rests<A: Arch, T: Lane<Format = Self>>(z: T) -> (T, T) {
        let sin = horner::<A, T, _, _>(z, coefficients::SIN_F64);
        (sin, horner::<A, T, _, _>(z, coefficients::COS_F64))
    }

    #[inline(always)]
    fn middle<A: Arch, T: Lane<Format = Self>>(word: T::Half) -> T {
        T::from_unsigned(word) + T::number(0.5)
    }
}
