//! A test of whether a training ended at a maximum, for densities without noise.
//!
//! A descent in double precision over all rows continues from the end of the training. If the
//! descent finds a lower loss nearby, the training was too short or ended on a plateau, even if its
//! losses show no slope. If the descent does not settle, but drives a constrained parameter far
//! towards an end of its range, a maximum does not exist. For example, the joint density of a scale
//! and the parameters that it scales grows without bound as the scale decreases to zero.
//!
//! The descent may take a twentieth of the work of the training, or `OPERATIONS` if that is more.
//! If this budget is too small, only the slope of the losses is tested.
//!
//! The test was measured on 540 trainings by `map` whose best possible loss is known. The
//! measurements are on trainings of five models (linear, logistic, Poisson, hierarchical, a network
//! of 82 weights), with 200 to 20,000 steps, three rates, three schedules, batches of 32 and full
//! batches. Of these, 239 trainings were too short. The test misses 15 of them (12 are trainings of
//! the network that ended in other optima). A test of the slope alone misses 79 of them. Of the 540
//! trainings, 301 were long enough. The test wrongly reports 2 of the trainings that were long
//! enough; a test of the slope alone reports 8.

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

/// The maximum number of losses that a descent computes.
const MOST: usize = 200;
/// The minimum number of losses with which a descent gives a result. The number is five times the
/// number of steps after which a descent can settle.
const FEWEST: usize = 50;

/// The number of floating-point operations that every descent may use. These operations take about
/// a tenth of a second. With ten times this number, the descent after a short training of a network
/// would take two thirds of the time of the training, and such a training never reaches a maximum.
const OPERATIONS: u64 = 100_000_000;

/// The descent after a training may do the work of the training divided by this number.
pub const TRAININGS: usize = 20;

/// The loss may still decrease by the larger of two limits: `PER_ROW` nats per row, and
/// `PER_WEIGHT` nats per weight. `laplace` uses the same limit per weight at a maximum. The limit
/// per weight is at most `MOST_PER_ROW` nats per row, because networks continue to fit their
/// training rows.
const PER_WEIGHT: f64 = 0.1;
const MOST_PER_ROW: f64 = 0.25;
const PER_ROW: f64 = 1e-3;

/// The breadth of a distribution is estimated from this number of pairs of draws. In one dimension,
/// the relative error of the estimate is a fifth.
const MIRRORED: usize = 50;

/// The variance of a parameter is estimated from this number of draws. The relative error of the
/// estimate is a seventh.
const SQUARES: usize = 100;

/// The members of an ensemble agree if the ratio of their variances to the posterior variances is
/// below this value. The ratio of standard deviations is then below a fifth.
const AGREEING: f64 = 0.04;

/// A decrease below this fraction of the acceptable decrease is negligible.
const NOTHING: f64 = 0.01;

/// A parameter counts as diverging if it moves by at least this distance on the unconstrained
/// scale. A positive parameter then changes by a factor of 55, which is `exp(4)`.
const FAR: f64 = 4.0;

/// A parameter counts as the logarithm of a scale only if a curvature rises by more than this
/// factor. If the logarithm of a scale moves by 1, the curvature along each parameter with this
/// scale is multiplied by `exp(2)` or `exp(-2)`; the factor is below `exp(2)` to leave a margin.
/// Other parameters have a smaller effect. If a coefficient of a linear predictor moves by 1, the
/// curvature along other parameters does not change. If the intercept of a log rate moves by 1, it
/// is multiplied by `exp(1)`.
const NARROWER: f64 = 6.0;

/// A test moves one parameter and compares curvatures before and after. The curvatures are computed
/// along the first element of at most this number of other parameters.
const COMPARED: usize = 16;
/// A curvature at a point is computed from the gradients at this distance on both sides of the
/// point.
const APART: f64 = 1e-4;

/// A parameter without a maximum. The descent after the training moves it far towards an end of its
/// range, and does not settle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runaway {
    /// The name of the parameter or of its element, such as `tau` or `lambda[age]`.
    pub name: String,
    /// The value of the parameter at the end of the training.
    pub from: f64,
    /// The value of the parameter at the end of the descent.
    pub to: f64,
    /// True if the parameter is the logarithm of a scale.
    #[serde(default)]
    pub is_log: bool,
}

/// The breadth of draws around a point. The breadth compares the variances of the draws with those
/// of a Gaussian posterior at this point.
#[derive(Clone, Debug)]
pub struct Breadth {
    /// The mean over all parameters of the ratio of variances.
    pub all: f64,
    /// The parameter with the smallest ratio, and an upper bound on this ratio. `None` if the
    /// budget was too small.
    pub narrowest: Option<(String, f64)>,
}

/// The result of a descent that starts at the end of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// The decrease of the loss during the descent.
    pub fall: f64,
    /// True if the loss decreased so much that the training cannot have converged.
    pub is_short: bool,
    /// True if the loss cannot decrease further at the end of the descent. If `is_short` is false
    /// too, the training ended at a minimum of the loss.
    pub is_settled: bool,
    /// If the descent ended at a saddle, the amount by which another descent from a nearby point
    /// ends below it.
    #[serde(default)]
    pub saddle: Option<f64>,
    /// The parameters that do not have a maximum.
    pub runaways: Vec<Runaway>,
    /// The parameters whose maximum is at an end of their range.
    pub at_ends: Vec<AtEnd>,
}

/// Descends from the parameters of a finished training. Returns `None` if the weight of the KL
/// divergence varies, if the budget is too small, or if the user or early stopping ended the
/// training. After early stopping, a descent is still made if the training should have reached its
/// optimum (`is_cut_off`).
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
    // In `vi`, a diverging argument is a parameter of the variational family. Its divergence does
    // not show that a parameter of the model diverges.
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

/// Estimates the breadth of draws around a point. The estimate is the mean rise of the loss from
/// the point to the draws, divided by the mean rise for draws of a Gaussian posterior, which is
/// half the number of parameters. Each draw is paired with its mirror image, so that the slope at
/// the point cancels. The estimate is infinite if the loss is not finite at a draw. Returns `None`
/// if the objective has noise or the budget is too small.
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

/// Returns the name of the parameter whose draws are narrowest, and an upper bound on the ratio of
/// their variance to the posterior variance. The draws are compared with the curvature of the loss
/// at the centre. The budget limits the number of parameters that are tested.
///
/// Under a Gaussian posterior with precision `H`, the variance of parameter `i` is at least its
/// conditional variance `1 / H_ii`. The product of the variance and `H_ii` is therefore at least 1.
/// For a state with `n` elements, the mean of `d' H_ss d` over its deviations `d` is at least `n`,
/// for the same reason.
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
            // If the loss is not convex, the ratio is negative and has no meaning.
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

/// Tests whether the members of an ensemble agree, that is scatter far less than draws of the
/// posterior. For each parameter, computes the ratio of the variances of the members to the
/// variances of the posterior given all other parameters, averaged over the elements of the
/// parameter. Returns the largest of these ratios. Returns `None` if a ratio is above `AGREEING`,
/// if the loss is not convex between the members, if the objective has noise, or if the budget is
/// too small.
///
/// If the members ended in different optima of a network, the weights of each layer differ as much
/// as in draws of the posterior. The test then ends at the first layer.
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
        // The mean square around the members' own mean is smaller than their variance, so the
        // divisor is `n - 1`.
        let ratio = sum / (points.len() - 1).max(1) as f64 / range.len().max(1) as f64;
        // Along a direction without curvature, the ratio does not show whether the members agree.
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

/// Returns `d' H d`, where `d` is a deviation of some arguments from a point, and `H` is the second
/// derivative of the loss at this point. The result is computed from the difference of the
/// gradients on both sides of the point.
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

/// Returns the descent that lowers the loss most among those of several trainings. A training that
/// the validation rows ended does not have a descent.
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

/// Returns the smallest decrease of the loss that is relevant for these numbers of weights and
/// rows, in nats.
pub fn material(weights: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    (PER_WEIGHT * weights as f64)
        .min(MOST_PER_ROW * rows)
        .max(PER_ROW * rows)
}

/// Returns the number of times that the budget allows to compute the loss of all rows.
fn affordable(infer: &InferenceBlock, train: &Train, rows: usize) -> usize {
    let cheap = surface::affordable(infer, train, rows, OPERATIONS);
    cheap.max(train.options.epochs_of(rows) / TRAININGS).min(MOST)
}

/// Returns the number of reals that a descent allocates in addition to its machine and rows.
pub fn numbers(infer: &InferenceBlock) -> usize {
    // The test for a saddle stores three more points.
    descent::numbers(infer.cost.variational_parameters) + 3 * infer.cost.variational_parameters
}

/// Returns the parameters that diverged during a descent. Only constrained parameters and
/// logarithms of scales are returned.
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
        // A vector such as a simplex has fewer arguments than elements, so its elements cannot be
        // matched with arguments.
        if from.len() != range.len() {
            continue;
        }
        let shape = report.shape.resolve(&Sizes::default());
        for (element, at) in range.clone().enumerate().filter(|(_, at)| far(*at)) {
            // If the support of a parameter is the real line, the parameter changes by the same
            // amount as its argument.
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

/// Returns whether the curvature of the loss along some other argument rises by more than the
/// factor [`NARROWER`] if argument `at` moves by `step`.
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

/// Returns a machine that has computed the parameters on their declared scale.
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
