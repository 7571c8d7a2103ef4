//! Estimates of how well a model predicts unseen rows, from the posterior given all rows: PSIS-LOO and WAIC.
//!
//! Rows are processed one at a time, each by its log likelihood under every draw; only sums are kept. PSIS-LOO follows Vehtari, Gelman and
//! Gabry (2017), "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC", Statistics and Computing 27, with the
//! smoothing of Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling", JMLR 25(72), and the conventions of
//! the R package loo.

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
    /// The effective number of parameters: the log density given all rows, minus `elpd`.
    pub p: f64,
    /// The shape of the tail of the importance ratios; the estimates are reliable up to [`good_shape`]. Minus infinity if all ratios are equal;
    /// infinity if the tail cannot be fitted.
    pub k: f64,
    /// The Monte Carlo standard error of `elpd`; meaningless if `k` is high.
    pub mcse: f64,
    /// `elpd` by the widely applicable information criterion (WAIC).
    pub elpd_waic: f64,
    /// The variance of the log likelihood; WAIC is unreliable above 0.4.
    pub p_waic: f64,
}

/// Returns the shape up to which an estimate from this number of draws is reliable: `min(1 - 1 / log10(S), 0.7)` (Vehtari et al. 2024, equation 13).
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

/// Computes the estimates of many rows, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct LooEstimator {
    weights: Vec<f64>,
    smoother: Smoother,
    halves: [Halves; 2],
    covariance: Autocovariance,
}

impl LooEstimator {
    /// Returns the effective sample size of the mean likelihood of a row, divided by the number of draws, or 1 if it is undefined (Vehtari et
    /// al. 2024). `chains` has the log likelihood of the row under the draws of each chain.
    pub fn relative_efficiency(&mut self, chains: &[&[f64]]) -> f64 {
        let [log_likelihood, likelihood] = &mut self.halves;
        log_likelihood.fill(chains);
        let highest = highest(log_likelihood.values());
        likelihood.fill_with(log_likelihood, |value| (value - highest).exp());
        let efficiency = effective::size(likelihood, &mut self.covariance) / likelihood.values().len() as f64;
        if efficiency.is_finite() { efficiency } else { 1.0 }
    }

    /// Returns the estimates for a row from its log likelihood under each draw. `efficiency` is the result of [`LooEstimator::relative_efficiency`],
    /// 1 for independent draws. The efficiency determines the length of the smoothed tail, and enters the standard error.
    pub fn row(&mut self, log_likelihood: &[f64], efficiency: f64) -> LooRow {
        if log_likelihood.is_empty() || !log_likelihood.iter().all(|value| value.is_finite()) {
            return UNKNOWN;
        }
        let draws = log_likelihood.len();
        // The importance ratio (the posterior density without the row over the posterior density with the row) is proportional to 1 / likelihood.
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

    /// Returns the standard error of the self-normalised estimate, whose variance is `sum(w^2 (p - mean)^2) / efficiency`, on the log
    /// scale: the error of a log-normal variable with the same moments (Vehtari et al. 2024).
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

/// A sum and the sum of squares about the mean, updated without cancellation (Welford 1962).
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

    /// Returns the standard error of the sum over rows (Vehtari, Gelman and Gabry 2017, equation 23).
    fn error(&self) -> f64 {
        let rows = self.count as f64;
        (rows * self.squares / (rows - 1.0)).sqrt()
    }
}

/// A sum over rows, with its standard error over the choice of rows. The error is NaN for a single row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LooEstimate {
    /// The sum.
    pub sum: f64,
    /// The standard error of the sum.
    pub error: f64,
}

/// The numbers of rows by their Pareto shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// At most [`good_shape`]: reliable.
    pub good: usize,
    /// Above [`good_shape`] and at most 1: biased or slow to converge.
    pub bad: usize,
    /// Above 1: the estimate is meaningless.
    pub very_bad: usize,
}

/// Sums over rows.
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
    /// Returns an empty total, for rows with `draws` draws.
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

    /// Returns the number of rows so far.
    pub fn rows(&self) -> usize {
        self.loo[0].count
    }

    /// Returns the expected log predictive density by PSIS-LOO.
    pub fn elpd(&self) -> LooEstimate {
        estimate(&self.loo[0])
    }

    /// Returns the effective number of parameters by PSIS-LOO.
    pub fn p(&self) -> LooEstimate {
        estimate(&self.loo[1])
    }

    /// Returns the Monte Carlo standard error of `elpd`; NaN if the shape of some row is too large, because the error would be underestimated.
    pub fn mcse(&self) -> f64 {
        if self.shapes.good == self.rows() {
            self.variances.sqrt()
        } else {
            f64::NAN
        }
    }

    /// Returns the numbers of rows by shape.
    pub fn shapes(&self) -> Shapes {
        self.shapes
    }

    /// Returns the expected log predictive density by WAIC (Watanabe 2010; Gelman, Hwang and Vehtari 2014, equation 12).
    pub fn elpd_waic(&self) -> LooEstimate {
        estimate(&self.waic[0])
    }

    /// Returns the effective number of parameters by WAIC.
    pub fn p_waic(&self) -> LooEstimate {
        estimate(&self.waic[1])
    }

    /// Returns the number of rows whose log likelihood has a variance above 0.4, for which WAIC is unreliable.
    pub fn unreliable_waic(&self) -> usize {
        self.unreliable
    }
}

/// Returns the sum of the differences of two estimates, row by row, with its standard error over the choice of rows (Vehtari, Gelman and
/// Gabry 2017, equation 24).
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
