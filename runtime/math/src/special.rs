//! Special functions in `f64`. They are the reference for every backend.

use std::f64::consts::PI;

/// Returns the larger of two numbers. Returns NaN if either number is NaN.
pub fn max(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        x.max(y)
    }
}

/// Returns the sign of `x` as -1, 0 or 1. Returns NaN if `x` is NaN.
pub fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

/// Returns `1 / (1 + exp(-x))` without overflow.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// Returns `log (1 + exp x)` without overflow.
pub fn softplus(x: f64) -> f64 {
    max(x, 0.0) + (-x.abs()).exp().ln_1p()
}

/// Returns `log |Gamma(x)|`. Stirling's series is used above 10, the recurrence below 10, and the reflection formula for negative `x`
/// (Abramowitz and Stegun 6.1.41, 6.1.17). The absolute error is below 2e-15 times the size of the terms whose sum is computed.
pub fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x <= 0.0 {
        if x == x.floor() {
            return f64::INFINITY;
        }
        return (PI / (PI * x).sin().abs()).ln() - lgamma(1.0 - x);
    }
    if x == f64::INFINITY {
        return x;
    }
    if x == 1.0 || x == 2.0 {
        return 0.0;
    }
    // Near the zeros at 1 and 2, the terms of the recurrence would cancel, so a Taylor series is used.
    if (x - 1.0).abs() < 0.2 {
        return lgamma_near_one(x - 1.0);
    }
    if (x - 2.0).abs() < 0.2 {
        return lgamma_near_one(x - 2.0) + (x - 2.0).ln_1p();
    }
    let mut z = x;
    let mut product = 1.0;
    while z < 10.0 {
        product *= z;
        z += 1.0;
    }
    stirling(z) - product.ln()
}

fn stirling(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let series = (1.0 / 12.0
        - w * (1.0 / 360.0
            - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w * (1.0 / 1188.0 - w * (691.0 / 360_360.0))))))
        / z;
    (z - 0.5) * z.ln() - z + 0.5 * (2.0 * PI).ln() + series
}

/// Computes `lgamma(1 + t) = -gamma t + sum_{k >= 2} zeta(k) (-t)^k / k` (Abramowitz and Stegun 6.1.33).
fn lgamma_near_one(t: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let mut sum = -EULER * t;
    let mut power = -t;
    for k in 2..32 {
        power *= -t;
        sum += zeta(k) * power / f64::from(k);
    }
    sum
}

/// Returns the Riemann zeta function at an integer above 1. Sums the first terms directly, and adds the rest by the Euler-Maclaurin
/// formula.
pub(crate) fn zeta(k: i32) -> f64 {
    const CUT: i32 = 40;
    let s = f64::from(k);
    let n = f64::from(CUT);
    let head: f64 = (1..CUT).map(|i| f64::from(i).powi(-k)).sum();
    let tail = n.powf(1.0 - s) / (s - 1.0) + 0.5 * n.powf(-s) + s / 12.0 * n.powf(-s - 1.0)
        - s * (s + 1.0) * (s + 2.0) / 720.0 * n.powf(-s - 3.0)
        + s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) / 30_240.0 * n.powf(-s - 5.0);
    head + tail
}

/// Returns the derivative of `lgamma` (Abramowitz and Stegun 6.3.18, 6.3.5, 6.3.7).
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - PI / (PI * x).tan();
    }
    let (mut z, mut shift) = (x, 0.0);
    while z < 10.0 {
        shift += 1.0 / z;
        z += 1.0;
    }
    z.ln() - log_minus_digamma(z) - shift
}

/// Returns `log z - digamma z` for `z` of at least 10 (Abramowitz and Stegun 6.3.18).
pub(crate) fn log_minus_digamma(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let series = w
        * (1.0 / 12.0
            - w * (1.0 / 120.0
                - w * (1.0 / 252.0 - w * (1.0 / 240.0 - w * (1.0 / 132.0 - w * (691.0 / 32_760.0))))));
    0.5 / z + series
}

/// Returns the second derivative of `lgamma` (Abramowitz and Stegun 6.4.12, 6.4.6).
pub fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::INFINITY;
        }
        let s = (PI * x).sin();
        return PI * PI / (s * s) - trigamma(1.0 - x);
    }
    let (mut z, mut shift) = (x, 0.0);
    while z < 10.0 {
        shift += 1.0 / (z * z);
        z += 1.0;
    }
    let w = 1.0 / (z * z);
    let series = w / z
        * (1.0 / 6.0
            - w * (1.0 / 30.0 - w * (1.0 / 42.0 - w * (1.0 / 30.0 - w * (5.0 / 66.0 - w * 691.0 / 2730.0)))));
    1.0 / z + 0.5 * w + series + shift
}

/// Returns the error function, with an error of at most one unit in the last place.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// Returns `1 - erf x` with a small relative error, also where it is close to zero.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!(
            (got - want).abs() <= 4e-15 * (1.0 + want.abs()),
            "{got} is not {want}"
        );
    }

    /// The expected values come from published tables (Abramowitz and Stegun), with all printed digits. The gamma function at 1/2 is the
    /// square root of pi.
    #[test]
    fn special_functions_have_their_tabulated_values() {
        close(lgamma(0.5), 0.5 * PI.ln());
        close(lgamma(5.0), 24f64.ln());
        close(lgamma(1.1), -0.049_872_441_259_839_76);
        close(lgamma(100.0), 359.134_205_369_575_4);
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(0.5), -0.577_215_664_901_532_9 - 2.0 * 2f64.ln());
        close(trigamma(1.0), PI * PI / 6.0);
        close(trigamma(0.5), PI * PI / 2.0);
        close(erf(0.5), 0.520_499_877_813_046_5);
        close(erf(1.0), 0.842_700_792_949_714_9);
        close(erf(3.0), 0.999_977_909_503_001_4);
        close(erf(-1.0), -0.842_700_792_949_714_9);
        close(softplus(0.0), 2f64.ln());
        close(sigmoid(0.0), 0.5);
    }

    /// The reference values were computed to fifty digits and then rounded. The relative error stays small as long as the results are
    /// normal numbers.
    #[test]
    fn erfc_has_a_small_relative_error() {
        let known = [
            (-3.0, 1.999_977_909_503_001_4),
            (-0.7, 1.677_801_193_837_418_4),
            (-1e-20, 1.0),
            (0.3, 0.671_373_240_540_872_6),
            (0.6, 0.396_143_909_152_074_1),
            (0.75, 0.288_844_366_346_484_87),
            (1.0, 0.157_299_207_050_285_13),
            (2.5, 0.000_406_952_017_444_958_9),
            (5.0, 1.537_459_794_428_034_8e-12),
            (10.0, 2.088_487_583_762_545e-45),
            (15.5, 1.663_201_640_048_872_3e-106),
            (20.0, 5.395_865_611_607_9e-176),
            (26.0, 5.663_192_408_856_143e-296),
            (26.5, 2.210_907_664_263_734_3e-307),
        ];
        for (x, want) in known {
            let got = erfc(x);
            assert!(
                (got - want).abs() <= 1e-15 * want,
                "erfc {x} is {got:e}, not {want:e}"
            );
        }
        assert!((erfc(27.0) - 5.237_05e-319).abs() <= 2.0 * f64::from_bits(1));
        assert_eq!((erfc(f64::INFINITY), erfc(f64::NEG_INFINITY)), (0.0, 2.0));
        assert!(erfc(f64::NAN).is_nan() && erf(f64::NAN).is_nan());
        close(erf(0.6), 0.603_856_090_847_925_9);
        close(erf(2.0), 0.995_322_265_018_952_7);
    }

    #[test]
    fn gamma_functions_satisfy_their_recurrences() {
        for x in [0.05, 0.3, 0.85, 1.15, 1.9, 2.5, 7.3, 20.0] {
            close(lgamma(x + 1.0) - lgamma(x), x.ln());
            close(digamma(x + 1.0) - digamma(x), 1.0 / x);
            close(trigamma(x) - trigamma(x + 1.0), 1.0 / (x * x));
        }
    }
}
