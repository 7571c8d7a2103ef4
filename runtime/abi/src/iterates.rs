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
    /// Epochs before the first iterate is taken.
    pub warmup: usize,
    /// Epochs between iterates.
    pub every: usize,
    /// The form of the covariance.
    pub covariance: Covariance,
    /// What the covariance is multiplied by; 1 leaves it as [`Covariance`] says.
    pub scale: f64,
    /// Only so many of the last iterates count; 0 takes all.
    pub keep: usize,
    /// An earlier infer whose iterates are taken; nothing is trained then.
    pub from: Option<String>,
}

impl Swag {
    /// Whether an iterate is taken at the end of an epoch, counted from 1.
    pub fn takes(&self, epoch: usize) -> bool {
        epoch > self.warmup && (epoch - self.warmup).is_multiple_of(self.every.max(1))
    }

    /// How many iterates are taken where nothing stops the training.
    pub fn planned(&self) -> usize {
        let taken = self.train.options.epochs.saturating_sub(self.warmup) / self.every.max(1);
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
