//! The marginal likelihood, and the search for factors on the prior precision that maximise it.
//!
//! Every log likelihood and curvature here is divided by the temperature. For a subnetwork, the prior, the number of weights and the determinants
//! cover only the chosen weights.

mod grid;
mod scalar;
mod tuning;

pub use grid::{Grid, search};
pub use scalar::ScalarEvidence;
pub use tuning::{EvidenceTerms, Tuning, evaluate, groups};

use std::f64::consts::TAU;

/// The upper bound for a factor on the prior precision. The lower bound is one over this number. Bounds are needed because, for weights that the
/// data do not inform, no prior precision maximises the marginal likelihood.
pub const LARGEST_FACTOR: f64 = 1e8;

/// Returns the Laplace approximation of the log marginal likelihood at a maximum (MacKay 1992, "Bayesian interpolation"). The result is the sum of
/// two terms: the log joint density at the maximum, including all normalising constants, and the log volume of the Gaussian, which depends on the
/// log determinant of its precision.
pub fn log_evidence(log_likelihood: f64, log_prior: f64, weights: usize, log_determinant: f64) -> f64 {
    log_likelihood + log_prior + 0.5 * (weights as f64 * TAU.ln() - log_determinant)
}

/// Returns the Laplace approximation of the log marginal likelihood for a Normal prior. `scatter` is `(w - m)' P0 (w - m)`. `log_determinant_ratio`
/// is the log determinant of the posterior precision minus the log determinant of the prior precision. The point `w` need not be an exact maximum.
pub fn log_evidence_of_normal(log_likelihood: f64, scatter: f64, log_determinant_ratio: f64) -> f64 {
    log_likelihood - 0.5 * (log_determinant_ratio + scatter)
}

/// The result of a search for factors.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TuningResult {
    /// The factors that the search found.
    pub factors: Vec<f64>,
    /// The log marginal likelihood with the initial factors of the search.
    pub before: f64,
    /// The log marginal likelihood with the final factors. It is never below `before`.
    pub after: f64,
    /// The number of steps that were taken.
    pub steps: usize,
    /// True if the search ended because all further steps were below the tolerance. False if it reached the maximum number of steps.
    pub converged: bool,
}

impl TuningResult {
    /// Returns the factors that equal one of the two bounds: see [`LARGEST_FACTOR`].
    pub fn at_bounds(&self) -> impl Iterator<Item = f64> {
        let at_bound = |factor: &f64| factor.ln().abs() >= LARGEST_FACTOR.ln() - 1e-9;
        self.factors.iter().copied().filter(at_bound)
    }
}

/// Limits the logarithm of a factor to the range between the bounds.
fn bounded(log_factor: f64) -> f64 {
    let bound = LARGEST_FACTOR.ln();
    log_factor.clamp(-bound, bound)
}
