//! Posteriors made of what training passes through: averages of iterates, and ensembles.

use crate::manifest::Train;
use serde::{Deserialize, Serialize};

/// The part of an infer that fits a Gaussian to the iterates of gradient descent (Maddox et al. 2019).
///
/// [`crate::manifest::Infer::predict`] and [`crate::manifest::Infer::sites`] take `[draws, ..]` for each state in `moved`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Swag {
    /// How the iterates are made.
    pub train: Train,
    /// The states that the Gaussian is over; the others keep what the training ends with: what they have after the last epoch, or
    /// after the best one where validation rows choose it.
    pub moved: Vec<String>,
    /// Epochs before the first iterate is taken; half of all epochs without a value.
    pub warmup: Option<usize>,
    /// Epochs between iterates; without a value the fewest that leave at most 100.
    pub every: Option<usize>,
    /// The form of the covariance.
    pub covariance: Covariance,
    /// What the covariance is multiplied by; 1 leaves it as [`Covariance`] says.
    pub scale: f64,
    /// Only so many of the last iterates count; 0 takes all.
    pub keep: usize,
    /// An earlier infer whose iterates are taken; nothing is trained then.
    pub from: Option<String>,
}

/// The number of iterates where `every` has no value. Predictions and integrals cost as much as there are iterates.
const MOST_ITERATES: usize = 100;

impl Swag {
    /// Epochs before the first iterate, of all epochs.
    pub(crate) fn warmup_of(&self, epochs: usize) -> usize {
        self.warmup.unwrap_or(epochs / 2)
    }

    /// Epochs between iterates, of all epochs.
    pub(crate) fn every_of(&self, epochs: usize) -> usize {
        let taking = epochs.saturating_sub(self.warmup_of(epochs));
        self.every.unwrap_or(taking.div_ceil(MOST_ITERATES)).max(1)
    }

    /// Whether an iterate is taken at the end of an epoch, counted from 1, of all epochs.
    pub fn takes(&self, epoch: usize, epochs: usize) -> bool {
        let warmup = self.warmup_of(epochs);
        epoch > warmup && (epoch - warmup).is_multiple_of(self.every_of(epochs))
    }

    /// How many iterates are taken of so many epochs where nothing stops the training.
    pub fn planned(&self, epochs: usize) -> usize {
        let taken = epochs.saturating_sub(self.warmup_of(epochs)) / self.every_of(epochs);
        match self.keep {
            0 => taken,
            keep => taken.min(keep),
        }
    }

    /// The fewest iterates that the covariance can be made of.
    pub fn least(&self) -> usize {
        match self.covariance {
            Covariance::Point | Covariance::Snapshots => 1,
            Covariance::Diagonal | Covariance::LowRank(_) => 2,
        }
    }
}

/// The covariance of a Gaussian over iterates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Covariance {
    /// None: the mean alone (stochastic weight averaging).
    Point,
    /// The variances.
    Diagonal,
    /// Half the variances, and half the outer products of the last so many deviations over their number less one. A deviation is that of
    /// an iterate from the mean of all up to it, itself among them.
    LowRank(usize),
    /// No Gaussian: the iterates themselves, with equal weights (a snapshot ensemble, Huang et al. 2017).
    Snapshots,
}

/// The part of an infer that trains several times from different starts (Lakshminarayanan et al. 2017). Predictions average over the members.
///
/// [`crate::manifest::Infer::predict`] and [`crate::manifest::Infer::sites`] take `[draws, ..]` for each state in `moved`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ensemble {
    /// How one member is trained.
    pub train: Train,
    /// The states that members differ in.
    pub moved: Vec<String>,
    /// How many members there are.
    pub members: usize,
}
