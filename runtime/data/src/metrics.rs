//! Metrics of predictions. Every metric is a mean over test rows, in the original units of the target.
//!
//! | name | formula | source |
//! |---|---|---|
//! | `rmse` | root of the mean of (y - predictive mean) squared | |
//! | `log_likelihood` | mean of log(1/S sum over draws of p(y given draw)), the log predictive density | Gelman et al. 2014 |
//! | `coverage_50`, `_90`, `_95` | fraction of y inside the central predictive interval, ends included | |
//! | `crps` | mean of E abs(X - y) - E abs(X - X') / 2, fair estimator | Gneiting and Raftery 2007; Ferro 2014 |
//! | `sd` | mean predictive standard deviation | |
//! | `accuracy` | fraction of rows whose most probable class (the first, in a tie) is the true class | |
//! | `nll` | minus the mean log probability of the true class | |
//! | `brier` | mean of the sum over classes of (p - indicator) squared, 0 to 2 | Brier 1950 |
//! | `ece`, `ece_10`, `ece_20` | mean gap between confidence and accuracy in 15, 10 or 20 equal-width bins | Guo et al. 2017 |
//! | `adaptive_ece` | the same in 15 bins with equal numbers of rows | Nguyen and O'Connor 2015 |
//! | `classwise_ece` | mean over classes of the gap between the probability of the class and its frequency, in 15 equal-width bins | Kull et al. 2019 |
//! | `aurc` | mean over n = 1 .. N of the error rate of the n most confident rows | Geifman, Uziel and El-Yaniv 2019 |
//! | `entropy` | mean of minus the sum over classes of p log p; only if there are outliers | |
//! | `ood_entropy` | the same over the outliers | |
//! | `ood_auroc` | probability that an outlier has a larger entropy than a test row, ties counting half | Hanley and McNeil 1982 |
//! | `ood_aupr` | sum over thresholds of precision times the increase in recall, outliers being positive | Davis and Goadrich 2006 |
//! | `ood_fpr95` | fraction of outliers with an entropy up to the threshold that accepts 95 % of the test rows | Liang et al. 2018 |

mod calibration;
mod classes;
mod confident;
mod squares;
mod unsure;

pub use classes::ClassScores;
pub use confident::{THRESHOLDS, ThresholdLine};
pub use unsure::{REJECTED, Unsure};

use crate::standardise::Standardisation;
use squares::Squares;

/// Metrics by name, in the order of reports.
pub type MetricSet = Vec<(String, f64)>;

/// The number of bins that the metric `ece` (expected calibration error) uses.
pub const CALIBRATION_BINS: usize = 15;

/// The probabilities of the central intervals for which the metric `coverage` is computed, in percent.
pub const COVERAGE_LEVELS: [u32; 3] = [50, 90, 95];

/// An array `[draws, rows]` of numbers, in row-major order.
#[derive(Clone, Copy, Debug)]
pub struct DrawMatrix<'a> {
    values: &'a [f64],
    rows: usize,
}

impl<'a> DrawMatrix<'a> {
    /// Creates the array. The length of `values` is the number of draws times `rows`.
    pub fn new(values: &'a [f64], rows: usize) -> DrawMatrix<'a> {
        DrawMatrix { values, rows }
    }

    /// Returns all draws of one row.
    pub fn of_row(self, row: usize) -> impl Iterator<Item = f64> + Clone + 'a {
        self.values.iter().copied().skip(row).step_by(self.rows.max(1))
    }
}

/// Returns the smallest and the largest value, without NaN. Returns positive and negative infinity if there are
/// no such values.
pub fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let values = values.into_iter();
    values.fold(none, |(low, high), value| (low.min(value), high.max(value)))
}

/// Computes the logarithm of the mean of exponentials, without overflow. The result is NaN if a value is NaN.
pub fn log_mean_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    if values.clone().any(f64::is_nan) {
        return f64::NAN;
    }
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| {
        (sum + (x - largest).exp(), count + 1.0)
    });
    largest + (sum / count).ln()
}

/// Computes the `p`-quantile of sorted numbers by linear interpolation (type 7 of Hyndman and Fan 1996, as in NumPy and R).
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    // If both neighbours are equal infinities, their difference would be NaN. Equal neighbours are
    // therefore returned directly.
    match sorted[below] == sorted[above] {
        true => sorted[below],
        false => sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]),
    }
}

/// Computes the continuous ranked probability score (CRPS) of sorted draws. The score is the mean
/// of abs(x_i - y), minus half the mean of abs(x_i - x_j) over the pairs i != j. The result is the
/// fair estimator of Ferro (2014). Its expectation does not depend on the number of draws. For
/// sorted numbers, the sum over pairs equals the sum over i of (2 i - S - 1) x_i.
pub fn crps(sorted: &[f64], y: f64) -> f64 {
    let count = sorted.len() as f64;
    let error = sorted.iter().map(|x| (x - y).abs()).sum::<f64>() / count;
    if sorted.len() < 2 {
        return error;
    }
    let pairs = sorted
        .iter()
        .zip(1..)
        .map(|(x, i)| (2.0 * f64::from(i) - count - 1.0) * x)
        .sum::<f64>();
    error - pairs / (count * (count - 1.0))
}

/// Summary statistics of one number, computed from draws of this number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawSummary {
    /// The mean of the draws.
    pub mean: f64,
    /// The standard deviation, with the divisor S - 1. For a single draw it is 0.
    pub sd: f64,
    /// The 5 % quantile.
    pub q05: f64,
    /// The median.
    pub q50: f64,
    /// The 95 % quantile.
    pub q95: f64,
}

impl DrawSummary {
    /// Returns whether all draws are equal.
    pub fn is_constant(&self) -> bool {
        self.sd == 0.0
    }

    /// Summarises sorted draws.
    pub fn of_sorted(sorted: &[f64]) -> DrawSummary {
        // The mean of equal numbers has a rounding error. This error would give a standard
        // deviation above zero.
        let constant = sorted.first().filter(|first| sorted.last() == Some(*first));
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        let mean = constant.copied().unwrap_or(mean);
        let sd = if sorted.len() < 2 {
            0.0
        } else {
            Squares::of(sorted.iter().map(|x| x - mean)).root(sorted.len() as f64 - 1.0)
        };
        DrawSummary {
            mean,
            sd,
            q05: quantile(sorted, 0.05),
            q50: quantile(sorted, 0.5),
            q95: quantile(sorted, 0.95),
        }
    }
}

/// Sorts the draws of one row in ascending order.
pub fn sorted(draws: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = draws.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The mean of the values that have been added so far.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// Scores of real or count outputs, accumulated batch by batch.
#[derive(Clone, Debug)]
pub struct RealScores {
    log_sd: f64,
    log_likelihood: Mean,
    squares: Squares,
    covered: [Mean; 3],
    crps: Mean,
    sd: Mean,
    /// True if the predictive distribution has an infinite variance. The metric `sd` of such a
    /// distribution is infinite, regardless of the draws.
    pub infinite_variance: bool,
}

impl RealScores {
    /// Creates scores without rows. The log likelihoods are on the scale of the standardised
    /// target. `target` is the standardisation of the target, or the identity if the target is not
    /// standardised.
    pub fn new(target: Standardisation) -> RealScores {
        let (zero, covered) = (Mean::default(), [Mean::default(); 3]);
        RealScores {
            log_sd: target.sd.ln(),
            log_likelihood: zero,
            squares: Squares::default(),
            covered,
            crps: zero,
            sd: zero,
            infinite_variance: false,
        }
    }

    /// Adds log likelihoods on the model's scale. Each target has `elements` numbers. Dividing the
    /// density by the target's standard deviation converts the density to original units.
    pub fn add_log_likelihood_of(&mut self, log_likelihood: DrawMatrix<'_>, elements: usize) {
        for row in 0..log_likelihood.rows {
            let density = log_mean_exp(log_likelihood.of_row(row));
            self.log_likelihood.add(density - self.log_sd * elements as f64);
        }
    }

    /// Adds predictive means and the targets of the same rows, in original units.
    pub fn add_mean(&mut self, mean: DrawMatrix<'_>, targets: &[f64]) {
        for (row, y) in targets.iter().enumerate() {
            let mut average = Mean::default();
            mean.of_row(row).for_each(|value| average.add(value));
            self.squares.add(average.get().unwrap_or(f64::NAN) - y);
        }
    }

    /// Adds predictive draws and the targets of the same rows, in original units.
    pub fn add_draws(&mut self, draws: DrawMatrix<'_>, targets: &[f64]) {
        for (row, &y) in targets.iter().enumerate() {
            let sorted = sorted(draws.of_row(row));
            for (mean, level) in self.covered.iter_mut().zip(COVERAGE_LEVELS) {
                let tail = (1.0 - f64::from(level) / 100.0) / 2.0;
                let inside = quantile(&sorted, tail) <= y && y <= quantile(&sorted, 1.0 - tail);
                mean.add(f64::from(u8::from(inside)));
            }
            self.crps.add(crps(&sorted, y));
            self.sd.add(match self.infinite_variance {
                true => f64::INFINITY,
                false => DrawSummary::of_sorted(&sorted).sd,
            });
        }
    }

    /// Returns the metrics. A metric without rows is left out.
    pub fn finish(self) -> MetricSet {
        let mut metrics = vec![
            ("rmse".to_string(), self.squares.root_mean()),
            ("log_likelihood".to_string(), self.log_likelihood.get()),
        ];
        let coverage = COVERAGE_LEVELS.iter().zip(self.covered);
        metrics.extend(coverage.map(|(level, mean)| (format!("coverage_{level}"), mean.get())));
        metrics.extend([
            ("crps".to_string(), self.crps.get()),
            // If a distribution does not have a mean, its standard deviation is undefined, although
            // the standard deviation of the draws is finite.
            ("sd".to_string(), self.squares.root_mean().and(self.sd.get())),
        ]);
        present(metrics)
    }
}

fn present(metrics: Vec<(String, Option<f64>)>) -> MetricSet {
    metrics
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Computes the mean and its standard error. The standard error is the standard deviation (with the
/// divisor n - 1) divided by the square root of n. For a single number, the standard error is `None`.
pub fn mean_and_standard_error(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (
        mean,
        (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt()),
    )
}

/// Summarises each metric over the splits. Returns the name of each metric, its mean over the
/// splits, and the standard error of this mean.
pub fn over_splits(splits: &[MetricSet]) -> Vec<(String, f64, Option<f64>)> {
    let Some(first) = splits.first() else {
        return Vec::new();
    };
    let summary = |name: &String| {
        let of_split = |set: &MetricSet| {
            set.iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| *value)
        };
        let (mean, error) = mean_and_standard_error(&splits.iter().filter_map(of_split).collect::<Vec<_>>());
        (name.clone(), mean, error)
    };
    first.iter().map(|(name, _)| summary(name)).collect()
}

#[cfg(test)]
mod tests;
