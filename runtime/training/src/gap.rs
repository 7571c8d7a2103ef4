//! Estimates how much the loss of a training run could still decrease. This module is for losses
//! with noise, which occur in variational inference and with random masks (dropout).
//!
//! The loss is a mean over noise. The mean over a few fixed draws of the noise is a smooth function
//! of the parameters. A descent on this function, in double precision, starts at the end of the training.
//! This is the method of common random numbers, or the sample average approximation of Kleywegt, Shapiro
//! and Homem-de-Mello (2002). The decrease of this function alone is not conclusive, because the
//! function's minimum depends on the draws. Instead, a lower and an upper bound of the remaining
//! gain are computed (Mak, Morton and Wood 1999). The lower bound is computed from draws that the descent
//! did not use. It is the decrease of the mean over these draws, minus the error of this estimate. If the
//! descent has settled, the upper bound is the decrease of the mean over the draws that the descent used.
//! This decrease is an upper bound because, on average, the minimum of such a mean is below the
//! loss of the best parameters.
//!
//! If a network has more weights than there are draws, a descent that runs until it settles
//! overfits the draws. Shorter descents are therefore tried too. The noise of the gradient may hide
//! the remaining gain, for example in a network that was trained for a few thousand steps under a
//! decreasing rate. The descents then do not find a lower loss, but a `continuation` of the
//! training finds one.
//!
//! The test was measured on 400 training runs. Five models (linear, logistic, Poisson, hierarchical, a network of 402
//! weights) were trained by `vi` and by `dropout`, with ten seeds each. The test reported all 300 training runs of 100 to
//! 400 steps. The other 100 training runs had the default length or the settings of the yacht example. The test did not
//! report any of them. These runs were tested with 32 draws and 1024 draws of comparison; the limits were raised since.

use super::descent::{descend, numbers as descending};
use super::maximum::{Descent, TRAININGS, material, material_bound};
use super::surface::{ROWS, Surface, affordable};
use super::windows::LossEstimate;
use super::{Task, TrainingResult, continuation};
use crate::step::training;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use std::ops::Range;

/// A descent minimises the mean over some draws of the noise: this number, and at least
/// `FEWEST_DRAWS`. If the budget allows more than `MOST` losses, it uses up to `MORE_DRAWS`. The
/// minimum over 32 draws is too inexact to find a remaining fall of 0.2 nats in the covariance of
/// `FullRankNormal`.
const DRAWS: usize = 32;
const MORE_DRAWS: usize = 256;
const FEWEST_DRAWS: usize = 4;

/// The longest descent computes at most `MOST` losses. Each of them is a mean over the draws. If
/// the budget is small, the number of draws is reduced first, so that `WANTED` losses remain. A
/// budget for fewer than `FEWEST` losses does not give a result.
const MOST: usize = 300;
const WANTED: usize = 30;
const FEWEST: usize = 16;

/// Shorter descents are tried too. The number of losses of a shorter descent is the number of
/// losses of the longest descent, divided by one of these factors.
const EARLIER: [usize; 3] = [8, 4, 2];

/// The ends of the descents are compared with their start on further draws: at most this number,
/// and at least `FEWEST_HELD`. With this number of draws, a scale that is 30 % too small gives a gain
/// with a standard error of 0.006 nats.
const HELD: usize = 4096;
const FEWEST_HELD: usize = 8;

/// The number of floating-point operations that all descents together may use. They then take about
/// a fifth of a second.
const OPERATIONS: u64 = 1_000_000_000;

/// A difference is significant if it exceeds its standard error by this factor.
const ERRORS: f64 = 3.0;

/// A decrease below this fraction of the smallest relevant decrease is negligible.
const NOTHING: f64 = 0.01;

/// The numbers of draws and losses that a budget allows.
#[derive(Clone, Copy, Debug)]
struct Budget {
    draws: usize,
    losses: usize,
    held: usize,
}

impl Budget {
    /// Divides a budget of `runs` losses between descents and comparisons. Each loss takes
    /// `samples` draws. Returns `None` if the budget is too small.
    fn of(runs: usize, samples: usize) -> Option<Budget> {
        let held = (runs / 16).min(HELD);
        // The shorter descents together need seven eighths of the losses of the longest descent.
        let left = runs.saturating_sub((2 + EARLIER.len()) * held) / 2;
        let [least, most] = [FEWEST_DRAWS, DRAWS].map(|draws| draws.div_ceil(samples));
        let more = (left / MOST).min(MORE_DRAWS.div_ceil(samples));
        let draws = (left / WANTED).clamp(least, most).max(more);
        let losses = (left / draws).min(MOST);
        let budget = Budget { draws, losses, held };
        (held >= FEWEST_HELD && losses >= FEWEST).then_some(budget)
    }
}

/// Returns the number of reals that the descents allocate in addition to their machine and rows.
pub fn numbers(infer: &InferenceBlock, rows: usize) -> usize {
    let moved = infer.cost.variational_parameters;
    // Two row indices take as many bytes as one real.
    descending(moved) + (EARLIER.len() + 2) * moved + rows.div_ceil(2)
}

/// Runs descents to test how far the loss can fall below the loss of a finished training run. The
/// loss must have noise. Returns `None` if the budget is too small.
///
/// # Errors
/// Fails if the training fails.
pub fn descent(
    task: &Task<'_>,
    fitted: &TrainingResult,
    gradient: &Artifact,
) -> Result<Option<Descent>, Stop> {
    let train = training(task.infer)?;
    let rows = examples(&task.infer.bindings, &task.dataset.train);
    let cheap = affordable(task.infer, train, rows, OPERATIONS);
    let runs = cheap.max(train.options.epochs_of(rows) / TRAININGS);
    let Some(budget) = Budget::of(runs, train.vi.as_ref().map_or(1, |vi| vi.samples)) else {
        return Ok(None);
    };
    let mut surface = Surface::new(task, gradient)?;
    let start = surface.take(&fitted.values)?;
    let usual = material(task.infer.cost.parameters, rows);
    let least = match task.infer.maximises_bound() {
        true => material_bound(task.infer.cost.parameters, rows),
        false => usual,
    };
    let mut function = |point: &[f64], slope: &mut [f64]| Ok(surface.mean(point, 0..budget.draws, slope)?);
    let limits = |shorter: usize| ((budget.losses / shorter).max(2), NOTHING * least);
    let Some(end) = descend(&mut function, &start, limits(1))? else {
        return Ok(None);
    };
    let mut ends = Vec::new();
    for shorter in EARLIER {
        ends.extend(descend(&mut function, &start, limits(shorter))?.map(|end| end.point));
    }
    ends.push(end.point);
    let held = budget.draws..budget.draws + budget.held;
    let before = losses(&mut surface, &start, held.clone())?;
    let (mut best, mut last) = (Gain::default(), Gain::default());
    for end in &ends {
        let after = losses(&mut surface, end, held.clone())?;
        last = Gain::new(&before, &after);
        if last.least > best.least {
            best = last;
        }
    }
    let is_settled = end.is_settled && end.fall + ERRORS * last.error < usual;
    let mut is_short = best.least > least;
    let batch = train.options.batch_of(rows);
    let operations = continuation::OPERATIONS.saturating_mul(rows.div_ceil(batch) as u64);
    let steps = affordable(task.infer, train, rows, operations).min(continuation::MOST);
    if !is_short && !is_settled && steps >= continuation::FEWEST {
        let noise = held.end..held.end + steps;
        let point = continuation::end(&mut surface, &start, noise, batch.min(ROWS))?;
        let gain = Gain::new(&before, &losses(&mut surface, &point, held)?);
        if gain.least > continuation::RECOVERED * usual {
            (best, is_short) = (gain, true);
        }
    }
    Ok(Some(Descent {
        fall: best.mean,
        is_short,
        is_settled,
        saddle: None,
        runaways: Vec::new(),
        at_ends: Vec::new(),
    }))
}

/// The decrease of the loss during a descent.
#[derive(Clone, Copy, Debug, Default)]
struct Gain {
    mean: f64,
    error: f64,
    /// The lower confidence limit of the mean gain. It is the larger of two limits: one is computed
    /// with a cap on large gains, and the other without a cap.
    least: f64,
}

impl Gain {
    /// Computes the gain from pairs of losses before and after a descent. The two losses of a pair
    /// have the same noise.
    fn new(before: &[f64], after: &[f64]) -> Gain {
        let mut gains: Vec<f64> = before
            .iter()
            .zip(after)
            .map(|(before, after)| before - after)
            .collect();
        let LossEstimate { loss: mean, error } = LossEstimate::of(&gains);
        gains.sort_by(f64::total_cmp);
        // Large gains are capped. The mean of the capped gains is at most the mean of the gains. If
        // a few gains are huge, the standard error of the mean is much smaller with the cap.
        let largest = gains.get(gains.len() * 3 / 4).copied().unwrap_or_default();
        gains.iter_mut().for_each(|gain| *gain = gain.min(largest));
        let cut = LossEstimate::of(&gains);
        let least = (mean - ERRORS * error).max(cut.loss - ERRORS * cut.error);
        Gain { mean, error, least }
    }
}

/// Returns the losses at a point: one loss for each index in `noise`, which selects the noise.
fn losses(surface: &mut Surface, point: &[f64], noise: Range<usize>) -> Result<Vec<f64>, Stop> {
    let mut slope = vec![0.0; point.len()];
    let losses = noise.map(|number| Ok(surface.add(point, number, &mut slope)?));
    losses.collect()
}
