//! How much a training under noise left to gain: variational inference, and trainings under random masks.
//!
//! The loss is a mean over noise. Its mean over a few fixed draws of the noise is a smooth function, on which a descent in double precision goes on from where the
//! training ended (common random numbers; the sample average approximation of Kleywegt, Shapiro and Homem-de-Mello 2002). How far it falls says little, since other
//! draws have other minima. But two numbers bound what is left to gain (Mak, Morton and Wood 1999). From below: how far the descent lowered the mean over draws that it
//! never saw, less its error. From above, where the descent has settled: how far the mean over its own draws fell, because a minimum of a mean of draws is below the
//! mean at the best parameters.
//!
//! A network has more weights than draws, and a descent that settles fits it to them. So descents are stopped early too. Where the noise of a gradient hides what is
//! left to gain, as in a network after some thousand steps under a falling rate, they find nothing, and a `continuation` of the training does.
//!
//! On 400 trainings by `vi` and `dropout` of five models (linear, logistic, Poisson, hierarchical, a network of 402 weights; ten seeds), all 300 of 100 to 400 steps were
//! reported, and none of the 100 at their default length or with the settings of the yacht example.

use super::continuation;
use super::descent::{descend, numbers as descending};
use super::maximum::{Descent, TRAININGS, material};
use super::surface::{Surface, affordable};
use super::windows::Estimate;
use super::{Fitted, Task};
use crate::step::training;
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::Infer;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use std::ops::Range;

/// Draws of the noise whose mean is descended on, and the fewest.
const DRAWS: usize = 32;
const FEWEST_DRAWS: usize = 4;

/// Losses of the longest descent, each a mean over the draws: the most, the number in whose favour draws are given up, and the fewest that show something.
const MOST: usize = 300;
const WANTED: usize = 30;
const FEWEST: usize = 16;

/// The losses of the longest descent over those of each of the others.
const EARLIER: [usize; 3] = [8, 4, 2];

/// Draws that compare the ends of the descents with their start, and the fewest.
const HELD: usize = 256;
const FEWEST_HELD: usize = 8;

/// Floating-point operations of descents that nobody waits for: about a fifth of a second.
const OPERATIONS: u64 = 1_000_000_000;

/// Standard errors of a difference that counts.
const ERRORS: f64 = 3.0;

/// The part of what counts below which a fall is nothing.
const NOTHING: f64 = 0.01;

/// The numbers of draws and losses that can be afforded.
#[derive(Clone, Copy, Debug)]
struct Budget {
    draws: usize,
    losses: usize,
    held: usize,
}

impl Budget {
    /// Divides a number of losses of `samples` draws each; nothing where they are too few.
    fn of(runs: usize, samples: usize) -> Option<Budget> {
        let held = (runs / 16).min(HELD);
        // The shorter descents take together as many losses as the longest one, less one in eight.
        let left = runs.saturating_sub((2 + EARLIER.len()) * held) / 2;
        let [least, most] = [FEWEST_DRAWS, DRAWS].map(|draws| draws.div_ceil(samples));
        let draws = (left / WANTED).clamp(least, most);
        let losses = (left / draws).min(MOST);
        let budget = Budget { draws, losses, held };
        (held >= FEWEST_HELD && losses >= FEWEST).then_some(budget)
    }
}

/// The numbers that the descents hold besides their machine and rows.
pub fn numbers(infer: &Infer) -> usize {
    let moved = infer.cost.variational_parameters;
    descending(moved) + (EARLIER.len() + 2) * moved
}

/// Descends from the parameters of a finished training whose loss has noise. Nothing where too few losses can be afforded.
///
/// # Errors
/// As training.
pub fn descent(task: &Task<'_>, fitted: &Fitted, gradient: &Artifact) -> Result<Option<Descent>, Stop> {
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
    let steps = affordable(task.infer, train, rows, continuation::OPERATIONS).min(continuation::MOST);
    if !is_short && !is_settled && steps >= continuation::FEWEST {
        let noise = held.end..held.end + steps;
        let point = continuation::end(&mut surface, &start, noise)?;
        let gain = Gain::new(&before, &losses(&mut surface, &point, held)?);
        if gain.least > continuation::RECOVERED * least {
            (best, is_short) = (gain, true);
        }
    }
    Ok(Some(Descent {
        fall: best.mean,
        is_short,
        is_settled,
        runaways: Vec::new(),
    }))
}

/// How far a loss is below that at the start.
#[derive(Clone, Copy, Debug, Default)]
struct Gain {
    mean: f64,
    error: f64,
    /// What the mean is at least, but for chance.
    least: f64,
}

impl Gain {
    /// The gain from losses before to losses after, each pair with noise of its own.
    fn new(before: &[f64], after: &[f64]) -> Gain {
        let mut gains: Vec<f64> = before
            .iter()
            .zip(after)
            .map(|(before, after)| before - after)
            .collect();
        let Estimate { loss: mean, error } = Estimate::of(&gains);
        gains.sort_by(f64::total_cmp);
        // A mean of gains that are cut off above is below theirs. Where few of them are huge it is known much better.
        let largest = gains.get(gains.len() * 3 / 4).copied().unwrap_or_default();
        gains.iter_mut().for_each(|gain| *gain = gain.min(largest));
        let cut = Estimate::of(&gains);
        let least = (mean - ERRORS * error).max(cut.loss - ERRORS * cut.error);
        Gain { mean, error, least }
    }
}

/// The losses at a point with noise of these numbers.
fn losses(surface: &mut Surface, point: &[f64], noise: Range<usize>) -> Result<Vec<f64>, Stop> {
    let mut slope = vec![0.0; point.len()];
    let losses = noise.map(|number| Ok(surface.add(point, number, &mut slope)?));
    losses.collect()
}
