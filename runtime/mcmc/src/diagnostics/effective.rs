//! Effective sample sizes.
//!
//! Each function takes one slice of draws per chain. Each chain is split into two halves. The result is NaN if a half has fewer than two draws, if a
//! draw is not finite, or if all draws are equal.

use super::autocovariance::Autocovariance;
use super::halves::{Halves, shortest};
use super::ranks::{self, Ranks};

/// Returns the ESS of the bulk, computed from the normal scores of the ranks (Vehtari et al. 2021, section 4.1).
pub fn bulk(chains: &[&[f64]]) -> f64 {
    let mut halves = Halves::new(chains);
    if !halves.vary(2) {
        return f64::NAN;
    }
    Ranks::default().normal_scores(&mut halves);
    size(&halves, &mut Autocovariance::default())
}

/// Returns the ESS of the tails: the smaller of two, for the 5 % quantile and for the 95 % quantile (Vehtari et al. 2021, section 4.3). If
/// all draws are at or below a quantile, as for a quantity with few values, the ESS of this quantile is NaN. The ESS of the other quantile is then
/// returned.
pub fn tail(chains: &[&[f64]]) -> f64 {
    quantile(chains, 0.05).min(quantile(chains, 0.95))
}

/// Returns the ESS of the mean.
pub fn mean(chains: &[&[f64]]) -> f64 {
    size(&Halves::new(chains), &mut Autocovariance::default())
}

/// Returns the ESS of the standard deviation: the ESS of the mean squared distance from the mean.
pub fn sd(chains: &[&[f64]]) -> f64 {
    let mean = average(&pool(chains));
    of(chains, |value| (value - mean) * (value - mean))
}

/// Returns the ESS of the median.
pub fn median(chains: &[&[f64]]) -> f64 {
    quantile(chains, 0.5)
}

/// Returns the ESS of a quantile, computed from an indicator for each draw: 1 if the draw is at most the quantile, and 0 otherwise (Vehtari et al.
/// 2021, section 4.3).
pub fn quantile(chains: &[&[f64]], p: f64) -> f64 {
    let mut sorted = pool(chains);
    sorted.sort_unstable_by(f64::total_cmp);
    let bound = ranks::quantile(&sorted, p);
    of(chains, |value| not_above(value, bound))
}

/// Returns 1 if a value is at most `bound`, and 0 if it is above. Returns NaN if the value is not finite.
pub(super) fn not_above(value: f64, bound: f64) -> f64 {
    if value.is_finite() {
        f64::from(u8::from(value <= bound))
    } else {
        f64::NAN
    }
}

fn of(chains: &[&[f64]], function: impl FnMut(f64) -> f64) -> f64 {
    let mut halves = Halves::default();
    halves.fill_with(&Halves::new(chains), function);
    size(&halves, &mut Autocovariance::default())
}

/// Returns the draws of all chains, one chain after the other. Each chain is truncated to the length of the shortest.
pub(super) fn pool(chains: &[&[f64]]) -> Vec<f64> {
    let length = shortest(chains);
    chains
        .iter()
        .flat_map(|chain| &chain[..length])
        .copied()
        .collect()
}

pub(super) fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the ESS of the mean of the values (Vehtari et al. 2021, section 3.2).
///
/// The autocorrelations are summed in pairs of neighbouring lags, up to the first pair whose sum is not positive. If the sum of a pair exceeds an
/// earlier sum, it is replaced by the earlier sum (Geyer 1992, section 3.3). From the last pair, only the even lag is used. This makes the
/// estimate less noisy for antithetic chains. For `S` values, the result is at most `S log10 S`.
pub fn size(halves: &Halves, covariance: &mut Autocovariance) -> f64 {
    if !halves.vary(2) {
        return f64::NAN;
    }
    let length = halves.length();
    let between = variance_of_means(halves);
    covariance.take(halves);
    let variance = covariance.at(0);
    let within = variance * length as f64 / (length - 1) as f64;
    let total = variance + between;
    // If squares of very small values underflow, the variance is zero. If squares of very large values overflow, it is
    // infinite.
    if !(total > 0.0 && total.is_finite()) {
        return f64::NAN;
    }
    let mut correlation = |lag: usize| 1.0 - (within - covariance.at(lag)) / total;

    let (mut even, mut odd) = (1.0, correlation(1));
    let (mut sum, mut smallest) = (0.0, f64::INFINITY);
    let mut lag = 2;
    while even + odd > 0.0 && lag + 2 < length {
        smallest = f64::min(smallest, even + odd);
        sum += smallest;
        (even, odd) = (correlation(lag), correlation(lag + 1));
        lag += 2;
    }
    let last = if even + odd < 0.0 { even.max(0.0) } else { even };
    let all = halves.values().len() as f64;
    let time = (2.0 * sum - 1.0 + last).max(1.0 / all.log10());
    all / time
}

/// Returns the variance of the means of the halves.
pub(super) fn variance_of_means(halves: &Halves) -> f64 {
    let means: Vec<f64> = halves.each().map(average).collect();
    let mean = average(&means);
    let squares: f64 = means.iter().map(|value| (value - mean) * (value - mean)).sum();
    squares / (means.len() - 1) as f64
}
