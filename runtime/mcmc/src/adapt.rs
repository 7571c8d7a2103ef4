//! The adaptation of a step size and a metric during the warm-up.

pub mod gradients;
pub mod metric;
pub mod step_size;
pub mod windows;

use bnnc_abi::methods::sampling::{Adaptation, MetricKind};
use gradients::Spreads;
use metric::{RunningMoments, Whitening};
use serde::{Deserialize, Serialize};
use step_size::DualAveraging;
use windows::{WarmupRole, WarmupWindows};

/// The quantities that changed in an iteration of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the step size changed.
    Step,
    /// The step size and the metric changed.
    Metric,
    /// Only the step size changed. The metric is final from here on, so the step sizes of the following iterations are averaged.
    Last,
    /// The metric changed so much that the old step size is useless. If the step size is not fixed, the caller must search for a step size of the
    /// right order of magnitude and pass it to [`Warmup::restart`].
    Order,
}

/// The method of learning the metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Learner {
    /// The metric does not change.
    Fixed,
    /// The metric is learnt from positions, in windows.
    Windows {
        windows: WarmupWindows,
        moments: RunningMoments,
    },
    /// The metric is learnt from positions and gradients.
    Spreads(Box<Spreads>),
}

/// The state of a warm-up, and the step size and metric that it has learnt so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warmup {
    length: usize,
    done: usize,
    target: f64,
    /// The step size that the user has set; `None` if the step size is adapted.
    fixed: Option<f64>,
    dual: DualAveraging,
    learner: Learner,
    whitening: Whitening,
}

impl Warmup {
    /// Begins a warm-up of `length` iterations in `dimension` dimensions. This warm-up learns the metric from positions, without gradients.
    pub fn new(adaptation: &Adaptation, dimension: usize, length: usize) -> Warmup {
        let learnt = |whitening, dense| {
            let (windows, moments) = (WarmupWindows::new(length), RunningMoments::new(dimension, dense));
            (whitening, Learner::Windows { windows, moments })
        };
        let (whitening, learner) = match adaptation.metric {
            MetricKind::Unit => (Whitening::Unit, Learner::Fixed),
            MetricKind::Automatic | MetricKind::Diagonal | MetricKind::Windowed => {
                learnt(Whitening::Diagonal(vec![1.0; dimension]), false)
            }
            MetricKind::Dense | MetricKind::WindowedDense => {
                learnt(Whitening::Dense(identity(dimension)), true)
            }
        };
        let start = adaptation.step_size.unwrap_or(1.0);
        Warmup {
            length,
            done: 0,
            target: adaptation.target_acceptance,
            fixed: adaptation.step_size,
            dual: DualAveraging::new(adaptation.target_acceptance, start),
            learner,
            whitening,
        }
    }

    /// Begins a warm-up that learns the metric from positions and gradients. `position` is the start of the chain, and `gradient` is the gradient at
    /// this position.
    pub fn with_gradients(
        adaptation: &Adaptation,
        length: usize,
        position: &[f64],
        gradient: &[f64],
    ) -> Warmup {
        let mut warmup = Warmup::new(adaptation, position.len(), length);
        let dense = match adaptation.metric {
            MetricKind::Automatic | MetricKind::Diagonal => Some(false),
            MetricKind::Dense => Some(true),
            MetricKind::Unit | MetricKind::Windowed | MetricKind::WindowedDense => None,
        };
        if let Some(dense) = dense
            && length >= WarmupWindows::SHORTEST
        {
            let mut spreads = Spreads::new(position.len(), length, dense);
            spreads.begin(position, gradient, &mut warmup.whitening);
            warmup.learner = Learner::Spreads(Box::new(spreads));
        }
        warmup
    }

    /// Returns the current metric.
    pub fn whitening(&self) -> &Whitening {
        &self.whitening
    }

    /// Returns whether the warm-up is still running.
    pub fn active(&self) -> bool {
        self.done < self.length
    }

    /// Returns whether the caller must search for a step size before the first iteration.
    pub fn searches(&self) -> bool {
        self.fixed.is_none()
    }

    /// Returns the step size of the next iteration.
    pub fn step_size(&self) -> f64 {
        match self.fixed {
            Some(step_size) => step_size,
            None if self.active() => self.dual.step_size(),
            None => self.dual.mean(),
        }
    }

    /// Returns the step size that the chain would use if the warm-up ended now.
    pub fn settled(&self) -> f64 {
        self.fixed.unwrap_or_else(|| self.dual.mean())
    }

    /// Restarts the adaptation from a step size that a search found.
    pub fn restart(&mut self, step_size: f64) {
        self.dual = DualAveraging::new(self.target, step_size);
    }

    /// Learns from an iteration of the warm-up. The arguments are the acceptance rate of the iteration, its final position, and the gradient at this
    /// position (not whitened), if it is known.
    pub fn learn(&mut self, acceptance: f64, position: &[f64], gradient: Option<&[f64]>) -> Change {
        self.dual.learn(acceptance);
        let iteration = self.done;
        self.done += 1;
        let change = match (&mut self.learner, &mut self.whitening, gradient) {
            (Learner::Windows { windows, moments }, whitening, _) => match windows.part(iteration) {
                WarmupRole::Step => Change::Step,
                WarmupRole::Learn => {
                    moments.add(position);
                    Change::Step
                }
                WarmupRole::Renew => {
                    moments.add(position);
                    moments.estimate(whitening);
                    moments.clear();
                    Change::Order
                }
            },
            (Learner::Spreads(spreads), whitening, Some(gradient)) => {
                spreads.learn(iteration, position, gradient, whitening)
            }
            (Learner::Fixed | Learner::Spreads(_), _, _) => Change::Step,
        };
        if change == Change::Last {
            self.dual.forget();
        }
        change
    }

    /// Returns whether this state belongs to a chain with this number of dimensions.
    pub fn fits(&self, dimension: usize) -> bool {
        let learnt = match &self.learner {
            Learner::Fixed => true,
            Learner::Windows { moments, .. } => moments.fits(dimension),
            Learner::Spreads(spreads) => spreads.fits(dimension),
        };
        learnt && self.whitening.fits(dimension)
    }
}

fn identity(dimension: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; dimension * dimension];
    matrix
        .iter_mut()
        .step_by(dimension + 1)
        .for_each(|element| *element = 1.0);
    matrix
}
