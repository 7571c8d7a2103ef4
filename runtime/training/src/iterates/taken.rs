//! Collects the iterates of a training run. Stores either their moments, or the iterates
//! themselves.

use super::gaussian::IterateMoments;
use bnnc_abi::methods::iterates::{Covariance, Swag};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A collection of iterates that grows during a training run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The number of iterates that are kept, counted from the end. All iterates are kept if the number is 0.
    keep: usize,
    /// True if the iterates themselves are stored. False if only their moments are.
    holds: bool,
    held: VecDeque<Vec<f64>>,
    moments: IterateMoments,
}

/// The collected iterates of a training run.
#[derive(Clone, Debug)]
pub struct Iterated {
    /// The moments of the iterates.
    pub moments: IterateMoments,
    /// The iterates themselves. Empty if only the moments are needed.
    pub snapshots: Vec<Vec<f64>>,
}

impl Taken {
    /// Returns an empty collection for iterates with this number of elements.
    pub fn new(swag: &Swag, elements: usize) -> Taken {
        Taken {
            keep: swag.options.keep,
            holds: swag.options.keep > 0 || swag.gaussian.covariance == Covariance::Snapshots,
            held: VecDeque::new(),
            moments: IterateMoments::new(elements, swag.gaussian.covariance),
        }
    }

    /// Adds an iterate.
    pub fn take(&mut self, iterate: &[f64]) {
        if !self.holds {
            self.moments.add(iterate);
            return;
        }
        let is_full = self.keep > 0 && self.held.len() == self.keep;
        let mut place = match is_full {
            true => self.held.pop_front().unwrap_or_default(),
            false => Vec::with_capacity(iterate.len()),
        };
        place.clear();
        place.extend_from_slice(iterate);
        self.held.push_back(place);
    }

    /// Returns the collected iterates. If only the last iterates are kept, the moments cover only
    /// these.
    pub fn finish(mut self, swag: &Swag) -> Iterated {
        self.held.iter().for_each(|iterate| self.moments.add(iterate));
        let snapshots = match swag.gaussian.covariance {
            Covariance::Snapshots => self.held.into(),
            Covariance::Point | Covariance::Diagonal | Covariance::LowRank(_) => Vec::new(),
        };
        Iterated {
            moments: self.moments,
            snapshots,
        }
    }
}
