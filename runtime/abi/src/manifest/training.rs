//! The run-time options of trainings.

use bnnc_base::shape::{Sizes, Symbol};
use serde::{Deserialize, Serialize};

/// Run-time options of the methods that train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// When a training ends.
    pub length: Length,
    /// Trainings from different starts, of which the one with the lowest loss is kept.
    pub restarts: usize,
    /// Rows per step; 0 takes all.
    pub batch: usize,
    /// The learning rate at the start.
    pub rate: f64,
    /// How it changes.
    pub schedule: Schedule,
    /// Epochs without improvement on the validation rows before stopping; 0 never stops.
    pub patience: usize,
    /// Weight samples per step (the symbol `draws` of `train`).
    pub samples: usize,
    /// Draws of Monte-Carlo KLs per step (the symbol `kl_draws` of `train`).
    pub kl_draws: usize,
    /// How the KL is spread over the batches of an epoch.
    pub kl_weight: KlWeight,
}

/// When a training ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// After this number of passes over the training rows.
    Epochs(usize),
    /// After the epoch in which this number of steps is reached.
    Steps(usize),
}

/// How the KL is spread over the batches of an epoch. `N` is all rows, `M` the number of batches, `n` the rows of one.
///
/// A step minimises `kl_weight KL - N/n sum log p(row)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KlWeight {
    /// Weight 1: every step is an unbiased estimate of the negative evidence lower bound, whatever the batch.
    #[default]
    Exact,
    /// Graves (2011): each batch bears `1/M` of the KL and the likelihood of its rows, which makes the weight `N / (M n)`:
    /// 1 where all batches are of one size; a smaller last batch weighs the KL more.
    Graves,
    /// Blundell et al. (2015), equation 9: batch `i` from 1 bears `2^(M - i) / (2^M - 1)` of the KL, which makes the weight
    /// that times `N / n`. Only the sum over an epoch is the bound: the first steps follow the prior and the last ones the
    /// likelihood alone.
    Blundell,
}

impl Training {
    /// The rows of a full step, where there are `rows`; at least 1.
    pub fn batch_of(&self, rows: usize) -> usize {
        match self.batch {
            0 => rows.max(1),
            batch => batch.min(rows).max(1),
        }
    }

    /// The number of epochs over `rows` rows, at most.
    pub fn epochs(&self, rows: usize) -> usize {
        match self.length {
            Length::Epochs(epochs) => epochs,
            Length::Steps(steps) => steps.div_ceil(rows.div_ceil(self.batch_of(rows)).max(1)),
        }
    }

    /// The sizes of a full training step on so many rows.
    pub fn sizes(&self, rows: usize) -> Sizes {
        Sizes::default()
            .with(Symbol::Batch, self.batch_of(rows))
            .with(Symbol::Draws, self.samples)
            .with(Symbol::KlDraws, self.kl_draws.max(1))
            .with(Symbol::Examples, rows)
    }
}

/// The learning rate over a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// The same.
    Constant,
    /// Half a cosine, down to zero.
    Cosine,
    /// The same in the first half, then half a cosine down to zero.
    Cooldown,
    /// A line, down to zero.
    Linear,
    /// Times `factor` after this fraction of the epochs.
    Step {
        /// When, as a fraction of all epochs.
        fraction: f64,
        /// What to multiply by.
        factor: f64,
    },
}

impl Schedule {
    /// The factor of the learning rate after a fraction of the steps.
    pub fn factor(self, done: f64) -> f64 {
        let cosine = |done: f64| 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        match self {
            Schedule::Constant => 1.0,
            Schedule::Cosine => cosine(done),
            Schedule::Cooldown => cosine((2.0 * done - 1.0).max(0.0)),
            Schedule::Linear => 1.0 - done,
            Schedule::Step { fraction, factor } => match done < fraction {
                true => 1.0,
                false => factor,
            },
        }
    }
}
