//! Monte Carlo standard errors (MCSE): the error of an estimate from these draws, compared with the estimate from infinitely many draws.
//!
//! Each function takes one slice of draws per chain. The result is NaN if the effective sample size that it uses is NaN.

use super::effective::{self, average, pool};
use super::ranks::normal_quantile;
use super::rhat::variance;
use bnnc_math::special::lgamma;

/// Returns the MCSE of the mean: `sd / sqrt(ESS)` (Vehtari et al. 2021, section 4.4).
pub fn mean(chains: &[&[f64]]) -> f64 {
    (variance(&pool(chains)) / effective::mean(chains)).sqrt()
}

/// Returns the MCSE of the standard deviation, by the delta method from the MCSE of the mean square (Kenney and Keeping 1951, page 141).
pub fn sd(chains: &[&[f64]]) -> f64 {
    let values = pool(chains);
    sd_of(&values, average(&values), effective::sd(chains))
}

/// Returns `sqrt((m4 - m2^2) / ESS / (4 m2))` with the central moments `m2` and `m4`.
pub(super) fn sd_of(values: &[f64], mean: f64, size: f64) -> f64 {
    let (mut second, mut fourth) = (0.0, 0.0);
    for value in values {
        let square = (value - mean) * (value - mean);
        second += square;
        fourth += square * square;
    }
    let all = values.len() as f64;
    let (second, fourth) = (second / all, fourth / all);
    ((fourth - second * second) / size / second / 4.0).sqrt()
}

/// Returns the MCSE of the median.
pub fn median(chains: &[&[f64]]) -> f64 {
    quantile(chains, 0.5)
}

/// Returns the MCSE of a quantile: half the distance between the draws at the 16 % and 84 % points of the Beta distribution of its rank
/// (Vehtari et al. 2021, section 4.4).
pub fn quantile(chains: &[&[f64]], p: f64) -> f64 {
    let size = effective::quantile(chains, p);
    if size.is_nan() {
        return f64::NAN;
    }
    let mut sorted = pool(chains);
    sorted.sort_unstable_by(f64::total_cmp);
    let last = (sorted.len() - 1) as f64;
    // The probabilities of a normal variable one standard deviation below and above its mean, with the same digits as in other tools.
    let [low, high] = [0.1586553, 0.8413447]
        .map(|side| beta_quantile(side, size * p + 1.0, size * (1.0 - p) + 1.0) * sorted.len() as f64 - 1.0);
    (sorted[high.ceil().min(last) as usize] - sorted[low.floor().max(0.0) as usize]) / 2.0
}

/// Returns the quantile of a Beta distribution with both parameters at least 1, by Newton's method within a shrinking bracket.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let spread = (a * b / (a + b + 1.0)).sqrt() / (a + b);
    let mut x = a / (a + b) + spread * normal_quantile(p);
    for _ in 0..200 {
        if x <= low || x >= high {
            x = (low + high) / 2.0;
        }
        let excess = beta_cdf(x, a, b) - p;
        if excess > 0.0 {
            high = x
        } else {
            low = x
        }
        let density = (log_beta_kernel(x, a, b) - x.ln() - (-x).ln_1p()).exp();
        let next = x - excess / density;
        if (next - x).abs() <= 1e-15 * x || high - low <= 1e-16 {
            break;
        }
        x = next;
    }
    x
}

/// Returns `log(x^a (1 - x)^b / B(a, b))`.
fn log_beta_kernel(x: f64, a: f64, b: f64) -> f64 {
    a * x.ln() + b * (-x).ln_1p() + lgamma(a + b) - lgamma(a) - lgamma(b)
}

/// Returns the regularised incomplete Beta function, by the continued fraction 26.5.8 of Abramowitz and Stegun; the argument is reflected to the side
/// on which the fraction converges fast.
fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    let kernel = log_beta_kernel(x, a, b).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        kernel / a / beta_fraction(x, a, b)
    } else {
        1.0 - kernel / b / beta_fraction(1.0 - x, b, a)
    }
}

/// Returns the continued fraction `1 + d1 / (1 + d2 / (1 + ..))` by Lentz's method, which takes about `sqrt(max(a, b))` terms.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut value, mut numerator, mut denominator) = (1.0, 1.0, 0.0);
    for term in 1..100_000 {
        let m = f64::from(term / 2);
        let d = if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        denominator = 1.0 / away(1.0 + d * denominator);
        numerator = away(1.0 + d / numerator);
        value *= numerator * denominator;
        if (numerator * denominator - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}
