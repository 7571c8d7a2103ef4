//! R-hat. It measures whether the chains, and the two halves of each chain, agree.
//!
//! Each function takes one slice of draws per chain, and splits each chain into two halves. The result is NaN if a half has fewer than two draws,
//! if a draw is not finite, or if all draws are equal. If all chains are constant but differ from each other, the result is infinity.

use super::effective::{average, pool, variance_of_means};
use super::halves::Halves;
use super::ranks::{self, Ranks};

/// Returns the larger of [`bulk`] and [`folded`] (Vehtari et al. 2021, section 4.2). A result above 1.01 shows that the chains have not mixed.
pub fn rank_normalised(chains: &[&[f64]]) -> f64 {
    greatest(bulk(chains), folded(chains, centre(chains)))
}

/// Returns the R-hat of the draws themselves (Gelman et al. 2013, section 11.4).
pub fn split(chains: &[&[f64]]) -> f64 {
    of(&Halves::new(chains))
}

/// Returns the R-hat of the normal scores of the ranks. It is sensitive to location.
pub fn bulk(chains: &[&[f64]]) -> f64 {
    of_scores(Halves::new(chains), &mut Ranks::default())
}

/// Returns an R-hat that is sensitive to scale. This R-hat is computed from the distances of the draws from `centre`: the distances are ranked, and
/// the ranks are replaced by normal scores.
pub fn folded(chains: &[&[f64]], centre: f64) -> f64 {
    let mut halves = Halves::default();
    halves.fill_with(&Halves::new(chains), |value| (value - centre).abs());
    of_scores(halves, &mut Ranks::default())
}

/// Returns the median of all draws. [`folded`] takes it as `centre`.
pub fn centre(chains: &[&[f64]]) -> f64 {
    let mut sorted = pool(chains);
    sorted.sort_unstable_by(f64::total_cmp);
    ranks::median(&sorted)
}

fn of_scores(mut halves: Halves, ranks: &mut Ranks) -> f64 {
    if !halves.vary(2) {
        return f64::NAN;
    }
    ranks.normal_scores(&mut halves);
    of(&halves)
}

/// Returns the larger of the two numbers. If `bulk` is NaN, the result is NaN. If only `folded` is NaN, it is ignored: this happens if all draws
/// have the same distance from the median.
pub(super) fn greatest(bulk: f64, folded: f64) -> f64 {
    if bulk.is_nan() { f64::NAN } else { bulk.max(folded) }
}

/// Returns `sqrt(((n - 1) / n W + B / n) / W)`, where `n` is the number of draws in a half, `B / n` is the variance between the halves' means, and
/// `W` is the mean of their variances (Vehtari et al. 2021, section 3.1).
pub fn of(halves: &Halves) -> f64 {
    if !halves.vary(2) {
        return f64::NAN;
    }
    let length = halves.length() as f64;
    let count = halves.each().len() as f64;
    // Constant halves are detected by comparing the values, because rounding may give equal values a variance that is not exactly zero.
    if halves
        .each()
        .all(|half| half.iter().all(|value| Some(value) == half.first()))
    {
        return f64::INFINITY;
    }
    let within = halves.each().map(variance).sum::<f64>() / count;
    (variance_of_means(halves) / within + (length - 1.0) / length).sqrt()
}

/// Returns the variance of the values. The divisor is the number of values minus one.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = average(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    squares / (values.len() as f64 - 1.0)
}
