//! The memory of collecting, of what is collected, and of predictions from it, before the run.

use crate::core::predict::predictive_draws;
use crate::training::iterates::{draws_of, moved};
use bnnc_abi::iterates::{Covariance, Swag};
use bnnc_abi::manifest::{Infer, Work};

/// The draws that predictions are made of, where an infer collects, of so many iterates.
pub fn predicted(infer: &Infer, planned: usize) -> Option<usize> {
    positions(infer, planned).map(|held| predictive_draws(infer, held))
}

/// The iterates that an infer takes of so many rows, or has for others, where nothing stops it, and where `of_earlier` says how many those before it
/// have.
pub fn planned(infer: &Infer, rows: usize, of_earlier: impl Fn(&str) -> usize) -> usize {
    let swag = match &infer.work {
        Work::Swag(swag) => swag,
        Work::Collapsed(collapsed) => &collapsed.iterates,
        Work::Ensemble(ensemble) => return ensemble.members,
        Work::Sample(_) => return infer.predictive_draws,
        Work::Train(_) | Work::Laplace(_) => return 0,
    };
    match (&swag.from, swag.keep) {
        (None, _) => swag.planned(swag.train.options.epochs(infer.examples(rows))),
        (Some(name), 0) => of_earlier(name),
        (Some(name), keep) => of_earlier(name).min(keep),
    }
}

/// The positions that are held after so many iterates.
fn positions(infer: &Infer, planned: usize) -> Option<usize> {
    match &infer.work {
        Work::Swag(swag) => Some(draws_of(infer, swag, planned)),
        Work::Collapsed(_) => Some(planned),
        Work::Ensemble(ensemble) => Some(ensemble.members),
        Work::Train(_) | Work::Sample(_) | Work::Laplace(_) => None,
    }
}

/// The bytes of the positions in a program that predicts.
pub fn drawn(infer: &Infer, planned: usize) -> u64 {
    numbers(infer, positions(infer, planned).unwrap_or(0))
}

/// The bytes that a finished infer holds besides its parameters.
pub fn held(infer: &Infer, planned: usize) -> u64 {
    match &infer.work {
        // The mean, the variances and the draws.
        Work::Swag(swag) => numbers(infer, 2 + draws_of(infer, swag, planned)),
        Work::Collapsed(_) => numbers(infer, 2 + planned),
        // Each member by itself and among the draws.
        Work::Ensemble(ensemble) => numbers(infer, 2 * ensemble.members),
        Work::Train(_) | Work::Sample(_) | Work::Laplace(_) => 0,
    }
}

/// The bytes of collecting so many iterates or members, where one training takes so many.
pub fn bytes(infer: &Infer, planned: usize, training: u64) -> u64 {
    let meanwhile = match &infer.work {
        Work::Swag(swag) => numbers(infer, summing(swag, planned)),
        Work::Collapsed(collapsed) => numbers(infer, summing(&collapsed.iterates, planned)),
        Work::Ensemble(ensemble) => numbers(infer, ensemble.members),
        Work::Train(_) | Work::Sample(_) | Work::Laplace(_) => 0,
    };
    let training = match infer.iterated().is_some_and(|swag| swag.from.is_some()) {
        true => 0,
        false => training,
    };
    meanwhile + training.max(held(infer, planned))
}

/// The positions that are held while iterates are taken: mean, sums of squares, deviations, and one iterate or draw; those that are kept.
fn summing(swag: &Swag, planned: usize) -> usize {
    let moments = match swag.covariance {
        Covariance::LowRank(rank) => rank.min(planned) + 3,
        Covariance::Diagonal | Covariance::Snapshots => 3,
        Covariance::Point => 2,
    };
    let kept = match (swag.keep, swag.covariance) {
        (0, Covariance::Point | Covariance::Diagonal | Covariance::LowRank(_)) => 0,
        _ => planned,
    };
    moments + kept
}

/// The bytes of so many positions.
fn numbers(infer: &Infer, positions: usize) -> u64 {
    let names = match (&infer.work, infer.iterated()) {
        (_, Some(swag)) => &swag.moved,
        (Work::Ensemble(ensemble), None) => &ensemble.moved,
        (_, None) => return 0,
    };
    let elements: usize = moved(infer, names).iter().map(|(_, size)| size).sum();
    (elements.saturating_mul(positions)).saturating_mul(size_of::<f64>()) as u64
}
