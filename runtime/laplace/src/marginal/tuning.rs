//! Searches for factors on the prior precisions of groups of weights. The search works for every form of the posterior.

use super::{TuningResult, bounded, log_evidence_of_normal};
use crate::curvature::{Curvature, NotPositive, Prior};
use bnnc_abi::methods::laplace::PriorStructure;
use bnnc_kernels::pool::Pool;

/// Returns the group index of each weight, which is also the index of the factor on its precision. `elements` holds the number of weights of each
/// array.
pub fn groups(structure: PriorStructure, elements: &[usize]) -> Vec<usize> {
    match structure {
        PriorStructure::Scalar => vec![0; elements.iter().sum()],
        PriorStructure::Layer => {
            let arrays = elements.iter().enumerate();
            arrays
                .flat_map(|(array, elements)| std::iter::repeat_n(array, *elements))
                .collect()
        }
        PriorStructure::Diagonal => (0..elements.iter().sum()).collect(),
    }
}

/// The properties of the posterior under one prior precision that determine the log marginal likelihood and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceTerms {
    /// The log determinant of the posterior precision minus the log determinant of the prior precision.
    pub log_determinant_ratio: f64,
    /// The posterior variances `[D]` of the weights.
    pub variances: Vec<f64>,
}

/// Returns a function that can be passed to [`Tuning::maximise`] as `evaluate`. The function computes the posterior from a curvature and a prior with
/// independent elements.
pub fn evaluate(
    curvature: &Curvature,
    prior: &Prior,
    temperature: f64,
    pool: &Pool,
) -> impl Fn(&[f64]) -> Result<EvidenceTerms, NotPositive> {
    move |factors| {
        let posterior = curvature.posterior(&prior.scaled(factors), temperature, pool)?;
        let ratio = posterior.log_determinant_ratio();
        Ok(EvidenceTerms {
            log_determinant_ratio: ratio.ok_or(NotPositive {
                element: None,
                value: f64::NAN,
            })?,
            variances: posterior.variances(pool),
        })
    }
}

/// The settings of a search for factors on the prior precisions of groups of weights. The search maximises the log marginal likelihood. The weights
/// have independent Normal priors, and their values are fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning<'a> {
    /// The prior precisions `[D]` without factors.
    pub precision: &'a [f64],
    /// The value of `precision (w - m)^2` for each weight, `[D]`, with the precision before it is multiplied by a factor.
    pub scatter: &'a [f64],
    /// The index of the factor on the precision of each weight, `[D]`: see [`groups`].
    pub groups: &'a [usize],
    /// The log likelihood at `w`, divided by the temperature.
    pub log_likelihood: f64,
    /// The maximum number of steps. 200 steps are enough to find a maximum. A few steps are enough if the weights are being optimised and the factors
    /// only need to follow their changes.
    pub steps: usize,
}

/// The search ends when no step changes the logarithm of a factor by more than this.
const TOLERANCE: f64 = 1e-6;

/// A point in the search: the factors, the log marginal likelihood, and the quantities that determine the next step.
struct Place {
    /// The logarithms of the factors.
    logs: Vec<f64>,
    evidence: f64,
    /// The derivatives of the log marginal likelihood with respect to the logarithms of the factors.
    slope: Vec<f64>,
    /// Minus the second derivatives of the log marginal likelihood, computed as if the weights were independent.
    bend: Vec<f64>,
}

impl Tuning<'_> {
    /// Returns the log marginal likelihood for these factors `[G]`.
    pub fn log_evidence(&self, factors: &[f64], evaluation: &EvidenceTerms) -> f64 {
        let scatters = self.groups.iter().zip(self.scatter);
        let scatter = scatters.map(|(group, scatter)| factors[*group] * scatter).sum();
        log_evidence_of_normal(self.log_likelihood, scatter, evaluation.log_determinant_ratio)
    }

    /// Returns the derivatives of the log marginal likelihood with respect to the logarithms of the factors, `[G]`. Each derivative is half of
    /// `gamma_g - t_g scatter_g`, where `gamma_g` is the effective number of parameters of the group (MacKay 1992, "Bayesian interpolation").
    /// `gamma_g` is the sum of `1 - t_g precision_d variance_d` over the weights of the group.
    pub fn slope(&self, factors: &[f64], evaluation: &EvidenceTerms) -> Vec<f64> {
        self.slope_and_bend(factors, evaluation).0
    }

    fn slope_and_bend(&self, factors: &[f64], evaluation: &EvidenceTerms) -> (Vec<f64>, Vec<f64>) {
        let (mut slope, mut bend) = (vec![0.0; factors.len()], vec![0.0; factors.len()]);
        for (weight, group) in self.groups.iter().enumerate() {
            let share = factors[*group] * self.precision[weight] * evaluation.variances[weight];
            let scattered = factors[*group] * self.scatter[weight];
            slope[*group] += 0.5 * (1.0 - share - scattered);
            bend[*group] += 0.5 * ((share * (1.0 - share)).max(0.0) + scattered);
        }
        (slope, bend)
    }

    /// Searches from the factors `start` `[G]` until no step increases the log marginal likelihood. The argument of `evaluate` holds the factor of
    /// each weight, `[D]`, as [`crate::curvature::Prior::scaled`] expects it. See [`evaluate`].
    ///
    /// A step is a Newton step in the logs of the factors, computed as if the weights were independent. The direction of the step increases the log
    /// marginal likelihood for any curvature. For a diagonal curvature, the step is exact. The step is halved until the log marginal likelihood does
    /// not decrease. If there is only one factor, the second derivative is estimated from the last two slopes instead.
    ///
    /// # Errors
    /// Fails if `evaluate` fails at the start. An error at a later point does not end the search, but shortens the step.
    pub fn maximise<E>(
        &self,
        start: &[f64],
        mut evaluate: impl FnMut(&[f64]) -> Result<EvidenceTerms, E>,
    ) -> Result<TuningResult, E> {
        let mut place = self.place(
            start.iter().map(|factor| bounded(factor.ln())).collect(),
            &mut evaluate,
        )?;
        let (before, mut steps, mut converged) = (place.evidence, 0, false);
        while steps < self.steps && !converged && before.is_finite() {
            match self.climb(&place, &mut evaluate) {
                Some(next) => (place, steps) = (next, steps + 1),
                None => converged = true,
            }
        }
        Ok(TuningResult {
            factors: place.logs.iter().map(|log| log.exp()).collect(),
            before,
            after: place.evidence,
            steps,
            converged,
        })
    }

    fn place<E>(
        &self,
        logs: Vec<f64>,
        evaluate: &mut impl FnMut(&[f64]) -> Result<EvidenceTerms, E>,
    ) -> Result<Place, E> {
        let factors: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
        let of_weights: Vec<f64> = self.groups.iter().map(|group| factors[*group]).collect();
        let evaluation = evaluate(&of_weights)?;
        let evidence = self.log_evidence(&factors, &evaluation);
        let (slope, bend) = self.slope_and_bend(&factors, &evaluation);
        Ok(Place {
            logs,
            evidence,
            slope,
            bend,
        })
    }

    /// Returns the next point of the search. Returns `None` if only steps below the tolerance increase the log marginal likelihood.
    fn climb<E>(
        &self,
        from: &Place,
        evaluate: &mut impl FnMut(&[f64]) -> Result<EvidenceTerms, E>,
    ) -> Option<Place> {
        let full: Vec<f64> = from.slope.iter().zip(&from.bend).map(step).collect();
        let mut share = 1.0;
        loop {
            let steps = from.logs.iter().zip(&full);
            let logs: Vec<f64> = steps.map(|(log, step)| bounded(log + share * step)).collect();
            let moves = logs.iter().zip(&from.logs).map(|(next, log)| (next - log).abs());
            if moves.fold(0.0, f64::max) < TOLERANCE {
                return None;
            }
            match self.place(logs, evaluate) {
                Ok(mut next) if next.evidence >= from.evidence - 1e-12 * (1.0 + from.evidence.abs()) => {
                    next.learn(from);
                    return Some(next);
                }
                Ok(_) | Err(_) => share *= 0.5,
            }
        }
    }
}

impl Place {
    /// Estimates the second derivative for a single factor from the slopes at two points.
    fn learn(&mut self, earlier: &Place) {
        if let ([slope], [before], [bend]) = (&self.slope[..], &earlier.slope[..], &mut self.bend[..]) {
            let secant = (before - slope) / (self.logs[0] - earlier.logs[0]);
            if secant > 0.0 && secant.is_finite() {
                *bend = secant;
            }
        }
    }
}

/// Returns the change of the logarithm of a factor in one step. Far from the maximum, the log marginal likelihood is nearly linear, and Newton steps
/// are too long. A step therefore multiplies or divides a factor by at most about fifty.
fn step((slope, bend): (&f64, &f64)) -> f64 {
    // If neither the data nor the prior affects a group, its slope consists only of rounding errors.
    if slope.abs() < 1e-14 {
        0.0
    } else {
        (slope / bend).clamp(-4.0, 4.0)
    }
}
