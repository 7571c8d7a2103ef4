//! The search for a maximum with online tuning. During the search, the prior factors and the noise
//! are tuned repeatedly, to maximise the marginal likelihood. The source is algorithm 1 of Immer et
//! al. (2021), "Scalable marginal likelihood estimation for model selection in deep learning".
//!
//! Note [Noise and evidence]. At a point of the search, the weights need not be at a maximum.
//! There, the log marginal likelihood is approximated by the log joint density minus half the log
//! of a ratio. The ratio is the determinant of the posterior precision, divided by the determinant
//! of the prior precision. The optimiser maximises the log joint density. The term with the
//! determinants depends on the noise level too. Therefore, the derivative of this term with respect
//! to the noise level is added to the gradient of the optimiser. This derivative stays constant
//! until the next tuning. For a Normal likelihood, the derivative with respect to the log of the
//! noise is the effective number of parameters `gamma`. The fixed point of the search is therefore
//! that of MacKay (1992, "Bayesian interpolation"). There, the noise variance is the residual sum
//! of squares divided by `N - gamma`.

use super::{Around, Before};
use crate::laplace::curve::{self, Curved};
use crate::laplace::jacobians::Which;
use crate::laplace::machines::Evaluator;
use crate::laplace::{memory, others};
use bnnc_abi::methods::laplace::{EVIDENCE_SLOPE, PRIOR_FACTOR, Weights};
use bnnc_base::fault::Fault;
use bnnc_core::context::Stop;
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use bnnc_laplace::curvature::Prior;
use bnnc_laplace::marginal::TuningResult;
use bnnc_training::{Task, TrainingResult, Watch, train};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// During the search, the prior factors are tuned at most this number of times. The tuning at the
/// end is not counted.
const TUNINGS: usize = 20;

/// The number of steps in one tuning of several factors. The next tuning continues from its result.
const STEPS: usize = 10;

/// The prior factors, and the slope of the noise. Both were chosen by an online search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// The factors on the precision of the prior.
    pub tuned: TuningResult,
    /// For each noise state, the derivative of the log marginal likelihood, except for the part
    /// that comes from the log joint density.
    pub slope: StateValues,
}

/// A point of the search where the factors were tuned.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Point {
    /// The number of epochs that the search took to reach this point.
    epoch: usize,
    values: StateValues,
    chosen: Chosen,
    /// The log marginal likelihood plus the log prior of the parameters other than weights. The
    /// value is minus infinity for a subnetwork, because its points cannot be compared. Each point
    /// has a different subnetwork, and the marginal likelihood does not include the prior factors
    /// of weights outside the subnetwork.
    log_evidence: f64,
}

/// Watches a search, and tunes the factors and the noise at some of its points.
struct Search<'a> {
    around: &'a Around<'a>,
    epochs: usize,
    state: Tunings,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tunings {
    factors: Vec<f64>,
    /// The slope of the noise that was last written to the machine.
    slope: StateValues,
    best: Option<Point>,
}

impl Watch for Search<'_> {
    fn epoch(&mut self, epoch: usize, machine: &mut Machine) -> Result<(), Stop> {
        let every = self.epochs.div_ceil(TUNINGS).max(1);
        if !epoch.is_multiple_of(every) && epoch != self.epochs {
            return Ok(());
        }
        let state = &mut self.state;
        let at = (epoch, parameters(self.around, machine)?);
        let point = match self.around.tune(at, &mut state.factors) {
            // A tuning before the end of the search may fail, for example because only a few
            // weights affect an output. The search then continues with the previous factors.
            Err(Stop::Diagnostics(_)) if epoch < self.epochs => return Ok(()),
            tuned => tuned?,
        };
        self.around
            .write_prior(machine, &state.factors, &point.chosen.slope)?;
        state.slope.clone_from(&point.chosen.slope);
        let is_better = |best: &Point| point.log_evidence >= best.log_evidence;
        if state.best.as_ref().is_none_or(is_better) {
            state.best = Some(point);
        }
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>, Fault> {
        postcard::to_extend(&self.state, Vec::new()).map_err(|error| Fault::Bug(error.to_string()))
    }

    fn restore(&mut self, bytes: &[u8], machine: &mut Machine) -> Result<bool, Stop> {
        let Ok(state) = postcard::from_bytes::<Tunings>(bytes) else {
            return Ok(false);
        };
        if state.factors.len() != self.state.factors.len() {
            return Ok(false);
        }
        self.around.write_prior(machine, &state.factors, &state.slope)?;
        self.state = state;
        Ok(true)
    }
}

impl Around<'_> {
    /// Searches for the maximum from a start. Keeps the point with the highest marginal likelihood.
    /// For a subnetwork, keeps the last point.
    ///
    /// # Errors
    /// Fails if the training fails.
    pub(super) fn online(
        &self,
        task: &Task<'_>,
        start: StateValues,
    ) -> Result<(TrainingResult, Chosen), Stop> {
        let mut search = Search {
            around: self,
            epochs: self
                .laplace
                .train
                .options
                .epochs_of(self.infer.examples(self.dataset.train.count)),
            state: Tunings {
                factors: vec![1.0; memory::all(self.laplace)],
                slope: StateValues::default(),
                best: None,
            },
        };
        let mut fitted = train(task, start, Some(&mut search))?;
        if fitted.interrupted {
            return Err(Stop::Interrupted);
        }
        let Tunings {
            mut factors, best, ..
        } = search.state;
        // With `patience`, the search may end before the first tuning.
        let best = match best {
            Some(best) => best,
            None => self.tune((fitted.best_epoch, fitted.values.as_ref().clone()), &mut factors)?,
        };
        (fitted.values, fitted.best_epoch) = (Arc::new(best.values), best.epoch);
        // The loss of the steps is computed from the joint density under the prior of the model.
        // The best point was selected by the marginal likelihood instead. Its loss is therefore not
        // reported.
        fitted.loss = f64::NAN;
        Ok((fitted, best.chosen))
    }

    /// Tunes the factors of all weights at one point of the search. The factors stay unchanged if
    /// the posterior precision is not positive definite. At a point that is not a maximum, the
    /// precision may not be positive definite.
    fn tune(&self, (epoch, values): (usize, StateValues), factors: &mut Vec<f64>) -> Result<Point, Stop> {
        let evaluation = self.evaluation(&values)?;
        let Before {
            mut tuned,
            facts,
            of_others,
            ..
        } = self.before(&evaluation)?;
        tuned.scale(facts.prior_scale);
        let start = tuned.of_groups(factors);
        let found = tuned.by_evidence(&start, STEPS).unwrap_or(TuningResult {
            factors: start,
            before: f64::NEG_INFINITY,
            after: f64::NEG_INFINITY,
            steps: 0,
            converged: false,
        });
        *factors = tuned.of_all(&found.factors);
        // This curvature is freed before other curvatures are computed.
        let (index, prior) = tuned.into_prior(&found.factors);
        let which = index.as_deref().map_or(Which::All, Which::Selected);
        let slope = self.slope_of_noise(&evaluation, which, &prior)?;
        let log_evidence = match which {
            Which::All => found.after + of_others,
            Which::Selected(_) => f64::NEG_INFINITY,
        };
        Ok(Point {
            epoch,
            chosen: Chosen { tuned: found, slope },
            log_evidence: if log_evidence.is_nan() {
                f64::NEG_INFINITY
            } else {
                log_evidence
            },
            values,
        })
    }

    /// For each element of the noise, returns a derivative: that of minus half the log determinant
    /// of the posterior precision. The derivative is computed by central differences of curvatures.
    fn slope_of_noise(
        &self,
        evaluation: &Evaluator,
        which: Which,
        prior: &Prior,
    ) -> Result<StateValues, Stop> {
        let step = others::step(self.infer.precision);
        let log_determinant = |state: &str, at: usize, by: f64| -> Result<f64, Stop> {
            let mut values = evaluation.values.clone();
            if let Some(value) = values.get_mut(state).and_then(|own| own.get_mut(at)) {
                *value += by;
            }
            let Curved { curvature, .. } = curve::curvature(&evaluation.at(&values), which)?;
            let posterior = curvature.posterior(prior, 1.0, &self.context.pool);
            Ok(posterior.map_or(f64::NAN, |posterior| posterior.log_determinant()))
        };
        let mut slopes = StateValues::default();
        for state in &self.laplace.noise {
            let count = evaluation.values.get(state).map_or(0, Vec::len);
            let one = |at: usize| -> Result<f64, Stop> {
                let [above, below] = [step, -step].map(|by| log_determinant(state, at, by));
                let slope = -0.5 * (above? - below?) / (2.0 * step);
                Ok(if slope.is_finite() { slope } else { 0.0 })
            };
            slopes.insert(state.clone(), (0..count).map(one).collect::<Result<_, Stop>>()?);
        }
        Ok(slopes)
    }

    /// Writes the prior factors and the slope of the noise to the machine that runs the search.
    fn write_prior(&self, machine: &mut Machine, factors: &[f64], slope: &StateValues) -> Result<(), Stop> {
        for (weights, range) in Weights::placed(&self.laplace.weights) {
            ports::real(
                machine,
                &format!("{}/{PRIOR_FACTOR}", weights.state),
                &factors[range],
            )?;
        }
        for (state, slope) in slope {
            ports::real(machine, &format!("{state}/{EVIDENCE_SLOPE}"), slope)?;
        }
        Ok(())
    }
}

/// Reads the current parameters from the machine of a training run.
fn parameters(around: &Around, machine: &Machine) -> Result<StateValues, Stop> {
    let parameters = around.infer.states.iter().filter(|state| state.parameter);
    let read = parameters.map(|state| Ok((state.name.clone(), machine.read_real(&state.name)?)));
    read.collect()
}
