//! Predicts how many iterates an inference block collects, and how much memory they take.

use super::{means, moved};
use crate::restarts;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::iterates::{Covariance, Swag};

/// Returns the number of iterates that an inference block collects if the run is not stopped.
/// `of_earlier` returns this number for an earlier inference block.
pub fn planned(
    (infer, swag): (&InferenceBlock, &Swag),
    rows: usize,
    of_earlier: &dyn Fn(&str) -> usize,
) -> usize {
    match (&swag.options.iterates, swag.options.keep) {
        (None, _) => swag.planned(swag.train.options.epochs_of(infer.examples(rows))),
        (Some(name), 0) => of_earlier(name),
        (Some(name), keep) => of_earlier(name).min(keep),
    }
}

/// Returns the number of bytes needed to collect `planned` iterates in a training run on `rows` rows. `held` is the number of bytes
/// of the result, and `training` is the number of bytes of one training run.
pub fn collecting(
    (infer, swag): (&InferenceBlock, &Swag),
    (rows, planned): (usize, usize),
    (held, training): (u64, u64),
) -> u64 {
    let options = &swag.train.options;
    let held_at_once = (restarts::at_once(options) + restarts::kept(options)) as u64;
    let meanwhile = numbers(infer, &swag.moved, summing(swag, planned)).saturating_mul(held_at_once);
    let training = if swag.options.iterates.is_some() {
        0
    } else {
        training
    };
    // The running means are recomputed after the training has freed its memory.
    meanwhile + training.max(held + means::bytes(infer, swag, rows))
}

/// Returns the number of positions that are in memory while iterates are collected. These positions
/// are the mean, the sums of squares, the deviations, one iterate or draw, and the stored iterates.
fn summing(swag: &Swag, planned: usize) -> usize {
    let moments = match swag.gaussian.covariance {
        Covariance::LowRank(rank) => rank.min(planned) + 3,
        Covariance::Diagonal | Covariance::Snapshots => 3,
        Covariance::Point => 2,
    };
    let kept = match (swag.options.keep, swag.gaussian.covariance) {
        (0, Covariance::Point | Covariance::Diagonal | Covariance::LowRank(_)) => 0,
        _ => planned,
    };
    moments + kept
}

/// Returns the number of bytes of `positions` positions. A position has one number for each element
/// of the trained states.
pub fn numbers(infer: &InferenceBlock, names: &[String], positions: usize) -> u64 {
    let elements: usize = moved(infer, names).iter().map(|(_, size)| size).sum();
    (elements.saturating_mul(positions)).saturating_mul(size_of::<f64>()) as u64
}
