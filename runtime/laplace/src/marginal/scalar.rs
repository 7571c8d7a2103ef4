//! Searches for the factor on the precision of the whole prior that maximises the marginal likelihood. The marginal likelihood is computed from
//! eigenvalues.

use super::{TuningResult, bounded, log_evidence_of_normal};

/// The log marginal likelihood as a function of one factor `t`. It depends on the curvature only through the eigenvalues that the curvature has in
/// coordinates that make the prior standard normal. The time for an evaluation is proportional to the number of
/// eigenvalues. If all eigenvalues are positive or zero, the log marginal likelihood is strictly concave in `log t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalarEvidence<'a> {
    /// The eigenvalues `mu` of `P0^-1/2 H P0^-1/2`, as [`crate::posterior::whitened`] returns them. The eigenvalues are not divided by the
    /// temperature, and eigenvalues of zero may be left out.
    pub eigenvalues: &'a [f64],
    /// The temperature. The curvature is divided by it.
    pub temperature: f64,
    /// The sum `(w - m)' P0 (w - m)`.
    pub scatter: f64,
    /// The log likelihood at `w`, divided by the temperature.
    pub log_likelihood: f64,
}

impl ScalarEvidence<'_> {
    /// Returns the log marginal likelihood for a factor. The result is minus infinity if the precision is not positive definite.
    pub fn log_evidence(&self, factor: f64) -> f64 {
        let ratios = self
            .eigenvalues
            .iter()
            .map(|value| (value / (self.temperature * factor)).ln_1p());
        let ratio: f64 = ratios.sum();
        if ratio.is_nan() {
            return f64::NEG_INFINITY;
        }
        log_evidence_of_normal(self.log_likelihood, factor * self.scatter, ratio)
    }

    /// Returns the first two derivatives of the log marginal likelihood with respect to the logarithm of the factor. The first derivative is half of
    /// `gamma - t scatter`, where `gamma = sum mu / (mu + T t)` is the effective number of parameters (MacKay 1992, "Bayesian interpolation").
    pub fn slopes(&self, factor: f64) -> [f64; 2] {
        let scattered = factor * self.scatter;
        let (mut first, mut second) = (-scattered, -scattered);
        for value in self.eigenvalues {
            let share = value / (value + self.temperature * factor);
            first += share;
            second -= share * (1.0 - share);
        }
        [0.5 * first, 0.5 * second]
    }

    /// Finds the factor that maximises the log marginal likelihood by Newton steps from `start`. The logarithm of the factor has an error of at most
    /// 1e-8. A step is halved until the log marginal likelihood increases. If the precision at the start is not positive definite, the result is the
    /// start, and the search is marked as not converged.
    pub fn maximise(&self, start: f64) -> TuningResult {
        let mut at = bounded(start.ln());
        let before = self.log_evidence(at.exp());
        let mut tuned = TuningResult {
            factors: vec![start],
            before,
            after: before,
            steps: 0,
            converged: false,
        };
        while !tuned.converged && tuned.steps < 200 && before.is_finite() {
            let next = self.climb(at, tuned.after);
            tuned.steps += 1;
            tuned.converged = (next - at).abs() < 1e-8;
            at = next;
            tuned.after = self.log_evidence(at.exp()).max(tuned.after);
            tuned.factors[0] = at.exp();
        }
        tuned
    }

    /// Returns the logarithm of the factor after one step.
    fn climb(&self, at: f64, evidence: f64) -> f64 {
        let [first, second] = self.slopes(at.exp());
        // If all eigenvalues are nonnegative, the function is concave. If the function is not concave, any step that increases it is accepted.
        let curvature = second.abs().max(1e-12 * first.abs());
        let newton = if first == 0.0 { 0.0 } else { first / curvature };
        let mut step = newton.clamp(-4.0, 4.0);
        for _ in 0..60 {
            let next = bounded(at + step);
            if self.log_evidence(next.exp()) >= evidence - 1e-13 * (1.0 + evidence.abs()) {
                return next;
            }
            step *= 0.5;
        }
        at
    }
}
