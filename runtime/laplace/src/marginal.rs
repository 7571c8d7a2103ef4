//! The marginal likelihood, and factors on the precision of the prior that maximise it.
//!
//! Every log likelihood and curvature here is divided by the temperature. For a subnetwork, only the chosen weights enter: their prior, their number
//! and their determinants.

mod grid;
mod scalar;
mod tuning;

pub use grid::{Grid, search};
pub use scalar::ScalarEvidence;
pub use tuning::{EvidenceTerms, Tuning, evaluate, groups};

use std::f64::consts::TAU;

/// The largest factor on the precision of the prior; the smallest factor is the inverse of this number. Bounds are needed because the marginal
/// likelihood does not have a maximum in the precision of weights that the data do not inform.
pub const LARGEST_FACTOR: f64 = 1e8;

/// Returns the Laplace approximation of the log marginal likelihood at a maximum (MacKay 1992, "Bayesian interpolation"): the log joint
/// density there, with all normalisers, plus the log volume of the Gaussian, whose precision has this log determinant.
pub fn log_evidence(log_likelihood: f64, log_prior: f64, weights: usize, log_determinant: f64) -> f64 {
    log_likelihood + log_prior + 0.5 * (weights as f64 * TAU.ln() - log_determinant)
}

/// Returns the Laplace approximation of the log marginal likelihood for a Normal prior. `scatter` is `(w - m)' P0 (w - m)`. `log_determinant_ratio`
/// is the log of the determinant of the posterior precision over that of the prior precision. The formula holds for any `w` that is used as the
/// maximum.
pub fn log_evidence_of_normal(log_likelihood: f64, scatter: f64, log_determinant_ratio: f64) -> f64 {
    log_likelihood - 0.5 * (log_determinant_ratio + scatter)
}

/// The result of a search for factors.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TuningResult {
    /// The factors.
    pub factors: Vec<f64>,
    /// The log marginal likelihood at the start.
    pub before: f64,
    /// The log marginal likelihood with the final factors, which is at least the value at the start.
    pub after: f64,
    /// The number of steps taken.
    pub steps: usize,
    /// True if the last step was below the tolerance; false if the number of steps did not suffice.
    pub converged: bool,
}

impl TuningResult {
    /// Returns the factors that are at a bound; see [`LARGEST_FACTOR`].
    pub fn at_bounds(&self) -> impl Iterator<Item = f64> {
        let at_bound = |factor: &f64| factor.ln().abs() >= LARGEST_FACTOR.ln() - 1e-9;
        self.factors.iter().copied().filter(at_bound)
    }
}

/// Clamps the logarithm of a factor to the bounds.
fn bounded(log_factor: f64) -> f64 {
    let bound = LARGEST_FACTOR.ln();
    log_factor.clamp(-bound, bound)
}
