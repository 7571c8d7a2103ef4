//! Collects iterates during a training: the moments of all iterates, or the last iterates themselves.

use super::gaussian::IterateMoments;
use bnnc_abi::iterates::{Covariance, Swag};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A collection of iterates, filled one by one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// The number of last iterates that are kept; 0 keeps all.
    keep: usize,
    /// True if iterates are stored instead of summed.
    holds: bool,
    held: VecDeque<Vec<f64>>,
    moments: IterateMoments,
}

/// The iterates of a training, summarised.
#[derive(Clone, Debug)]
pub struct Iterated {
    /// The moments of the iterates.
    pub moments: IterateMoments,
    /// The iterates themselves; empty if only the moments are needed.
    pub snapshots: Vec<Vec<f64>>,
}

impl Taken {
    /// Returns an empty collection for this number of elements.
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

    /// Returns the summary of the iterates. If only the last iterates are kept, the summary covers only these.
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
