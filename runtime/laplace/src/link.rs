//! Computes predictions from a Gaussian distribution of the outputs: by closed forms, the probit approximation, the Laplace bridge, and draws.
//!
//! The outputs `f` `[K]` of a row have a `mean` and a row-major `covariance` `[K, K]`. Class probabilities are represented and normalised as
//! logarithms, so that they do not underflow.

use crate::root::{RootError, Roots};
use bnnc_base::dtype::Precision;
use bnnc_math::special::{erfc, softplus};
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

/// The standard deviations of a prediction: one for each source of uncertainty, and the total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The standard deviation that comes from the uncertainty of the weights.
    pub epistemic: f64,
    /// The standard deviation of an observation for given weights.
    pub aleatoric: f64,
    /// The total standard deviation from both sources.
    pub total: f64,
}

/// Returns the standard deviations of an output. `variance` is its variance due to the weights, and `noise` is its variance due to the likelihood.
pub fn deviation(variance: f64, noise: f64) -> Deviation {
    // Some forms compute a variance as a difference, which rounding errors may make negative if it is near zero.
    let variance = positive(variance);
    Deviation {
        epistemic: variance.sqrt(),
        aleatoric: noise.sqrt(),
        total: (variance + noise).sqrt(),
    }
}

/// Replaces a negative variance, which can result from rounding errors, by zero. NaN stays NaN, because a variance of zero would look like certainty.
/// (`f64::max` would replace NaN by zero.)
fn positive(variance: f64) -> f64 {
    if variance < 0.0 { 0.0 } else { variance }
}

/// Buffers for the computation of Normal densities. The buffers are reused, so that memory is not allocated for each row.
pub struct Normal {
    factor: Vec<f64>,
    residual: Vec<f64>,
}

impl Normal {
    /// Allocates buffers for densities of `outputs` elements.
    pub fn new(outputs: usize) -> Normal {
        Normal {
            factor: vec![0.0; outputs * outputs],
            residual: vec![0.0; outputs],
        }
    }

    /// Returns the joint log density of `y` `[K]` under `N(mean, covariance + diag(noise))` (equation 12 of Daxberger et al. 2021). `noise` `[K]`
    /// holds variances. Returns NaN if the covariance with noise is not positive definite.
    pub fn log_density(&mut self, mean: &[f64], covariance: &[f64], noise: &[f64], y: &[f64]) -> f64 {
        let n = self.residual.len();
        for i in 0..n {
            self.residual[i] = y[i] - mean[i];
        }
        let mut sum = n as f64 * TAU.ln();
        for i in 0..n {
            for j in 0..=i {
                let (above, row) = self.factor.split_at_mut(i * n);
                let earlier = if i == j {
                    &row[..j]
                } else {
                    &above[j * n..j * n + j]
                };
                let dot: f64 = row[..j].iter().zip(earlier).map(|(a, b)| a * b).sum();
                let rest = covariance[i * n + j] - dot;
                row[j] = if i == j {
                    (rest + noise[i]).sqrt()
                } else {
                    rest / above[j * n + j]
                };
            }
            let row = &self.factor[i * n..=i * n + i];
            let dot: f64 = row[..i].iter().zip(&self.residual).map(|(a, b)| a * b).sum();
            self.residual[i] = (self.residual[i] - dot) / row[i];
            sum += self.residual[i].powi(2) + 2.0 * row[i].ln();
        }
        -0.5 * sum
    }
}

/// Returns the probability that a standard Normal variable is at most `x`.
pub fn standard_cumulative(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Returns the quantile of the standard Normal distribution. It is infinite for the probabilities 0 and 1, and NaN outside this range.
pub fn standard_quantile(probability: f64) -> f64 {
    // The initial value is formula 26.2.23 of Abramowitz and Stegun. Its absolute error is below 4.5e-4. Newton's method needs three more
    // steps.
    let t = (-2.0 * probability.min(1.0 - probability).ln()).sqrt();
    let above = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let start = if probability < 0.5 { -above } else { above };
    invert(probability, [start - 1e-3, start + 1e-3], |x| {
        (standard_cumulative(x), (-0.5 * x * x).exp() / TAU.sqrt())
    })
}

/// Returns the quantile of a mixture of Normal distributions with equal weights. An example is the mixture of the predictions of an ensemble's
/// members. Returns NaN if a mean or a deviation is NaN.
pub fn mixture_quantile(probability: f64, means: &[f64], deviations: &[f64]) -> f64 {
    let standard = standard_quantile(probability);
    if !standard.is_finite() {
        return standard;
    }
    if means.iter().chain(deviations).any(|number| number.is_nan()) {
        return f64::NAN;
    }
    // The quantile of the mixture is between the smallest and the largest quantile of its components.
    let each = means
        .iter()
        .zip(deviations)
        .map(|(mean, deviation)| mean + standard * deviation);
    let bracket = each.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], quantile| {
        [low.min(quantile), high.max(quantile)]
    });
    if bracket[1] - bracket[0] <= 0.0 {
        return bracket[0];
    }
    invert(probability, bracket, |x| {
        let (mut below, mut slope) = (0.0, 0.0);
        for (mean, deviation) in means.iter().zip(deviations) {
            let z = (x - mean) / deviation;
            if *deviation > 0.0 {
                below += standard_cumulative(z);
                slope += (-0.5 * z * z).exp() / (TAU.sqrt() * deviation);
            } else {
                below += f64::from(u8::from(x >= *mean));
            }
        }
        (below / means.len() as f64, slope / means.len() as f64)
    })
}

/// Returns the argument at which an increasing function has the value `probability`, found by Newton steps inside a shrinking bracket. `function`
/// returns the value and the derivative.
fn invert(probability: f64, [mut low, mut high]: [f64; 2], function: impl Fn(f64) -> (f64, f64)) -> f64 {
    if !(probability > 0.0 && probability < 1.0) {
        return match probability {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    let near = 1e-14 * (high - low);
    // A bound on the rounding error of the value. A smaller difference is meaningless, even if it leads to a step that is longer than `near`.
    let noise = 8.0 * f64::EPSILON * probability;
    let mut x = 0.5 * (low + high);
    for _ in 0..200 {
        let (value, slope) = function(x);
        // If the slope is zero, the function is constant up to the next point mass of the mixture, so the search continues.
        if slope > 0.0 && (value - probability).abs() <= noise {
            return x;
        }
        if value > probability {
            high = x;
        } else {
            low = x;
        }
        let newton = x - (value - probability) / slope;
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if (next - x).abs() <= near {
            return next;
        }
        x = next;
    }
    x
}

/// Returns the factor by which the probit approximation multiplies a logit with this variance, `(1 + pi / 8 variance)^-1/2` (MacKay 1992, "The
/// evidence framework applied to classification networks").
fn moderation(variance: f64) -> f64 {
    1.0 / (1.0 + PI / 8.0 * positive(variance)).sqrt()
}

/// Returns the log probabilities of false and true for a Normal logit, by the probit approximation.
pub fn probit_truth(mean: f64, variance: f64) -> [f64; 2] {
    let logit = mean * moderation(variance);
    [-softplus(logit), -softplus(-logit)]
}

/// Writes the log probabilities of the classes by the probit approximation. Each logit is divided by `(1 + pi / 8 V_kk)^1/2`, where `V_kk` is its
/// variance, and the softmax of the results is taken (equation 13 of Daxberger et al. 2021). Only the diagonal of the covariance is used.
pub fn probit(mean: &[f64], covariance: &[f64], log_probabilities: &mut [f64]) {
    let k = mean.len();
    for (i, (to, mean)) in log_probabilities.iter_mut().zip(mean).enumerate() {
        *to = mean * moderation(covariance[i * k + i]);
    }
    normalise(log_probabilities);
}

/// Writes the log probabilities of the classes by the Laplace bridge. The distribution of the logits is conditioned on a sum of zero. The bridge then
/// maps it to a Dirichlet distribution (Hobbhahn et al. 2022, "Fast predictive uncertainty for classification with Bayesian deep networks"). The
/// probabilities are the mean of this Dirichlet distribution.
///
/// Each parameter of the Dirichlet distribution is divided by the variance of its own logit. If one logit has a much smaller variance than the
/// others, for example because the covariance has a low rank, this logit alone determines the result, which is then far from the mean of the softmax.
/// If the variance of a logit is zero, the Dirichlet distribution does not exist, because its parameter would be infinite. This can happen after
/// conditioning on a sum of zero, for example if the covariance has rank one. The result is then the softmax of the mean.
pub fn bridge(mean: &[f64], covariance: &[f64], log_probabilities: &mut [f64]) {
    through_bridge(mean, covariance, log_probabilities, |_| 1.0);
}

/// Computes the same as [`bridge`], but first scales the logits such that their mean variance is `(K / 2)^1/2`. The bridge is most accurate for this
/// variance (Hobbhahn et al. 2022).
pub fn bridge_normalised(mean: &[f64], covariance: &[f64], log_probabilities: &mut [f64]) {
    let k = mean.len() as f64;
    through_bridge(mean, covariance, log_probabilities, |mean_variance| {
        mean_variance / (k / 2.0).sqrt()
    });
}

/// The variance of a logit is treated as zero if it is at most this fraction of the sum of all variances. The result is then the softmax of the mean.
const CERTAIN: f64 = 1e-12;

/// Applies the Laplace bridge to logits after scaling. `scale` receives the mean variance of the logits, and returns the number by which the
/// covariance is divided.
fn through_bridge(mean: &[f64], covariance: &[f64], log_alpha: &mut [f64], scale: impl Fn(f64) -> f64) {
    let k = mean.len();
    let row_sum = |i: usize| covariance[i * k..(i + 1) * k].iter().sum::<f64>();
    let total: f64 = (0..k).map(row_sum).sum();
    let trace: f64 = (0..k).map(|i| covariance[i * k + i]).sum();
    // If the elements of the covariance add up to zero, the sum of the logits is already constant.
    let inverse = if total > 1e-14 * trace { 1.0 / total } else { 0.0 };
    let shift = mean.iter().sum::<f64>() * inverse;
    let variance = |i: usize| covariance[i * k + i] - row_sum(i).powi(2) * inverse;
    let divisor = scale((0..k).map(variance).sum::<f64>() / k as f64);
    // A variance below the threshold is only a rounding error.
    let least = (0..k).map(variance).fold(f64::INFINITY, f64::min);
    if least <= CERTAIN * trace {
        log_alpha.copy_from_slice(mean);
        return normalise(log_alpha);
    }
    for (i, (to, mean)) in log_alpha.iter_mut().zip(mean).enumerate() {
        *to = (mean - row_sum(i) * shift) / divisor.sqrt();
    }
    let inverses = log_sum(log_alpha, -1.0);
    let constant = (1.0 - 2.0 / k as f64).max(0.0).ln();
    for (i, to) in log_alpha.iter_mut().enumerate() {
        let exponential = *to + inverses - 2.0 * (k as f64).ln();
        *to = log_add(constant, exponential) - (variance(i) / divisor).ln();
    }
    normalise(log_alpha);
}

/// Returns `log(exp a + exp b)`.
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// Returns the logarithm of the sum of `exp(sign * x)` over all values `x`.
fn log_sum(values: &[f64], sign: f64) -> f64 {
    let largest = values
        .iter()
        .fold(f64::NEG_INFINITY, |largest, value| largest.max(sign * value));
    if largest.is_infinite() {
        return largest;
    }
    largest
        + values
            .iter()
            .map(|value| (sign * value - largest).exp())
            .sum::<f64>()
            .ln()
}

/// Subtracts the logarithm of the sum of exponentials from each logit.
fn normalise(logits: &mut [f64]) {
    let sum = log_sum(logits, 1.0);
    logits.iter_mut().for_each(|logit| *logit -= sum);
}

/// Buffers for draws of the outputs of one row. The buffers are reused, so that memory is not allocated for each row.
pub struct OutputDraws {
    roots: Roots,
    root: Vec<f64>,
    outputs: usize,
}

impl OutputDraws {
    /// Allocates buffers for draws of `outputs` elements: the outputs of one row, or of several rows that are drawn jointly.
    pub fn new(outputs: usize) -> OutputDraws {
        OutputDraws {
            roots: Roots::new(outputs, Precision::F64),
            root: vec![0.0; outputs * outputs],
            outputs,
        }
    }

    /// Writes the draws `f = mean + C' z` `[draws, rows, K]`, where `C' C` is the covariance. The covariance may be singular. `mean` has the shape
    /// `[rows, K]`, and `covariance` has the shape `[rows, K, K]`. `noise` `[draws, rows, K]` holds the independent standard Normal numbers `z`.
    /// Returns the number of rows whose negative eigenvalues were replaced by zero.
    ///
    /// # Errors
    /// Fails if a covariance is not finite, or if its eigenvalues could not be computed.
    pub fn write(
        &mut self,
        mean: &[f64],
        covariance: &[f64],
        noise: &[f64],
        out: &mut [f64],
    ) -> Result<usize, RootError> {
        let (k, mut clipped) = (self.outputs, 0);
        let rows = mean.len().checked_div(k).unwrap_or(0);
        for row in 0..rows {
            let covariance = &covariance[row * k * k..(row + 1) * k * k];
            clipped += self
                .roots
                .cotangents(covariance, &mut self.root)
                .map_err(|failure| RootError { row, ..failure })?;
            let mean = &mean[row * k..(row + 1) * k];
            let draws = noise.chunks_exact(rows * k).zip(out.chunks_exact_mut(rows * k));
            for (noise, out) in draws {
                let out = &mut out[row * k..(row + 1) * k];
                out.copy_from_slice(mean);
                for (z, direction) in noise[row * k..(row + 1) * k]
                    .iter()
                    .zip(self.root.chunks_exact(k))
                {
                    out.iter_mut()
                        .zip(direction)
                        .for_each(|(to, from)| *to += z * from);
                }
            }
        }
        Ok(clipped)
    }
}
