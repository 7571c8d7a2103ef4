//! The maximum under a prior and a noise that maximise the marginal likelihood, which are tuned again and again while it is searched (Immer et al.
//! 2021, "Scalable marginal likelihood estimation for model selection in deep learning", algorithm 1).
//!
//! Note [Noise and evidence]. Where no weight is at a maximum by itself, the log marginal likelihood is the log joint density there and minus half the log
//! determinant of the precision over that of the prior. The optimiser climbs the first; by a noise level the second has a slope too, which is added to
//! that of the optimiser and kept until the next tuning. Of a Normal likelihood the slope by the log of the noise is the effective number of parameters
//! `gamma`, and the fixed point is that of MacKay (1992, "Bayesian interpolation"): the residuals over `N - gamma`.

use super::{Around, Before};
use crate::laplace::curve::{self, Curved};
use crate::laplace::jacobians::Which;
use crate::laplace::machines::Evaluation;
use crate::laplace::{memory, others};
use bnnc_abi::laplace::{EVIDENCE_SLOPE, PRIOR_FACTOR};
use bnnc_base::fault::Fault;
use bnnc_core::context::Stop;
use bnnc_core::ports;
use bnnc_core::states::Values;
use bnnc_kernels::executor::Machine;
use bnnc_laplace::curvature::Prior;
use bnnc_laplace::marginal::Tuned;
use bnnc_training::{Fitted, Task, Watch, train};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How often the factors on the prior are tuned while the maximum is searched, at most, besides once at the end.
const TUNINGS: usize = 20;

/// Steps of one tuning of several factors, which goes on where the one before ended.
const STEPS: usize = 10;

/// What maximises the marginal likelihood.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// The factors on the precision of the prior.
    pub tuned: Tuned,
    /// By the states of the noise, the derivative of what the log marginal likelihood has besides the joint density.
    pub slope: Values,
}

/// A point of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Point {
    /// After how many epochs it was there.
    epoch: usize,
    values: Values,
    chosen: Chosen,
    /// The log marginal likelihood, and the log prior of what is none of the weights. Of a subnetwork none: the next one has other weights, and what
    /// the factors say of those that are left out is not in it.
    log_evidence: f64,
}

/// The tunings during a search.
struct Search<'a> {
    around: &'a Around<'a>,
    epochs: usize,
    state: Tunings,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tunings {
    factors: Vec<f64>,
    /// The slope that the machine was given last.
    slope: Values,
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
            // As where few weights move an output yet: there is nothing to tune here.
            Err(Stop::Diagnostics(_)) if epoch < self.epochs => return Ok(()),
            tuned => tuned?,
        };
        self.around.tell(machine, &state.factors, &point.chosen.slope)?;
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
        self.around.tell(machine, &state.factors, &state.slope)?;
        self.state = state;
        Ok(true)
    }
}

impl Around<'_> {
    /// Searches for the maximum from a start; the point with the highest marginal likelihood is kept, of a subnetwork the last one.
    ///
    /// # Errors
    /// As training.
    pub(super) fn online(&self, task: &Task<'_>, start: Values) -> Result<(Fitted, Chosen), Stop> {
        let mut search = Search {
            around: self,
            epochs: self
                .laplace
                .train
                .options
                .epochs_of(self.infer.examples(self.dataset.train.count)),
            state: Tunings {
                factors: vec![1.0; memory::all(self.laplace)],
                slope: Values::default(),
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
        // Patience may end the search before anything is tuned.
        let best = match best {
            Some(best) => best,
            None => self.tune((fitted.best_epoch, fitted.values.as_ref().clone()), &mut factors)?,
        };
        (fitted.values, fitted.best_epoch) = (Arc::new(best.values), best.epoch);
        // What the steps lower is the joint density under the prior of the model, and not what the kept point is the best of.
        fitted.loss = f64::NAN;
        Ok((fitted, best.chosen))
    }

    /// Tunes the factors of all weights at a point of the search. Where there is no posterior, as the second derivative of a point on the way need not have one, they
    /// stay.
    fn tune(&self, (epoch, values): (usize, Values), factors: &mut Vec<f64>) -> Result<Point, Stop> {
        let evaluation = self.evaluation(&values)?;
        let Before {
            mut tuned,
            facts,
            of_others,
            ..
        } = self.before(&evaluation)?;
        tuned.scale(facts.prior_scale);
        let start = tuned.of_groups(factors);
        let found = tuned.by_evidence(&start, STEPS).unwrap_or(Tuned {
            factors: start,
            before: f64::NEG_INFINITY,
            after: f64::NEG_INFINITY,
            steps: 0,
            converged: false,
        });
        *factors = tuned.of_all(&found.factors);
        // Its curvature is dropped before there are others.
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

    /// The derivative of minus half the log determinant of the precision by the numbers of the noise, from the curvatures on both sides of each.
    fn slope_of_noise(&self, evaluation: &Evaluation, which: Which, prior: &Prior) -> Result<Values, Stop> {
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
        let mut slopes = Values::default();
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

    /// Tells the search what was tuned.
    fn tell(&self, machine: &mut Machine, factors: &[f64], slope: &Values) -> Result<(), Stop> {
        let mut rest = factors;
        for weights in &self.laplace.weights {
            let (own, others) = rest.split_at(weights.elements);
            ports::real(machine, &format!("{}/{PRIOR_FACTOR}", weights.state), own)?;
            rest = others;
        }
        for (state, slope) in slope {
            ports::real(machine, &format!("{state}/{EVIDENCE_SLOPE}"), slope)?;
        }
        Ok(())
    }
}

/// The parameters in a machine that trains.
fn parameters(around: &Around, machine: &Machine) -> Result<Values, Stop> {
    let parameters = around.infer.states.iter().filter(|state| state.parameter);
    let read = parameters.map(|state| Ok((state.name.clone(), machine.read_real(&state.name)?)));
    read.collect()
}
