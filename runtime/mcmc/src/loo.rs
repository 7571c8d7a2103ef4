//! How well a model predicts rows that it has not seen, from the posterior that has seen them: PSIS-LOO and WAIC.
//!
//! Rows come one at a time, each as its log likelihood under every draw; nothing is kept but sums. PSIS-LOO is Vehtari, Gelman and
//! Gabry (2017), "Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC", Statistics and
//! Computing 27, with the smoothing of Vehtari, Simpson, Gelman, Yao and Gabry (2024), "Pareto smoothed importance sampling",
//! JMLR 25(72), and the conventions of the R package loo.

pub mod pareto;

use crate::diagnostics::autocovariance::Autocovariance;
use crate::diagnostics::effective;
use crate::diagnostics::halves::Halves;
use pareto::Smoother;

/// What is found for one row. All but `k` is NaN where a log likelihood is not finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The log density of the row given all others, estimated.
    pub elpd: f64,
    /// The effective number of parameters: the log density given all rows, less `elpd`.
    pub p: f64,
    /// The shape of the tail of the importance ratios; reliable up to [`good_shape`]. Minus infinity where the ratios are equal,
    /// infinite where no tail could be fitted.
    pub k: f64,
    /// The Monte Carlo standard error of `elpd`; it means nothing where `k` is high.
    pub mcse: f64,
    /// The same as `elpd` by the widely applicable information criterion.
    pub elpd_waic: f64,
    /// The variance of the log likelihood; above 0.4 the criterion is unreliable.
    pub p_waic: f64,
}

/// The shape up to which an estimate from so many draws is reliable: `min(1 - 1 / log10(S), 0.7)` (Vehtari et al. 2024, equation 13).
pub fn good_shape(draws: usize) -> f64 {
    f64::min(1.0 - 1.0 / (draws as f64).log10(), 0.7)
}

fn highest<'v>(values: impl IntoIterator<Item = &'v f64>) -> f64 {
    values.into_iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// `log(sum(exp(values)))`.
fn log_sum(values: &[f64]) -> f64 {
    let highest = highest(values);
    highest
        + values
            .iter()
            .map(|value| (value - highest).exp())
            .sum::<f64>()
            .ln()
}

/// Estimates rows, one after another with the same memory.
#[derive(Clone, Debug, Default)]
pub struct LeaveOneOut {
    weights: Vec<f64>,
    smoother: Smoother,
    halves: [Halves; 2],
    covariance: Autocovariance,
}

impl LeaveOneOut {
    /// The effective sample size of the mean likelihood of a row over the number of draws, from its log likelihood under the draws of
    /// each chain (Vehtari et al. 2024); 1 where it cannot be told.
    pub fn relative_efficiency(&mut self, chains: &[&[f64]]) -> f64 {
        let [log_likelihood, likelihood] = &mut self.halves;
        log_likelihood.fill(chains);
        let highest = highest(log_likelihood.values());
        likelihood.fill_with(log_likelihood, |value| (value - highest).exp());
        let efficiency = effective::size(likelihood, &mut self.covariance) / likelihood.values().len() as f64;
        if efficiency.is_finite() { efficiency } else { 1.0 }
    }

    /// The estimates for a row from its log likelihood under each draw. `efficiency` is their [`LeaveOneOut::relative_efficiency`], 1 for
    /// independent ones; it sets the length of the tail that is smoothed and the standard error.
    pub fn row(&mut self, log_likelihood: &[f64], efficiency: f64) -> Row {
        if log_likelihood.is_empty() || !log_likelihood.iter().all(|value| value.is_finite()) {
            return UNKNOWN;
        }
        let draws = log_likelihood.len();
        // The ratio of the posterior without the row to the posterior with it is 1 / likelihood.
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
        Row {
            elpd,
            p: lppd - elpd,
            k,
            mcse: self.error(log_likelihood, elpd, efficiency),
            elpd_waic: lppd - p_waic,
            p_waic,
        }
    }

    /// `log(sum(w p))` (Vehtari, Gelman and Gabry 2017, equation 10).
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

    /// The error of the self-normalised estimate, `sum(w^2 (p - mean)^2) / efficiency`, carried to the logarithm as that of a
    /// log-normal variable with the same moments (Vehtari et al. 2024).
    fn error(&self, log_likelihood: &[f64], elpd: f64, efficiency: f64) -> f64 {
        let terms = self.weights.iter().zip(log_likelihood);
        let spread: f64 = terms
            .map(|(weight, value)| (weight.exp() * (value - elpd).exp_m1()).powi(2))
            .sum();
        (spread / efficiency).ln_1p().sqrt()
    }
}

const UNKNOWN: Row = Row {
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

    /// The standard error of the sum over rows (Vehtari, Gelman and Gabry 2017, equation 23).
    fn error(&self) -> f64 {
        let rows = self.count as f64;
        (rows * self.squares / (rows - 1.0)).sqrt()
    }
}

/// The sum over rows, with its standard error over the choice of rows; NaN for the error of a single row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The sum.
    pub sum: f64,
    /// Its standard error.
    pub error: f64,
}

/// How many rows have which shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// At most [`good_shape`]: reliable.
    pub good: usize,
    /// Above that and at most 1: biased or slow to converge.
    pub bad: usize,
    /// Above 1: the estimate has no meaning.
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
    /// No rows yet, each under `draws` draws.
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
    pub fn add(&mut self, row: &Row) {
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

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.loo[0].count
    }

    /// The expected log predictive density by PSIS-LOO.
    pub fn elpd(&self) -> Estimate {
        estimate(&self.loo[0])
    }

    /// The effective number of parameters by PSIS-LOO.
    pub fn p(&self) -> Estimate {
        estimate(&self.loo[1])
    }

    /// The Monte Carlo standard error of `elpd`. NaN where a row is not good: it would promise too much.
    pub fn mcse(&self) -> f64 {
        if self.shapes.good == self.rows() {
            self.variances.sqrt()
        } else {
            f64::NAN
        }
    }

    /// How many rows have which shape.
    pub fn shapes(&self) -> Shapes {
        self.shapes
    }

    /// The expected log predictive density by WAIC (Watanabe 2010; Gelman, Hwang and Vehtari 2014, equation 12).
    pub fn elpd_waic(&self) -> Estimate {
        estimate(&self.waic[0])
    }

    /// The effective number of parameters by WAIC.
    pub fn p_waic(&self) -> Estimate {
        estimate(&self.waic[1])
    }

    /// Rows whose log likelihood varies by more than 0.4, for which WAIC is unreliable.
    pub fn unreliable_waic(&self) -> usize {
        self.unreliable
    }
}

/// The sum of the differences of two estimates, row by row, with its standard error over the choice of rows (Vehtari, Gelman and
/// Gabry 2017, equation 24).
pub fn difference(rows: &[Row], others: &[Row]) -> Estimate {
    let mut moments = Moments::default();
    for (row, other) in rows.iter().zip(others) {
        moments.add(row.elpd - other.elpd);
    }
    estimate(&moments)
}

fn estimate(moments: &Moments) -> Estimate {
    Estimate {
        sum: moments.sum,
        error: moments.error(),
    }
}
