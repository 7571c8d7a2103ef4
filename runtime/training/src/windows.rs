//! Keeps the best parameters of a training run. The best parameters are selected by the mean loss
//! in windows of equal length.
//!
//! The loss of a single step or epoch depends on the chosen rows and on draws. If the losses are noisy,
//! the lowest of them is low partly by chance. The mean over a twentieth of the training is an
//! estimate of the loss in this part. The standard error of this mean is known.

use bnnc_core::context::Stop;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use serde::{Deserialize, Serialize};

/// The number of windows into which a training run is divided.
const WINDOWS: usize = 20;

/// The minimum number of losses in a window. With fewer losses, the window does not have a standard
/// error.
const LEAST: usize = 3;

/// A mean of losses, and its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossEstimate {
    /// The mean.
    pub loss: f64,
    /// The standard error of the mean.
    pub error: f64,
}

impl LossEstimate {
    /// Estimates the mean from independent losses. The standard error is infinite if there are
    /// fewer than three losses.
    pub fn of(losses: &[f64]) -> LossEstimate {
        let count = losses.len() as f64;
        let loss = losses.iter().sum::<f64>() / count;
        let squares: f64 = losses.iter().map(|other| (other - loss).powi(2)).sum();
        let error = match losses.len() < LEAST {
            true => f64::INFINITY,
            false => (squares / (count - 1.0) / count).sqrt(),
        };
        LossEstimate { loss, error }
    }

    /// Returns whether this loss is higher than another loss by more than `least`, and by more than
    /// three standard errors of the difference.
    pub fn is_above(self, other: LossEstimate, least: f64) -> bool {
        self.loss - other.loss > least.max(3.0 * self.error.hypot(other.error))
    }
}

/// The windows of a training run that have been filled so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LossWindows {
    /// The number of losses in the whole training. `added` is the number of losses so far.
    all: usize,
    added: usize,
    /// The mean loss of the open window. `squares` is the sum of squared deviations in this window
    /// (Welford 1962), and `count` is the number of losses in it.
    mean: f64,
    squares: f64,
    count: usize,
    /// The estimate for the last window that is complete.
    last: LossEstimate,
    best: Option<Best>,
    /// The parameters at the end of the best window. The memory of these parameters is allocated at
    /// the start of the training, because a step must not allocate.
    values: StateValues,
}

/// The window with the lowest loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The mean loss of the window, with its standard error.
    pub estimate: LossEstimate,
    /// The epoch when the best window ended, counted from 1.
    pub epoch: usize,
}

/// A training run whose final loss is higher than an earlier loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worsened {
    /// The best window. Its parameters were kept.
    pub best: Best,
    /// The last window of the training.
    pub last: LossEstimate,
}

impl LossWindows {
    /// Prepares windows for `all` losses. The arrays in `values` have the sizes of the parameters,
    /// and are overwritten later.
    pub fn new(all: usize, values: StateValues) -> LossWindows {
        LossWindows {
            all,
            added: 0,
            mean: 0.0,
            squares: 0.0,
            count: 0,
            last: LossEstimate::default(),
            best: None,
            values,
        }
    }

    /// Adds a loss. If this loss completes a window, and the window is the best so far, copies the
    /// parameters from the machine.
    ///
    /// # Errors
    /// Fails if the machine does not have a parameter. This would be a bug.
    pub fn push(&mut self, loss: f64, epoch: usize, machine: &Machine) -> Result<(), Stop> {
        self.added += 1;
        self.count += 1;
        let before = loss - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (loss - self.mean);
        let windows = WINDOWS.min(self.all / LEAST).max(1);
        let window = self.added.saturating_mul(windows) / self.all.max(1);
        let is_closed = window > (self.added - 1).saturating_mul(windows) / self.all.max(1);
        if !is_closed {
            return Ok(());
        }
        let count = self.count as f64;
        self.last = LossEstimate {
            loss: self.mean,
            error: match self.count < LEAST {
                true => f64::INFINITY,
                false => (self.squares / (count - 1.0) / count).sqrt(),
            },
        };
        (self.mean, self.squares, self.count) = (0.0, 0.0, 0);
        if self.best.is_none_or(|best| self.last.loss < best.estimate.loss) {
            self.best = Some(Best {
                estimate: self.last,
                epoch,
            });
            for (name, values) in &mut self.values {
                machine.read_into(name, values)?;
            }
        }
        Ok(())
    }

    /// Returns the parameters at the end of the best window so far. Before the first window has
    /// ended, returns the values that the windows were created with.
    pub fn values(&self) -> &StateValues {
        &self.values
    }

    /// Returns the best window and its parameters if the loss rose. The loss counts as risen if it is higher in
    /// the last window by more than `least`, and by more than the noise of the losses can explain.
    pub fn worsened(self, least: f64) -> Option<(Worsened, StateValues)> {
        let best = self.best?;
        let is_worse = self.last.is_above(best.estimate, least);
        let worsened = Worsened {
            best,
            last: self.last,
        };
        is_worse.then_some((worsened, self.values))
    }
}
