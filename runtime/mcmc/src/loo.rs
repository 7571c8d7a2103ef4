//! Estimates of how well a model predicts unseen rows, from the posterior given all rows: PSIS-LOO and WAIC.
//!
//! Rows are processed one at a time. The estimates for a row need its log likelihood under every draw. Afterwards, only sums over rows are kept.
//! PSIS-LOO follows
//! Vehtari, Gelman and Gabry (2017), "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC", Statistics and Computing
//! 27. The smoothing follows Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72). The conventions
//! agree with the R package loo.

pub mod pareto;

use crate::diagnostics::autocovariance::Autocovariance;
use crate::diagnostics::effective;
use crate::diagnostics::halves::Halves;
use pareto::Smoother;

/// The estimates for one row. If a log likelihood is not finite, `k` is infinite and all other estimates are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooRow {
    /// The estimated log density of the row, given all other rows.
    pub elpd: f64,
    /// The effective number of parameters: the log density of the row given all rows, minus `elpd`.
    pub p: f64,
    /// The Pareto shape. It measures the tail of the importance ratios. The estimates are reliable if the shape is at most [`good_shape`]. The
    /// shape is minus infinity if all ratios are equal, and infinity if the tail cannot be fitted.
    pub k: f64,
    /// The Monte Carlo standard error of `elpd`. This error is meaningless if `k` is above [`good_shape`].
    pub mcse: f64,
    /// `elpd` by the widely applicable information criterion (WAIC).
    pub elpd_waic: f64,
    /// The variance of the row's log likelihood over the draws. WAIC is unreliable if it is above 0.4.
    pub p_waic: f64,
}

/// Returns the largest Pareto shape for which an estimate from this number of draws is reliable: `min(1 - 1 / log10(S), 0.7)` for `S` draws
/// (Vehtari et al. 2024, equation 13).
pub fn good_shape(draws: usize) -> f64 {
    f64::min(1.0 - 1.0 / (draws as f64).log10(), 0.7)
}

fn highest<'v>(values: impl IntoIterator<Item = &'v f64>) -> f64 {
    values.into_iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Returns `log(sum(exp(values)))`.
fn log_sum(values: &[f64]) -> f64 {
    let highest = highest(values);
    highest
        + values
            .iter()
            .map(|value| (value - highest).exp())
            .sum::<f64>()
            .ln()
}

/// Computes the estimates of many rows one after the other, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct LooEstimator {
    weights: Vec<f64>,
    smoother: Smoother,
    halves: [Halves; 2],
    covariance: Autocovariance,
}

impl LooEstimator {
    /// Returns the effective sample size for a row's mean likelihood, divided by the number of draws (Vehtari et al. 2024). If the effective
    /// sample size is undefined, returns 1. `chains` holds the log likelihood of the row under the draws of each chain.
    pub fn relative_efficiency(&mut self, chains: &[&[f64]]) -> f64 {
        let [log_likelihood, likelihood] = &mut self.halves;
        log_likelihood.fill(chains);
        let highest = highest(log_likelihood.values());
        likelihood.fill_with(log_likelihood, |value| (value - highest).exp());
        let efficiency = effective::size(likelihood, &mut self.covariance) / likelihood.values().len() as f64;
        if efficiency.is_finite() { efficiency } else { 1.0 }
    }

    /// Returns the estimates for a row from its log likelihood under each draw. `efficiency` is the result of [`LooEstimator::relative_efficiency`],
    /// or 1 if the draws are independent. The length of the smoothed tail and the standard error depend on it.
    pub fn row(&mut self, log_likelihood: &[f64], efficiency: f64) -> LooRow {
        if log_likelihood.is_empty() || !log_likelihood.iter().all(|value| value.is_finite()) {
            return UNKNOWN;
        }
        let draws = log_likelihood.len();
        // The importance ratio of a draw is the posterior density without the row, divided by the posterior density with the row. The ratio is
        // proportional to 1 / likelihood.
        let lowest = log_likelihood.iter().copied().fold(f64::INFINITY, f64::min);
        self.weights.clear();
        self.weights
            .extend(log_likelihood.iter().map(|value| lowest - value));
        let k = self
            .smoother
            .smooth(&mut self.weights, pareto::tail_length(draws, efficiency));
        let norm = log_sum(&self.weights);
        self.weights.iter_mut().for_each(|weight| *weight -= norm);

        let elpd = self.predictive(log_likelihood);
        let lppd = log_sum(log_likelihood) - (draws as f64).ln();
        let p_waic = variance(log_likelihood);
        LooRow {
            elpd,
            p: lppd - elpd,
            k,
            mcse: self.error(log_likelihood, elpd, efficiency),
            elpd_waic: lppd - p_waic,
            p_waic,
        }
    }

    /// Returns `log(sum(w p))` (Vehtari, Gelman and Gabry 2017, equation 10).
    fn predictive(&self, log_likelihood: &[f64]) -> f64 {
        let terms = || {
            self.weights
                .iter()
                .zip(log_likelihood)
                .map(|(weight, value)| weight + value)
        };
        let highest = terms().fold(f64::NEG_INFINITY, f64::max);
        highest + terms().map(|term| (term - highest).exp()).sum::<f64>().ln()
    }

    /// Returns the standard error of the self-normalised estimate on the log scale. The estimate has the variance
    /// `sum(w^2 (p - mean)^2) / efficiency`. The result is the standard deviation of the logarithm of a log-normal variable with the same mean and
    /// variance (Vehtari et al. 2024).
    fn error(&self, log_likelihood: &[f64], elpd: f64, efficiency: f64) -> f64 {
        let terms = self.weights.iter().zip(log_likelihood);
        let spread: f64 = terms
            .map(|(weight, value)| (weight.exp() * (value - elpd).exp_m1()).powi(2))
            .sum();
        (spread / efficiency).ln_1p().sqrt()
    }
}

const UNKNOWN: LooRow = LooRow {
    elpd: f64::NAN,
    p: f64::NAN,
    k: f64::INFINITY,
    mcse: f64::NAN,
    elpd_waic: f64::NAN,
    p_waic: f64::NAN,
};

fn variance(values: &[f64]) -> f64 {
    let mut moments = Moments::default();
    values.iter().for_each(|value| moments.add(*value));
    moments.squares / (moments.count as f64 - 1.0)
}

/// The number of values, their sum, and the sum of their squared deviations from the mean. The sums are updated such that terms do not cancel
/// (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    count: usize,
    sum: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Returns the standard error of the sum of the values that were added (Vehtari, Gelman and Gabry 2017, equation 23).
    fn error(&self) -> f64 {
        let rows = self.count as f64;
        (rows * self.squares / (rows - 1.0)).sqrt()
    }
}

/// A sum over rows, and its standard error if the rows are treated as a random sample. The error is NaN if there is a single row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooEstimate {
    /// The sum.
    pub sum: f64,
    /// The standard error of the sum.
    pub error: f64,
}

/// The number of rows in each range of the Pareto shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// Rows whose shape is at most [`good_shape`], so that their estimates are reliable.
    pub good: usize,
    /// Rows whose shape is above [`good_shape`] and at most 1, so that their estimates are biased or converge slowly.
    pub bad: usize,
    /// Rows whose shape is above 1, so that their estimates are meaningless.
    pub very_bad: usize,
}

/// The sums of the estimates over all rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    good: f64,
    loo: [Moments; 2],
    waic: [Moments; 2],
    shapes: Shapes,
    variances: f64,
    unreliable: usize,
}

impl Total {
    /// Returns sums that do not include any rows yet. Each row has log likelihoods under `draws` draws.
    pub fn new(draws: usize) -> Total {
        Total {
            good: good_shape(draws),
            loo: [Moments::default(); 2],
            waic: [Moments::default(); 2],
            shapes: Shapes::default(),
            variances: 0.0,
            unreliable: 0,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &LooRow) {
        self.loo[0].add(row.elpd);
        self.loo[1].add(row.p);
        self.waic[0].add(row.elpd_waic);
        self.waic[1].add(row.p_waic);
        self.variances += row.mcse * row.mcse;
        self.unreliable += usize::from(row.p_waic > 0.4);
        let place = if row.k <= self.good {
            &mut self.shapes.good
        } else if row.k <= 1.0 {
            &mut self.shapes.bad
        } else {
            &mut self.shapes.very_bad
        };
        *place += 1;
    }

    /// Returns the number of rows that were added.
    pub fn rows(&self) -> usize {
        self.loo[0].count
    }

    /// Returns the PSIS-LOO estimate of the expected log predictive density.
    pub fn elpd(&self) -> LooEstimate {
        estimate(&self.loo[0])
    }

    /// Returns the PSIS-LOO estimate of the effective number of parameters.
    pub fn p(&self) -> LooEstimate {
        estimate(&self.loo[1])
    }

    /// Returns the Monte Carlo standard error of `elpd`. If the shape of some row is above [`good_shape`], the result is NaN, because the error
    /// would be underestimated.
    pub fn mcse(&self) -> f64 {
        if self.shapes.good == self.rows() {
            self.variances.sqrt()
        } else {
            f64::NAN
        }
    }

    /// Returns the number of rows in each range of the Pareto shape.
    pub fn shapes(&self) -> Shapes {
        self.shapes
    }

    /// Returns the WAIC estimate of the expected log predictive density (Watanabe 2010; Gelman, Hwang and Vehtari 2014, equation 12).
    pub fn elpd_waic(&self) -> LooEstimate {
        estimate(&self.waic[0])
    }

    /// Returns the WAIC estimate of the effective number of parameters.
    pub fn p_waic(&self) -> LooEstimate {
        estimate(&self.waic[1])
    }

    /// Returns the number of rows whose log likelihood has a variance above 0.4. For these rows WAIC is unreliable.
    pub fn unreliable_waic(&self) -> usize {
        self.unreliable
    }
}

/// Compares two models. For each row, takes the difference of their estimates, and returns the sum over all rows. The standard error of the sum
/// treats the rows as a random sample (Vehtari, Gelman and Gabry 2017, equation 24).
pub fn difference(rows: &[LooRow], others: &[LooRow]) -> LooEstimate {
    let mut moments = Moments::default();
    for (row, other) in rows.iter().zip(others) {
        moments.add(row.elpd - other.elpd);
    }
    estimate(&moments)
}

fn estimate(moments: &Moments) -> LooEstimate {
    LooEstimate {
        sum: moments.sum,
        error: moments.error(),
    }
}
