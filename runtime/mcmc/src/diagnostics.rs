//! Diagnostics for the draws of a quantity: whether the chains agree, and how accurate the estimates are.
//!
//! Note \[Conventions\]. The draws of a quantity are one slice per chain, without the warm-up. Chains are truncated to the length of the shortest.
//! The diagnostics are defined in Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), "Rank-normalization, folding, and localization: an
//! improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2). The diagnostics are computed as in the R package posterior and in
//! ArviZ. Each chain is split into halves. Autocorrelations are summed with Geyer's initial monotone sequence. For `S` draws, an effective sample
//! size is at most `S log10 S`, and the normal score of rank `r` is the normal quantile of `(r - 3/8) / (S + 1/4)`. Undefined numbers are NaN. If a
//! draw is not finite, all estimates and diagnostics of the quantity are undefined. If a quantity is constant, or if chains have fewer than four
//! draws, then R-hat, effective sample sizes and standard errors are undefined.

pub mod advice;
pub mod autocovariance;
mod codes;
pub mod effective;
pub mod energy;
pub mod halves;
pub mod ranks;
pub mod rhat;

pub use advice::{ChainFacts, Swapped, advice};
pub use codes::CODES;

use autocovariance::Autocovariance;
use halves::Halves;
use ranks::Ranks;

/// The estimates and diagnostics of one quantity: see Note \[Conventions\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantitySummary {
    /// The mean of all draws.
    pub mean: f64,
    /// The standard deviation of all draws. The divisor is the number of draws minus one.
    pub sd: f64,
    /// The median of all draws.
    pub median: f64,
    /// 1.4826 times the median absolute deviation from the median. For a normal distribution, this number equals the standard deviation.
    pub mad: f64,
    /// The 5 % quantile. It is interpolated linearly between order statistics.
    pub q05: f64,
    /// The 95 % quantile.
    pub q95: f64,
    /// The Monte Carlo standard error of the mean.
    pub mcse_mean: f64,
    /// The Monte Carlo standard error of the standard deviation.
    pub mcse_sd: f64,
    /// The effective sample size of the bulk (bulk ESS).
    pub ess_bulk: f64,
    /// The effective sample size of the tails (tail ESS). It is the smaller of two effective sample sizes, one for the 5 % quantile and one for the
    /// 95 % quantile.
    pub ess_tail: f64,
    /// The rank-normalised split R-hat.
    pub rhat: f64,
}

/// Computes the summaries of many quantities, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct Summariser {
    pooled: Vec<f64>,
    sorted: Vec<f64>,
    halves: Halves,
    mapped: Halves,
    ranks: Ranks,
    covariance: Autocovariance,
}

impl Summariser {
    /// Returns the summary of a quantity.
    pub fn summary(&mut self, chains: &[&[f64]]) -> QuantitySummary {
        let length = halves::shortest(chains);
        self.pooled.clear();
        for chain in chains {
            self.pooled.extend_from_slice(&chain[..length]);
        }
        self.halves.fill(chains);
        let mean = effective::average(&self.pooled);
        if !mean.is_finite() {
            return NOTHING;
        }
        self.sorted.clone_from(&self.pooled);
        self.sorted.sort_unstable_by(f64::total_cmp);
        let median = ranks::median(&self.sorted);
        let [q05, q95] = [0.05, 0.95].map(|p| ranks::quantile(&self.sorted, p));
        let variance = rhat::variance(&self.pooled);

        let [below, above] = [q05, q95].map(|bound| self.size(|value| effective::not_above(value, bound)));
        let size_sd = self.size(|value| (value - mean) * (value - mean));
        let folded = self.rhat(|value| (value - median).abs());
        let bulk = self.rhat(|value| value);
        let ess_bulk = effective::size(&self.mapped, &mut self.covariance);
        QuantitySummary {
            mean,
            sd: variance.sqrt(),
            median,
            mad: self.mad(median),
            q05,
            q95,
            mcse_mean: (variance / effective::size(&self.halves, &mut self.covariance)).sqrt(),
            mcse_sd: error_of_sd(&self.pooled, mean, size_sd),
            ess_bulk,
            ess_tail: below.min(above),
            rhat: rhat::greatest(bulk, folded),
        }
    }

    /// Applies a function to the draws, and returns the effective sample size of the mean of the results.
    fn size(&mut self, function: impl FnMut(f64) -> f64) -> f64 {
        self.mapped.fill_with(&self.halves, function);
        effective::size(&self.mapped, &mut self.covariance)
    }

    /// Applies a function to the draws, and replaces the results by normal scores. Returns the R-hat of the scores, and leaves the scores in
    /// `mapped`.
    fn rhat(&mut self, function: impl FnMut(f64) -> f64) -> f64 {
        self.mapped.fill_with(&self.halves, function);
        if !self.mapped.vary(2) {
            return f64::NAN;
        }
        self.ranks.normal_scores(&mut self.mapped);
        rhat::of(&self.mapped)
    }

    fn mad(&mut self, median: f64) -> f64 {
        let distances = self.sorted.iter_mut();
        distances.for_each(|value| *value = (*value - median).abs());
        let half = self.sorted.len() / 2;
        let (below, middle, _) = self.sorted.select_nth_unstable_by(half, f64::total_cmp);
        let middle = if self.pooled.len() % 2 == 1 {
            *middle
        } else {
            let other = below.iter().copied().fold(0.0, f64::max);
            (*middle + other) / 2.0
        };
        1.482_602_218_505_602 * middle
    }
}

const NOTHING: QuantitySummary = QuantitySummary {
    mean: f64::NAN,
    sd: f64::NAN,
    median: f64::NAN,
    mad: f64::NAN,
    q05: f64::NAN,
    q95: f64::NAN,
    mcse_mean: f64::NAN,
    mcse_sd: f64::NAN,
    ess_bulk: f64::NAN,
    ess_tail: f64::NAN,
    rhat: f64::NAN,
};

/// Returns the Monte Carlo standard error of the standard deviation, by the delta method: `sqrt((m4 - m2^2) / ESS / (4 m2))`, where `m2` and `m4`
/// are central moments (Kenney and Keeping 1951, page 141).
fn error_of_sd(values: &[f64], mean: f64, size: f64) -> f64 {
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
