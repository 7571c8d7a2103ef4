//! A test of whether a training of a density without noise ended at a maximum.
//!
//! A descent in double precision over all rows continues from the end of the training. If it finds a lower loss nearby, the training was too short or
//! ended on a plateau, even if its losses show no slope. If the descent drives a constrained parameter far towards an end of its range without
//! settling, there is no maximum. For example, the joint density of a scale and the parameters that it scales grows without bound as the scale
//! decreases to zero.
//!
//! The descent may take a twentieth of the work of the training, or `OPERATIONS` if that is more. If this budget is too small, only the slope of the
//! losses is known.
//!
//! Measured on 540 trainings by `map` of five models (linear, logistic, Poisson, hierarchical, a network of 82 weights; 200 to 20,000 steps, three
//! rates, three schedules, batches of 32 and full batches) whose distance to the best known loss is known. Of these, 239 trainings were too short.
//! The test misses 15 of them (12 of the network, which ended in other optima); a test of the slope alone misses 79. The other 301 were long enough.
//! The test reports 2 of them; a test of the slope alone reports 8.

use super::descent::{self, End, descend};
use super::ends::{AtEnd, at_ends};
use super::report::is_cut_off;
use super::surface::{self, Surface};
use super::{Task, TrainingResult, gap, saddle};
use crate::step::training;
use bnnc_abi::manifest::{InferenceBlock, KlWeight, Train};
use bnnc_abi::names::layer_of;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// The largest number of losses that a descent computes.
const MOST: usize = 200;
/// The smallest number of losses with which a descent gives a result: five times the number of steps after which a descent can settle.
const FEWEST: usize = 50;

/// The floating-point operations that every descent may use: about a tenth of a second. Ten times this number would take two thirds of the time of a
/// short training of a network, and such a training never reaches a maximum.
const OPERATIONS: u64 = 100_000_000;

/// The ratio of the work of a training to the work of the descent after it.
pub const TRAININGS: usize = 20;

/// The acceptable decrease of the loss is the larger of two limits: `PER_ROW` per row, and `PER_WEIGHT` per weight, as at the maximum of `laplace`.
/// The second limit is capped at `MOST_PER_ROW` per row, because networks continue to fit their training rows.
const PER_WEIGHT: f64 = 0.1;
const MOST_PER_ROW: f64 = 0.25;
const PER_ROW: f64 = 1e-3;

/// The number of pairs of draws from which the breadth of a distribution is estimated. The relative error is a fifth in one dimension.
const MIRRORED: usize = 50;

/// The number of draws from which the variance of a parameter is estimated. The relative error is a seventh.
const SQUARES: usize = 100;

/// The ratio of variances below which the members of an ensemble agree. For standard deviations, the ratio is a fifth.
const AGREEING: f64 = 0.04;

/// A fall below this fraction of the acceptable fall is negligible.
const NOTHING: f64 = 0.01;

/// The smallest distance on the unconstrained scale at which a parameter counts as diverging: a factor of 55 for a positive parameter.
const FAR: f64 = 4.0;

/// The smallest factor by which a curvature must rise before a parameter counts as the logarithm of a scale. If such a parameter moves by 1, the
/// curvature along each parameter with this scale is multiplied by `exp(2)` or `exp(-2)`; the limit leaves a margin. A move of 1 in a coefficient of a linear predictor leaves the curvature along other parameters unchanged, and a move of 1 in the intercept of a log
/// rate multiplies it by `exp(1)`.
const NARROWER: f64 = 6.0;

/// The curvature before and after one parameter is moved is compared along the first elements of at most this number of other parameters.
const COMPARED: usize = 16;
/// The curvature at a point is the difference of the gradients at this distance on both sides.
const APART: f64 = 1e-4;

/// A parameter that the descent after training moves far towards an end of its range, without settling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runaway {
    /// The name of the parameter: `tau`, or `lambda[age]`.
    pub name: String,
    /// The value of the parameter at the end of the training.
    pub from: f64,
    /// The value of the parameter at the end of the descent.
    pub to: f64,
    /// True if the parameter is the logarithm of a scale.
    #[serde(default)]
    pub is_log: bool,
}

/// The breadth of draws around a point: ratios of their variances to the variances of a Gaussian posterior there.
#[derive(Clone, Debug)]
pub struct Breadth {
    /// The mean factor over all parameters.
    pub all: f64,
    /// The parameter with the smallest ratio, and an upper bound on that ratio; `None` if the budget was too small.
    pub narrowest: Option<(String, f64)>,
}

/// A descent from the end of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// The fall of the loss.
    pub fall: f64,
    /// True if the loss decreased so much that the training has not converged.
    pub is_short: bool,
    /// True if the loss cannot decrease further at the end of the descent. If `is_short` is false, the training then ended at a minimum.
    pub is_settled: bool,
    /// The amount by which a descent from a nearby point ends below the end of this one, if the latter is a saddle.
    #[serde(default)]
    pub saddle: Option<f64>,
    /// The parameters without a maximum.
    pub runaways: Vec<Runaway>,
    /// The parameters whose maximum is at an end of their range.
    pub at_ends: Vec<AtEnd>,
}

/// Descends from the parameters of a finished training. Returns `None` if the weight of the KL divergence varies, if the user or early stopping ended
/// the training, or if the budget is too small.
///
/// # Errors
/// Fails if the training fails.
pub fn descent(task: &Task<'_>, fitted: &TrainingResult) -> Result<Option<Descent>, Stop> {
    let train = training(task.infer)?;
    let rows = examples(&task.infer.bindings, &task.dataset.train);
    let is_whole = !fitted.interrupted && fitted.epochs == fitted.planned;
    let is_judged = is_whole || is_cut_off(task.infer, fitted, rows);
    let (Some(gradient), true) = (&train.gradient, is_judged) else {
        return Ok(None);
    };
    if train.has_noise {
        return gap::descent(task, fitted, gradient);
    }
    if train.kl_weight() != KlWeight::Exact {
        return Ok(None);
    }
    let evaluations = affordable(task.infer, train, rows);
    if evaluations < FEWEST {
        return Ok(None);
    }
    let mut surface = Surface::new(task, gradient)?;
    let start = surface.take(&fitted.values)?;
    let least = material(start.len(), rows);
    let limits = (evaluations, NOTHING * least);
    let end = descend(
        &mut |point, slope| Ok(surface.value(point, slope)?),
        &start,
        limits,
    )?;
    let Some(end) = end else { return Ok(None) };
    let is_short = end.fall > least;
    // In `vi`, a diverging argument is a parameter of the variational family and not the value of a model parameter.
    let may_run = is_short && !end.is_settled && !task.infer.maximises_bound();
    let runaways = match may_run {
        true => runaways(task, &mut surface, (&fitted.values, &start), &end)?,
        false => Vec::new(),
    };
    let nearby = match end.is_settled && !is_short {
        true => saddle::fall(&mut surface, &end.point, limits)?,
        false => 0.0,
    };
    let at_ends = match is_short || task.infer.maximises_bound() {
        true => Vec::new(),
        false => at_ends(task, &mut surface, (&fitted.values, &start), evaluations)?,
    };
    Ok(Some(Descent {
        fall: end.fall,
        is_short,
        is_settled: end.is_settled,
        saddle: Some(nearby).filter(|fall| *fall > least),
        runaways,
        at_ends,
    }))
}

/// Returns the mean rise of the loss from a point to draws around it, divided by the mean rise under a Gaussian posterior. The latter is half the
/// number of parameters. Each draw is paired with its mirror image, so that a slope at the point cancels. The ratio is infinite if the loss is not
/// finite at a draw. Returns `None` if the objective has noise or the budget is too small.
///
/// # Errors
/// Fails if the training fails.
pub fn breadth(
    task: &Task<'_>,
    centre: &StateValues,
    (draws, count): (&StateValues, usize),
) -> Result<Option<Breadth>, Stop> {
    let train = training(task.infer)?;
    let Some(gradient) = train.gradient.as_ref().filter(|_| !train.has_noise) else {
        return Ok(None);
    };
    let rows = examples(&task.infer.bindings, &task.dataset.train);
    let evaluations = affordable(task.infer, train, rows);
    let pairs = MIRRORED.min(evaluations.saturating_sub(1) / 2).min(count);
    if pairs == 0 || rows == 0 {
        return Ok(None);
    }
    let mut surface = Surface::new(task, gradient)?;
    let centre = surface.take(centre)?;
    let mut slope = vec![0.0; centre.len()];
    let least = surface.value(&centre, &mut slope)?;
    let mut rise = 0.0;
    for number in 0..pairs {
        let draw = surface.draw(&centre, draws, number);
        let image: Vec<f64> = centre
            .iter()
            .zip(&draw)
            .map(|(centre, draw)| 2.0 * centre - draw)
            .collect();
        for point in [draw, image] {
            rise += surface.value(&point, &mut slope)? - least;
        }
    }
    let breadth = rise / (pairs * centre.len().max(1)) as f64;
    let limit = (count, evaluations / 2);
    Ok(Some(Breadth {
        all: if breadth.is_finite() {
            breadth
        } else {
            f64::INFINITY
        },
        narrowest: narrowest(task.infer, &mut surface, &centre, draws, limit)?,
    }))
}

/// Returns the name of the parameter whose draws are narrowest relative to the curvature at a point, with an upper bound on the ratio of the variance
/// of these draws to the posterior variance. Only parameters within the budget are tested.
///
/// Under a Gaussian posterior with precision `H`, the variance of parameter `i` is at least its conditional variance `1 / H_ii`. The variance times
/// `H_ii` is therefore at least 1. For a state with many elements `n`, the mean of `d' H_ss d` over its deviations `d` is at least `n`, for the same
/// reason.
fn narrowest(
    infer: &InferenceBlock,
    surface: &mut Surface,
    centre: &[f64],
    draws: &StateValues,
    (count, pairs): (usize, usize),
) -> Result<Option<(String, f64)>, Stop> {
    let arguments = surface.arguments.iter();
    let places: Vec<(String, Range<usize>)> = arguments
        .map(|own| (site_of(&own.name).to_owned(), own.range.clone()))
        .collect();
    let mut squares = vec![0.0; centre.len()];
    for number in 0..count.min(SQUARES) {
        let draw = surface.draw(centre, draws, number);
        let deviations = squares.iter_mut().zip(draw.iter().zip(centre));
        deviations.for_each(|(sum, (draw, centre))| *sum += (draw - centre).powi(2));
    }
    let sd = |at: usize| (squares[at] / count.clamp(1, SQUARES) as f64).sqrt();
    // The rows have no information about the weights of a unit that is never active. Single weights of layers are therefore not tested.
    let is_layer = |site: &str| layer_of(site).is_some();
    let own: usize = places
        .iter()
        .filter(|(site, _)| !is_layer(site))
        .map(|(_, range)| range.len())
        .sum();
    let layers = places.iter().filter(|(site, _)| is_layer(site)).count();
    let each = (pairs.saturating_sub(own) / layers.max(1))
        .min(MIRRORED)
        .min(count);
    let mut worst: Option<(String, f64)> = None;
    for (site, range) in places {
        let mut take = |name: String, ratio: f64| {
            // If the loss is not convex, the ratio is meaningless.
            if ratio >= 0.0 && worst.as_ref().is_none_or(|(_, least)| ratio < *least) {
                worst = Some((name, ratio));
            }
        };
        if !is_layer(&site) {
            for at in range.clone().filter(|_| own <= pairs) {
                let ratio = curvature(surface, centre, (&(at..at + 1), &[sd(at)]))?;
                take(element(infer, &site, (at - range.start, range.len())), ratio);
            }
            continue;
        }
        let mut sum = 0.0;
        for number in 0..each {
            let draw = surface.draw(centre, draws, number);
            let deviation: Vec<f64> = range.clone().map(|at| draw[at] - centre[at]).collect();
            sum += curvature(surface, centre, (&range, &deviation))?;
        }
        if each > 0 {
            take(site, sum / (each * range.len().max(1)) as f64);
        }
    }
    Ok(worst)
}

/// Returns the scatter of the members of an ensemble around their mean, if it is far below that of a posterior, on average over the elements of each
/// parameter: the largest ratio of their variances to the variances of the posterior given all other parameters. Returns `None` if a parameter scatters more, if the loss is not convex
/// between the members, if the objective has noise, or if the budget is too small.
///
/// Members that ended in different optima of a network differ in the weights of each layer by as much as draws of the posterior, so that the first
/// layer ends the test.
///
/// # Errors
/// Fails if the training fails.
pub fn agreement(task: &Task<'_>, members: &[Arc<StateValues>]) -> Result<Option<f64>, Stop> {
    let train = training(task.infer)?;
    let (Some(gradient), Some(first)) = (train.gradient.as_ref(), members.first()) else {
        return Ok(None);
    };
    let rows = examples(&task.infer.bindings, &task.dataset.train);
    let evaluations = affordable(task.infer, train, rows);
    if train.has_noise || rows == 0 {
        return Ok(None);
    }
    let mut surface = Surface::new(task, gradient)?;
    if 2 * members.len() * surface.arguments.len() > evaluations {
        return Ok(None);
    }
    let mut centre = vec![0.0; surface.take(first)?.len()];
    let points: Vec<Vec<f64>> = members
        .iter()
        .map(|member| surface.arguments_of(member))
        .collect();
    for point in &points {
        let sums = centre.iter_mut().zip(point);
        sums.for_each(|(sum, value)| *sum += value / points.len() as f64);
    }
    let mut largest = 0.0f64;
    let ranges = surface.arguments.iter().map(|argument| argument.range.clone());
    for range in ranges.collect::<Vec<_>>() {
        let (mut sum, mut is_still) = (0.0, true);
        for point in &points {
            let deviation: Vec<f64> = range.clone().map(|at| point[at] - centre[at]).collect();
            is_still &= deviation.iter().all(|deviation| *deviation == 0.0);
            sum += curvature(&mut surface, &centre, (&range, &deviation))?;
        }
        // The mean square around the mean of the members is smaller than their variance.
        let ratio = sum / (points.len() - 1).max(1) as f64 / range.len().max(1) as f64;
        // A direction without curvature cannot tell whether the members agree along it.
        let is_convex = ratio > 0.0 || is_still;
        if !is_convex || ratio > AGREEING {
            return Ok(None);
        }
        largest = largest.max(ratio);
    }
    Ok(Some(largest))
}

/// Returns the site of a state.
fn site_of(state: &str) -> &str {
    state.rsplit_once('/').map_or(state, |(site, _)| site)
}

/// Returns the name of element `at` of `count` elements of a site.
fn element(infer: &InferenceBlock, site: &str, (at, count): (usize, usize)) -> String {
    let report = infer.reports.iter().find(|report| report.name == site);
    let shape = report.map(|report| report.shape.resolve(&Sizes::default()));
    match shape.filter(|_| count > 1) {
        Some(shape) => infer.names.element(site, &shape, at),
        None => site.to_owned(),
    }
}

/// Returns `d' H d`, where `d` is a deviation of some arguments from a point, and `H` is the second derivative of the loss. The square is computed
/// from the difference of the gradients on both sides of the point.
fn curvature(
    surface: &mut Surface,
    centre: &[f64],
    (part, deviation): (&Range<usize>, &[f64]),
) -> Result<f64, Stop> {
    let mut found = 0.0;
    let mut slope = vec![0.0; centre.len()];
    for side in [1.0, -1.0] {
        let mut point = centre.to_vec();
        let own = point[part.clone()].iter_mut().zip(deviation);
        own.for_each(|(value, deviation)| *value += side * deviation);
        surface.value(&point, &mut slope)?;
        let along = slope[part.clone()].iter().zip(deviation);
        found += 0.5 * side * along.map(|(slope, deviation)| slope * deviation).sum::<f64>();
    }
    Ok(found)
}

/// Returns the descent with the largest remaining decrease among several trainings. Trainings that ended because of the validation rows have no
/// descent.
pub fn worst(found: &[TrainingResult]) -> Option<Descent> {
    let all = found.iter().filter_map(|fitted| fitted.descent.as_ref());
    let worse = |worst: &&Descent, other: &&Descent| {
        let [worst, other] = [worst, other].map(|descent| {
            let fall = descent.fall.max(descent.saddle.unwrap_or(0.0));
            (descent.runaways.len(), fall)
        });
        worst.0.cmp(&other.0).then(worst.1.total_cmp(&other.1))
    };
    all.max_by(worse).cloned()
}

/// Returns the smallest fall that counts, for these numbers of weights and rows.
pub fn material(weights: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    (PER_WEIGHT * weights as f64)
        .min(MOST_PER_ROW * rows)
        .max(PER_ROW * rows)
}

/// Returns the number of losses of all rows that the budget allows.
fn affordable(infer: &InferenceBlock, train: &Train, rows: usize) -> usize {
    let cheap = surface::affordable(infer, train, rows, OPERATIONS);
    cheap.max(train.options.epochs_of(rows) / TRAININGS).min(MOST)
}

/// Returns the number of reals that a descent allocates in addition to its machine and rows.
pub fn numbers(infer: &InferenceBlock) -> usize {
    // The test for a saddle holds three more points.
    descent::numbers(infer.cost.variational_parameters) + 3 * infer.cost.variational_parameters
}

/// Returns the constrained parameters and the logarithms of scales that diverged during a descent.
fn runaways(
    task: &Task<'_>,
    surface: &mut Surface,
    (values, start): (&StateValues, &[f64]),
    end: &End,
) -> Result<Vec<Runaway>, Stop> {
    let infer = task.infer;
    let mut after = values.clone();
    let far = |at: usize| (end.point[at] - start[at]).abs() >= FAR;
    if !(0..start.len()).any(far) {
        return Ok(Vec::new());
    }
    for argument in &surface.arguments {
        after.insert(argument.name.clone(), end.point[argument.range.clone()].to_vec());
    }
    let before = declared(infer, values, task.context)?;
    let after = declared(infer, &after, task.context)?;
    let mut found = Vec::new();
    let arguments = surface.arguments.iter();
    let places: Vec<(String, Range<usize>)> = arguments
        .map(|argument| (argument.name.clone(), argument.range.clone()))
        .collect();
    for (name, range) in &places {
        let site = name.rsplit_once('/').map_or("", |(site, _)| site);
        let report = infer.reports.iter().find(|report| report.name == site);
        let (Some(report), true) = (report, before.has_port(site)) else {
            continue;
        };
        let (from, to) = (before.read_real(site)?, after.read_real(site)?);
        // Vectors such as simplices have fewer arguments than elements.
        if from.len() != range.len() {
            continue;
        }
        let shape = report.shape.resolve(&Sizes::default());
        for (element, at) in range.clone().enumerate().filter(|(_, at)| far(*at)) {
            // A parameter with real support changes by the same amount as its argument.
            let moved = end.point[at] - start[at];
            let is_real = (to[element] - from[element] - moved).abs() <= 1e-3 * moved.abs();
            let is_log = is_real && narrows(surface, &end.point, (at, moved.signum()))?;
            if !is_real || is_log {
                found.push(Runaway {
                    name: infer.names.element(site, &shape, element),
                    from: from[element],
                    to: to[element],
                    is_log,
                });
            }
        }
    }
    Ok(found)
}

/// Returns whether the curvature of the loss along another argument rises by more than [`NARROWER`] if an argument moves by `step`.
fn narrows(surface: &mut Surface, point: &[f64], (at, step): (usize, f64)) -> Result<bool, Stop> {
    let mut moved = point.to_vec();
    moved[at] += step;
    let others = surface.arguments.iter().map(|argument| argument.range.clone());
    let others: Vec<usize> = others
        .filter(|range| !range.is_empty() && !range.contains(&at))
        .map(|range| range.start)
        .take(COMPARED)
        .collect();
    for other in others {
        let part = (&(other..other + 1), &[APART][..]);
        let before = curvature(surface, point, part)?;
        let after = curvature(surface, &moved, part)?;
        if before > 0.0 && after > NARROWER * before {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a machine that holds the parameters on their declared scale.
pub(super) fn declared(
    infer: &InferenceBlock,
    values: &StateValues,
    context: &Context,
) -> Result<Machine, Fault> {
    let sizes = Sizes::default().with(Symbol::Draws, 1);
    let mut machine = Machine::new(&infer.sites, sizes, context.pool.clone())?;
    for (name, values) in values {
        ports::real(&mut machine, name, values)?;
    }
    machine.run()?;
    Ok(machine)
}
