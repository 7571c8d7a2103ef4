//! Estimates how much the loss of a training could still fall if the loss has noise, as in variational inference and with random masks (dropout).
//!
//! The loss is a mean over noise. Its mean over a few fixed draws of the noise is a smooth function. A descent on it in double precision continues
//! from the end of the training (common random numbers; the sample average approximation of Kleywegt, Shapiro and Homem-de-Mello 2002). The decrease
//! of this mean alone is not conclusive, because its minimum depends on the draws. Instead, two bounds of the remaining gain are computed (Mak,
//! Morton and Wood 1999). The lower bound is the decrease of the mean over draws that the descent did not use, minus its error. The upper bound
//! exists only if the descent has settled. It is the decrease of the mean loss over the descent's own draws. It is an upper bound because, on
//! average, the minimum of such a mean is below the loss of the best parameters.
//!
//! A network has more weights than there are draws, so a descent that settles overfits the draws. Descents that stop early are therefore tried too.
//! The noise of the gradient may hide the remaining gain, as in a network after some thousand steps under a decreasing rate. The descents then do not
//! find a lower loss, but a `continuation` of the training does.
//!
//! Measured on 400 trainings by `vi` and `dropout` of five models (linear, logistic, Poisson, hierarchical, a network of 402 weights; ten seeds). All
//! 300 trainings of 100 to 400 steps were reported, and none of the 100 with their default length or the settings of the yacht example.

use super::continuation;
use super::descent::{descend, numbers as descending};
use super::maximum::{Descent, TRAININGS, material};
use super::surface::{ROWS, Surface, affordable};
use super::windows::LossEstimate;
use super::{Task, TrainingResult};
use crate::step::training;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use std::ops::Range;

/// The largest and the smallest number of draws of the noise in the mean that is minimised.
const DRAWS: usize = 32;
const FEWEST_DRAWS: usize = 4;

/// The number of losses of the longest descent, each of which is a mean over the draws: the largest number; the number that a small budget does not
/// reduce, because it reduces the draws instead; and the smallest number that gives a result.
const MOST: usize = 300;
const WANTED: usize = 30;
const FEWEST: usize = 16;

/// The ratios of the number of losses of the longest descent to the numbers of the other descents.
const EARLIER: [usize; 3] = [8, 4, 2];

/// The largest and the smallest number of draws with which the ends of the descents are compared with their start.
const HELD: usize = 256;
const FEWEST_HELD: usize = 8;

/// The budget of floating-point operations for the descents, which take about a fifth of a second.
const OPERATIONS: u64 = 1_000_000_000;

/// The number of standard errors above which a difference is significant.
const ERRORS: f64 = 3.0;

/// The fraction of the smallest relevant fall below which a fall is negligible.
const NOTHING: f64 = 0.01;

/// The affordable numbers of draws and losses.
#[derive(Clone, Copy, Debug)]
struct Budget {
    draws: usize,
    losses: usize,
    held: usize,
}

impl Budget {
    /// Divides a budget of `runs` losses, of `samples` draws each. Returns `None` if the budget is too small.
    fn of(runs: usize, samples: usize) -> Option<Budget> {
        let held = (runs / 16).min(HELD);
        // Together, the shorter descents need seven eighths of the losses of the longest descent.
        let left = runs.saturating_sub((2 + EARLIER.len()) * held) / 2;
        let [least, most] = [FEWEST_DRAWS, DRAWS].map(|draws| draws.div_ceil(samples));
        let draws = (left / WANTED).clamp(least, most);
        let losses = (left / draws).min(MOST);
        let budget = Budget { draws, losses, held };
        (held >= FEWEST_HELD && losses >= FEWEST).then_some(budget)
    }
}

/// Returns the number of reals that the descents allocate in addition to their machine and rows.
pub fn numbers(infer: &InferenceBlock, rows: usize) -> usize {
    let moved = infer.cost.variational_parameters;
    // Two indices of rows take as many bytes as a real.
    descending(moved) + (EARLIER.len() + 2) * moved + rows.div_ceil(2)
}

/// Descends from the parameters of a finished training whose loss has noise. Returns `None` if the budget is too small.
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
    let least = material(task.infer.cost.parameters, rows);
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
    let is_settled = end.is_settled && end.fall + ERRORS * last.error < least;
    let mut is_short = best.least > least;
    let batch = train.options.batch_of(rows);
    let operations = continuation::OPERATIONS.saturating_mul(rows.div_ceil(batch) as u64);
    let steps = affordable(task.infer, train, rows, operations).min(continuation::MOST);
    if !is_short && !is_settled && steps >= continuation::FEWEST {
        let noise = held.end..held.end + steps;
        let point = continuation::end(&mut surface, &start, noise, batch.min(ROWS))?;
        let gain = Gain::new(&before, &losses(&mut surface, &point, held)?);
        if gain.least > continuation::RECOVERED * least {
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

/// The difference of a loss from the loss at the start.
#[derive(Clone, Copy, Debug, Default)]
struct Gain {
    mean: f64,
    error: f64,
    /// The lower confidence limit of the mean gain: the larger of the limits with and without a cap on large gains.
    least: f64,
}

impl Gain {
    /// Returns the gain from pairs of losses before and after a descent. The two losses of a pair have the same noise.
    fn new(before: &[f64], after: &[f64]) -> Gain {
        let mut gains: Vec<f64> = before
            .iter()
            .zip(after)
            .map(|(before, after)| before - after)
            .collect();
        let LossEstimate { loss: mean, error } = LossEstimate::of(&gains);
        gains.sort_by(f64::total_cmp);
        // Large gains are capped. The mean of capped gains is at most the mean of the gains, and its standard error is much smaller if a few gains
        // are huge.
        let largest = gains.get(gains.len() * 3 / 4).copied().unwrap_or_default();
        gains.iter_mut().for_each(|gain| *gain = gain.min(largest));
        let cut = LossEstimate::of(&gains);
        let least = (mean - ERRORS * error).max(cut.loss - ERRORS * cut.error);
        Gain { mean, error, least }
    }
}

/// Returns the losses at a point, one for each index of the noise.
fn losses(surface: &mut Surface, point: &[f64], noise: Range<usize>) -> Result<Vec<f64>, Stop> {
    let mut slope = vec![0.0; point.len()];
    let losses = noise.map(|number| Ok(surface.add(point, number, &mut slope)?));
    losses.collect()
}
