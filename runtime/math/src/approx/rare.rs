//! Functions that programs seldom call, computed in `f64`: powers, the log-gamma function and its derivatives, and sines of large angles. The
//! formulas are the same as in [`crate::special`], but the number of steps is fixed, and selections replace branches.
//!
//! Compared with exact reference values, the error of a power is at most `1e-15` times its value. The error of any other function is at most `4e-15`
//! times the size of the terms whose sum it computes. For negative arguments, these are the terms of the reflection formula.

use super::format::{Double, FloatFormat};
use super::functions::{log, log1p};
use super::lane::{Fused, Lane, Word, horner};
use super::noise::cos_sin;
use crate::special::zeta;
use std::f64::consts::PI;

/// The number of steps of the recurrence. It is large enough for the asymptotic series to be accurate after these steps.
const STEPS: usize = 10;

/// The number `2^52`. Every larger number is an integer.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The largest angle that is reduced to a quadrant by three subtractions.
const ANGLE_LARGEST: f64 = 1e13;

/// Evaluates a polynomial in `x`. The constant coefficient comes first.
fn series<T: Lane, const N: usize>(x: T, coefficients: [f64; N]) -> T {
    horner::<Fused, T, _, N>(x, coefficients)
}

/// Returns the integer nearest to `x`. `x` must be between 0 and [`INTEGERS`].
fn nearest<T: Lane>(x: T) -> T {
    (x + T::number(INTEGERS)) - T::number(INTEGERS)
}

/// An argument of the gamma function, or of one of its derivatives, after it was mapped to the range in which the asymptotic series are accurate.
struct Argument<T: Lane> {
    /// True if the argument was reflected to `1 - x`.
    reflected: T::Mask,
    /// True if the gamma function has a pole at the argument.
    pole: T::Mask,
    /// `(cos, sin)` of `pi x` for reflected arguments. Both numbers may have the wrong sign, but only together.
    turn: (T, T),
    /// The argument after reflection.
    x: T,
}

fn argument<T: Lane<Format = Double>>(x: T) -> Argument<T> {
    let reflected = x.at_most(T::zero());
    let magnitude = x.magnitude();
    let whole = magnitude.when(T::number(INTEGERS).at_most(magnitude), nearest(magnitude));
    let rest = magnitude - whole;
    // An angle above an eighth of a turn is subtracted from a quarter of a turn, which exchanges cosine and sine.
    let far = T::number(0.25).less(rest.magnitude());
    let folded = (T::number(0.5) - rest.magnitude()).when(far, rest.magnitude());
    let (cos, sin) = cos_sin::<Fused, T>(folded * T::number(PI));
    let (cos, sin) = (sin.when(far, cos), cos.when(far, sin));
    Argument {
        reflected,
        pole: reflected & !T::zero().less(rest.magnitude()),
        turn: (cos, (-sin).when(T::zero().less(rest), sin)),
        x: (T::one() - x).when(reflected, x),
    }
}

/// Adds 1 to the argument until it is at least [`STEPS`]. Returns the resulting argument. Also applies the fold `each`, beginning with `start`, to
/// all arguments before they are increased, and returns its result.
fn raised<T: Lane>(x: T, start: T, each: impl Fn(T, T) -> T) -> (T, T) {
    (0..STEPS).fold((x, start), |(z, gathered), _| {
        let small = z.less(T::number(STEPS as f64));
        let next = (z + T::one()).when(small, z);
        (next, each(gathered, z).when(small, gathered))
    })
}

/// Returns `log |Gamma(x)|`.
pub fn lgamma<T: Lane<Format = Double>>(x: T) -> T {
    let at = argument(x);
    let (z, product) = raised(at.x, T::one(), |product, z| product * z);
    let w = T::one() / (z * z);
    let rest = series(
        w,
        [
            1.0 / 12.0,
            -1.0 / 360.0,
            1.0 / 1260.0,
            -1.0 / 1680.0,
            1.0 / 1188.0,
            -691.0 / 360_360.0,
        ],
    ) / z;
    let stirling = (z - T::number(0.5)) * log::<Fused, T>(z) - z + T::number(0.5 * (2.0 * PI).ln()) + rest;
    let factor = (T::number(PI) * product / at.turn.1.magnitude()).when(at.reflected, product);
    let positive = stirling - log::<Fused, T>(factor);
    let value = near_zeros(at.x, (-positive).when(at.reflected, positive), at.reflected);
    let infinite = at.pole | x.magnitude().equals(T::number(f64::INFINITY));
    T::number(f64::INFINITY).when(infinite, value)
}

/// Corrects `value`, the computed logarithm of the gamma function. Near the zeros at 1 and 2, the terms of the recurrence would cancel, so the value
/// of a Taylor series around 1 is returned instead. Elsewhere, `value` is returned.
fn near_zeros<T: Lane<Format = Double>>(x: T, value: T, reflected: T::Mask) -> T {
    let mut coefficients = [0.0; 31];
    coefficients[0] = -0.577_215_664_901_532_9;
    for (k, coefficient) in (2i32..).zip(&mut coefficients[1..]) {
        *coefficient = if k % 2 == 0 { 1.0 } else { -1.0 } * zeta(k) / f64::from(k);
    }
    let (one, two) = (x - T::one(), x - T::number(2.0));
    let at_two = two.magnitude().less(T::number(0.2));
    let t = two.when(at_two, one);
    let near = (t.magnitude().less(T::number(0.2)) | at_two) & !reflected;
    let sum = t * series(t, coefficients);
    let step = log1p::<Fused, T>(two).when(at_two, T::zero());
    (sum + step).when(near, value)
}

/// Returns the derivative of [`lgamma`].
pub fn digamma<T: Lane<Format = Double>>(x: T) -> T {
    let at = argument(x);
    let (z, shift) = raised(at.x, T::zero(), |sum, z| sum + T::one() / z);
    let w = T::one() / (z * z);
    let coefficients = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
    ];
    let below_log = T::number(0.5) / z + w * series(w, coefficients);
    let value = log::<Fused, T>(z) - below_log - shift;
    let cotangent = at.turn.0 / at.turn.1;
    let value = (value - T::number(PI) * cotangent).when(at.reflected, value);
    T::number(f64::NAN).when(at.pole, value)
}

/// Returns the second derivative of [`lgamma`].
pub fn trigamma<T: Lane<Format = Double>>(x: T) -> T {
    let at = argument(x);
    let (z, shift) = raised(at.x, T::zero(), |sum, z| sum + T::one() / (z * z));
    let w = T::one() / (z * z);
    let coefficients = [
        1.0 / 6.0,
        -1.0 / 30.0,
        1.0 / 42.0,
        -1.0 / 30.0,
        5.0 / 66.0,
        -691.0 / 2730.0,
    ];
    let value = T::one() / z + T::number(0.5) * w + w / z * series(w, coefficients) + shift;
    let sin = at.turn.1;
    let value = (T::number(PI * PI) / (sin * sin) - value).when(at.reflected, value);
    T::number(f64::INFINITY).when(at.pole, value)
}

/// Returns the logarithm of a positive number as the sum of two numbers. The second number is at most half a unit in the last place of the first
/// number.
fn log_pair<T: Lane<Format = Double>>(a: T) -> (T, T) {
    let (m, k) = a.split_any();
    let f = m - T::one();
    let u = T::number(2.0) + f;
    let lost = f - (u - T::number(2.0));
    let s = f / u;
    let z = s * s;
    // `log m = 2 s + s R(s^2)`. The rounding error of the quotient `s` is too large to be ignored.
    let error = ((-s).fma::<Fused>(u, f) - s * lost) / u;
    let small = (s * z).fma::<Fused>(series(z, super::coefficients::LOG_F64), T::number(2.0) * error);
    let (whole, part) = (k * T::number(Double::LN2_HIGH), T::number(2.0) * s);
    let sum = whole + part;
    let rest = (part - (sum - whole)) + k.fma::<Fused>(T::number(Double::LN2_LOW), small);
    let high = sum + rest;
    (high, rest - (high - sum))
}

/// Returns `x ^ y`. If `x` is negative and `y` is not an integer, returns NaN.
pub fn pow<T: Lane<Format = Double>>(x: T, y: T) -> T {
    let (a, b) = (x.magnitude(), y.magnitude());
    let (infinity, zero, one) = (T::number(f64::INFINITY), T::zero(), T::one());
    let (high, low) = log_pair(a);
    let edge = infinity.when(a.equals(infinity), -infinity);
    let inside = !a.equals(infinity) & !a.equals(zero);
    let high = high.when(inside, edge);
    let product = y * high;
    let low = y.fma::<Fused>(low, y.fma::<Fused>(high, -product));
    let low = low.when(product.magnitude().less(T::number(1e3)), zero);
    let power = super::functions::exp::<Fused, T>(product);
    let power = power.fma::<Fused>(low, power).when(power.less(infinity), power);
    let power = one.when(a.equals(one), power);
    let (half, large) = (b * T::number(0.5), T::number(2.0 * INTEGERS).at_most(b));
    let integer = large | nearest(b).equals(b) | T::number(INTEGERS).at_most(b);
    let odd = integer & !large & !nearest(half).equals(half);
    let negative = x.bits().has(63);
    let power = (-power).when(negative & odd, power);
    let undefined = (negative & inside & !integer) | !x.equals(x) | !y.equals(y);
    let power = T::number(f64::NAN).when(undefined, power);
    one.when(y.equals(zero) | x.equals(one), power)
}

/// Returns the cosine and the sine of any angle.
pub fn turn<T: Lane<Format = Double>>(x: T) -> (T, T) {
    let far = T::number(ANGLE_LARGEST).less(x.magnitude());
    let (near_quadrant, near) = reduced(x);
    let (far_quadrant, rest) = reduced_far(x.magnitude());
    let negative = x.less(T::zero());
    let angle = (-rest).when(negative, rest).when(far, near);
    let far_quadrant = (-far_quadrant).when(negative, far_quadrant);
    let quadrant = far_quadrant.when(far, near_quadrant);
    let (cos, sin) = cos_sin::<Fused, T>(angle);
    let quadrant = (quadrant + T::rounder()).bits();
    let odd = quadrant.has(0);
    let (cos, sin) = (sin.when(odd, cos), cos.when(odd, sin));
    let finite = x.magnitude().less(T::number(f64::INFINITY));
    let (lost, next) = (T::number(f64::NAN), quadrant.plus(T::Bits::known(1)));
    (
        (-cos).when(next.has(1), cos).when(finite, lost),
        (-sin).when(quadrant.has(1), sin).when(finite, lost),
    )
}

/// Writes an angle as `x = n pi / 2 + r`, and returns `(n, r)`. The magnitude of the angle must be at most [`ANGLE_LARGEST`].
fn reduced<T: Lane<Format = Double>>(x: T) -> (T, T) {
    let n = x.fma::<Fused>(T::number(std::f64::consts::FRAC_2_PI), T::rounder()) - T::rounder();
    // The first difference is exact: it is below 2, and a multiple of the last bit of `pi / 2`.
    let angle = Double::HALF_PI
        .into_iter()
        .fold(x, |rest, part| (-n).fma::<Fused>(T::number(part), rest));
    (n, angle)
}

/// Returns the same as [`reduced`] for angles above [`ANGLE_LARGEST`], with `n` modulo 4. The method comes from Payne and Hanek (1983), "Radian
/// reduction for trigonometric functions". A bit of `2 / pi` is left out if its product with the angle is a multiple of 4, or too small for the
/// required accuracy.
fn reduced_far<T: Lane<Format = Double>>(x: T) -> (T, T) {
    let (_, k) = x.split();
    let passed = (k - T::number(55.0)) * T::number(1.0 / 24.0);
    let passed = passed.when(T::zero().less(passed), T::zero());
    let rounded = (passed - T::number(0.5 - 1.0 / 48.0)) + T::rounder();
    let passed = rounded - T::rounder();
    let digits = window(rounded.bits());
    let scaled = x * T::power_of_two(T::rounder() - T::number(24.0) * passed);
    let top = |x: T| T::from_bits(x.bits() & T::Bits::known(!((1 << 29) - 1)));
    let first = top(scaled);
    let second = top(scaled - first);
    let parts = [first, second, (scaled - first) - second];
    let (mut sum, mut low) = (T::zero(), T::zero());
    for (at, digit) in (1..).zip(digits) {
        for part in parts {
            let term = part * digit * T::number(0.5f64.powi(24 * at));
            let quarter = term * T::number(0.25);
            let turns = (quarter + T::rounder()) - T::rounder();
            // Every product of 48 bits with this magnitude or more is a multiple of 4.
            let large = T::number(2f64.powi(51)).at_most(term);
            let term = T::zero().when(large, term - T::number(4.0) * turns);
            // Adds `term` to `sum`, and accumulates the rounding error of the addition.
            let next = sum + term;
            let other = next - sum;
            low = low + ((sum - (next - other)) + (term - other));
            sum = next;
        }
    }
    let quarters = (sum + T::rounder()) - T::rounder();
    let (high, low) = (sum - quarters, low);
    let fraction = high + low;
    let lost = low - (fraction - high);
    let [half_pi, rest, _] = Double::HALF_PI.map(T::number);
    let product = fraction * half_pi;
    let error = fraction.fma::<Fused>(half_pi, -product);
    (
        quarters,
        product + (error + fraction.fma::<Fused>(rest, lost * half_pi)),
    )
}

/// The number of 24-bit digits of `2 / pi` that are used for a large angle.
const DIGITS: usize = 8;

/// Returns [`DIGITS`] digits of [`TWO_OVER_PI`]. The low bits of `place` hold the index of the first digit.
fn window<T: Lane<Format = Double>>(place: T::Bits) -> Vec<T> {
    let digit = |at: usize| T::number(f64::from(TWO_OVER_PI.get(at).copied().unwrap_or(0)));
    let mut digits: Vec<T> = (0..DIGITS + 63).map(digit).collect();
    for bit in (0..6).rev() {
        let step = 1 << bit;
        let count = DIGITS + step - 1;
        digits = (0..count)
            .map(|at| digits[at + step].when(place.has(bit), digits[at]))
            .collect();
    }
    digits
}

/// The digits of `2 / pi`, with 24 bits each.
#[rustfmt::skip]
const TWO_OVER_PI: [u32; 49] = [
    0xA2_F983, 0x6E_4E44, 0x15_29FC, 0x27_57D1, 0xF5_34DD, 0xC0_DB62, 0x95_993C, 0x43_9041,
    0xFE_5163, 0xAB_DEBB, 0xC5_61B7, 0x24_6E3A, 0x42_4DD2, 0xE0_0649, 0x2E_EA09, 0xD1_921C,
    0xFE_1DEB, 0x1C_B129, 0xA7_3EE8, 0x82_35F5, 0x2E_BB44, 0x84_E99C, 0x70_26B4, 0x5F_7E41,
    0x39_91D6, 0x39_8353, 0x39_F49C, 0x84_5F8B, 0xBD_F928, 0x3B_1FF8, 0x97_FFDE, 0x5_980F,
    0xEF_2F11, 0x8B_5A0A, 0x6D_1F6D, 0x36_7ECF, 0x27_CB09, 0xB7_4F46, 0x3F_669E, 0x5F_EA2D,
    0x75_27BA, 0xC7_EBE5, 0xF1_7B3D, 0x7_39F7, 0x8A_5292, 0xEA_6BFB, 0x5F_B11F, 0x8D_5D08,
    0x56_0330,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special;

    fn close(got: f64, want: f64, bound: f64, what: &str) {
        let same = got == want || (got.is_nan() && want.is_nan());
        assert!(
            same || (got - want).abs() <= bound,
            "{what}: {got:e} is not {want:e} to {bound:e}"
        );
    }

    /// Returns positive arguments of all orders of magnitude. Some tests negate them.
    fn points() -> impl Iterator<Item = f64> {
        let powers = (0..=4000).map(|i| 10f64.powf(f64::from(i) / 200.0 - 10.0));
        let near = (0..=4000).map(|i| f64::from(i) / 640.0 + 0.013);
        powers.chain(near)
    }

    #[test]
    fn gamma_functions_agree_with_the_reference() {
        for x in points() {
            let (value, scale) = (special::lgamma(x), 15.0 + x * (1.0 + x.ln().abs()));
            let zero = (x - 1.0).abs().min((x - 2.0).abs());
            let scale = if zero < 0.2 { value.abs() } else { scale };
            close(lgamma(x), value, 4e-15 * scale, &format!("lgamma {x}"));
            let want = special::digamma(x);
            close(
                digamma(x),
                want,
                4e-15 * (1.0 + want.abs()),
                &format!("digamma {x}"),
            );
            let want = special::trigamma(x);
            close(trigamma(x), want, 4e-15 * want.abs(), &format!("trigamma {x}"));
        }
    }

    /// For reflected arguments, the reference rounds `pi x` before it takes the sine. The error of the reference therefore grows with `x`, and is
    /// large near poles.
    #[test]
    fn reflected_arguments_agree_with_the_reference() {
        for x in points().filter(|x| *x < 30.0).map(|x| -x) {
            let distance = (x - x.round()).abs();
            let error = 1e-15 * (1.0 + x.abs()) / distance;
            let want = special::lgamma(x);
            close(
                lgamma(x),
                want,
                10.0 * error.max(1e-14) * (1.0 + want.abs()),
                &format!("lgamma {x}"),
            );
            let want = special::digamma(x);
            close(
                digamma(x),
                want,
                10.0 * error.max(1e-14) * (1.0 + want.abs()),
                &format!("digamma {x}"),
            );
            let want = special::trigamma(x);
            close(
                trigamma(x),
                want,
                10.0 * error.max(1e-14) * (1.0 + want.abs()),
                &format!("trigamma {x}"),
            );
        }
    }

    #[test]
    fn edges_agree_with_the_reference() {
        for x in [
            0.0,
            -0.0,
            1.0,
            2.0,
            -1.0,
            -7.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -1e300,
            1e300,
        ] {
            close(lgamma(x), special::lgamma(x), 1e288, &format!("lgamma {x}"));
            close(trigamma(x), special::trigamma(x), 0.0, &format!("trigamma {x}"));
            if x < 1e300 {
                close(digamma(x), special::digamma(x), 1e-15, &format!("digamma {x}"));
            }
        }
    }

    #[test]
    fn powers_agree_with_the_standard_library() {
        let bases = (-300..=300)
            .map(|i| 10f64.powf(f64::from(i) / 29.0))
            .flat_map(|x| [x, -x]);
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            5e-324,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let exponents = [
            0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.0,
            3.0,
            -3.0,
            7.3,
            -20.1,
            1e-9,
            301.0,
            1e15,
            9_007_199_254_740_991.0,
        ];
        for x in bases.chain(special) {
            for y in exponents.into_iter().chain(special) {
                let want = x.powf(y);
                close(
                    pow(x, y),
                    want,
                    1e-15 * want.abs() + 5e-324,
                    &format!("{x:e} ^ {y:e}"),
                );
            }
        }
    }

    #[test]
    fn large_angles_agree_with_the_standard_library() {
        for i in 0..20_000 {
            let x = 10f64.powf(f64::from(i) / 65.0 + 0.4) * if i % 2 == 0 { 1.0 } else { -1.0 };
            let (cos, sin) = turn(x);
            close(cos, x.cos(), 3e-16, &format!("cos {x}"));
            close(sin, x.sin(), 3e-16, &format!("sin {x}"));
        }
        // This is Kahan's hardest number: the double-precision number that is nearest to a multiple of `pi / 2`.
        let hardest = f64::from_bits(0x7506_AC5B_262C_A1FF);
        let (cos, sin) = turn(hardest);
        close(cos, hardest.cos(), 4e-15 * hardest.cos().abs(), "hardest");
        close(sin, hardest.sin(), 3e-16, "hardest");
        assert!(turn(f64::INFINITY).0.is_nan() && turn(f64::NEG_INFINITY).1.is_nan());
    }
}
