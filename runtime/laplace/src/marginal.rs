//! The marginal likelihood, and factors on the precision of the prior that maximise it.
//!
//! With a temperature, every log likelihood and curvature here is that of the data divided by it. Of a subnetwork only the chosen weights enter: their
//! prior, their number, their determinants.

mod grid;
mod scalar;
mod tuning;

pub use grid::{Grid, search};
pub use scalar::Scalar;
pub use tuning::{Evaluation, Tuning, evaluate, groups};

use std::f64::consts::TAU;

/// Factors on the precision of the prior are kept between the inverse of this and this: what the data are silent on has no maximum.
pub const LARGEST_FACTOR: f64 = 1e8;

/// Laplace's approximation of the log marginal likelihood at a maximum (MacKay 1992, "Bayesian interpolation"): the log joint
/// density there, with all normalisers, and the log volume of the Gaussian with this log determinant of its precision.
pub fn log_evidence(log_likelihood: f64, log_prior: f64, weights: usize, log_determinant: f64) -> f64 {
    log_likelihood + log_prior + 0.5 * (weights as f64 * TAU.ln() - log_determinant)
}

/// The same for a Normal prior: `scatter` is `(w - m)' P0 (w - m)`, and the log determinant that of the precision of the posterior over that of
/// the prior. It holds at any `w` that is taken for the maximum.
pub fn log_evidence_of_normal(log_likelihood: f64, scatter: f64, log_determinant_ratio: f64) -> f64 {
    log_likelihood - 0.5 * (log_determinant_ratio + scatter)
}

/// What a search for factors found.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tuned {
    /// The factors.
    pub factors: Vec<f64>,
    /// The log marginal likelihood at the start.
    pub before: f64,
    /// The log marginal likelihood with the factors; never lower.
    pub after: f64,
    /// Steps taken.
    pub steps: usize,
    /// Whether the last step was below the tolerance; else there were too few.
    pub converged: bool,
}

impl Tuned {
    /// The factors that ran into a bound; see [`LARGEST_FACTOR`].
    pub fn at_bounds(&self) -> impl Iterator<Item = f64> {
        let at_bound = |factor: &f64| factor.ln().abs() >= LARGEST_FACTOR.ln() - 1e-9;
        self.factors.iter().copied().filter(at_bound)
    }
}

/// The logarithm of a factor, inside the bounds.
fn bounded(log_factor: f64) -> f64 {
    let bound = LARGEST_FACTOR.ln();
    log_factor.clamp(-bound, bound)
}
