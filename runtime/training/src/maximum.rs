//! A test of whether a training run ended at a maximum, for densities without noise.
//!
//! A descent in double precision over all rows continues from the end of the training. If the descent finds a lower loss nearby, the training was too
//! short or ended on a plateau. This holds even if the losses of the training do not show a slope. If a maximum does not exist, the descent does not
//! settle. It then drives a constrained parameter far towards an end of its range. An example is the joint density of a scale and the parameters
//! that it scales: this density grows without bound as the scale decreases to zero.
//!
//! The descent may use a twentieth of the operations of the training, or `OPERATIONS` operations
//! if that is more. If this budget is too small, only the slope of the
//! losses is tested.
//!
//! The test was measured on 540 training runs by `map` whose best possible loss is known. Five models were trained (linear, logistic, Poisson,
//! hierarchical, a network of 82 weights), with 200 to 20,000 steps, three learning rates, three schedules, batches of 32 rows and full batches. Of
//! these training runs, 239 were too short. The test misses 15 of the 239 runs; in 12 of these 15 runs, the network ended in another optimum. A
//! test of the slope alone misses 79 of the 239 runs. The other 301 training runs were long enough. The test wrongly reports 2 of the 301 runs, and
//! a test of the slope alone wrongly reports 8.

use super::descent::{self, End, descend};
use super::ends::{AtEnd, at_ends};
use super::report::{ROWS_PER_WEIGHT, is_cut_off};
use super::surface::{self, Surface};
use super::{Task, TrainingResult, gap, saddle};
use crate::step::training;
use bnnc_abi::manifest::{InferenceBlock, KlWeight, Train};
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::ports;
use bnnc_core::states::{StateValues, site_of};
use bnnc_kernels::executor::Machine;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The maximum number of losses that a descent computes.
const MOST: usize = 200;
/// The minimum number of losses that a descent needs to give a result. This number is five times the smallest number of steps in which a
/// descent can settle.
const FEWEST: usize = 50;

/// The number of floating-point operations that every descent may use. These operations take about a tenth of a second. With ten times this number,
/// the descent would be too expensive: after a short training run of a network, it would take two thirds of the training time, although such a
/// training run never reaches a maximum.
const OPERATIONS: u64 = 100_000_000;

/// The number of operations of the training, divided by this number, is the number of operations
/// that the descent after the training may use.
pub const TRAININGS: usize = 20;

/// The loss may still decrease by at most the larger of two limits: `PER_ROW` nats per row, and `PER_WEIGHT`
/// nats per weight. `laplace` uses the same limit
/// per weight to decide whether a point is a maximum. The limit per weight is at most `MOST_PER_ROW` nats per row, because networks continue to fit
/// their training rows.
const PER_WEIGHT: f64 = 0.1;

/// The limit per weight for the evidence lower bound of a model with at least [`ROWS_PER_WEIGHT`] rows for each weight.
const PER_SCALE: f64 = 0.05;
const MOST_PER_ROW: f64 = 0.25;
const PER_ROW: f64 = 1e-3;

/// A decrease below this fraction of the acceptable decrease is negligible.
const NOTHING: f64 = 0.01;

/// A parameter counts as diverging if it moves by at least this distance on the unconstrained scale. A positive parameter then changes by a factor of
/// `exp(4)`, about 55.
const FAR: f64 = 4.0;

/// A parameter counts as the logarithm of a scale only if a curvature rises by more than this factor. If the logarithm of a scale changes by 1, the
/// curvatures along all parameters with this scale are multiplied by `exp(2)` or `exp(-2)`. The factor is below `exp(2)` to leave a margin. Other
/// parameters have a smaller effect. If a coefficient of a linear predictor moves by 1, the curvature along other parameters does not change. If
/// the intercept of a log rate moves by 1, this curvature is multiplied by `exp(1)`.
const NARROWER: f64 = 6.0;

/// A test compares curvatures before and after it moves one parameter. Curvatures are computed along the first element of each of the other
/// parameters, for at most this number of parameters.
const COMPARED: usize = 16;
/// A curvature at a point is computed from the gradients at this distance on both sides of the point.
const APART: f64 = 1e-4;

/// A parameter without a maximum. The descent after the training moves it far towards an end of its range, and does not settle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runaway {
    /// The name of the parameter, such as `tau`, or of one of its elements, such as `lambda[age]`.
    pub name: String,
    /// The value of the parameter at the end of the training.
    pub from: f64,
    /// The value of the parameter at the end of the descent.
    pub to: f64,
    /// True if the parameter is the logarithm of a scale.
    #[serde(default)]
    pub is_log: bool,
}

/// The result of a descent that starts at the end of a training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Descent {
    /// The decrease of the loss during the descent.
    pub fall: f64,
    /// True if the loss decreased so much that the training cannot have converged.
    pub is_short: bool,
    /// True if the loss cannot decrease further at the end of the descent. If `is_short` is false too, the training ended at a minimum of the loss.
    pub is_settled: bool,
    /// If the descent ended at a saddle, another descent starts from a nearby point. The other descent ends
    /// below the saddle by this number of nats.
    #[serde(default)]
    pub saddle: Option<f64>,
    /// The parameters that do not have a maximum.
    pub runaways: Vec<Runaway>,
    /// The parameters whose maximum is at an end of their range.
    pub at_ends: Vec<AtEnd>,
}

/// Descends from the parameters of a finished training run. Returns `None` if the weight of the KL divergence varies, the budget is too small, or
/// the user or early stopping ended the training. After early stopping, a descent is still made if the training was expected to reach its optimum
/// (`is_cut_off`).
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
    // In `vi`, an argument is a parameter of the variational family. If it diverges, this does not show that a parameter of the model diverges.
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

/// Returns `d' H d`, where `d` is a deviation of some arguments from a point, and `H` is the second derivative of the loss at this point. The result
/// is computed from the difference of the gradients on both sides of the point.
pub(super) fn curvature(
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

/// Returns the descent that lowers the loss most. `found` contains the results of several training runs, each with at most one descent. If the
/// validation rows ended a training run, it does not have a descent.
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

/// Returns the smallest relevant decrease of the loss for these numbers of weights and rows, in nats.
pub fn material(weights: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    (PER_WEIGHT * weights as f64)
        .min(MOST_PER_ROW * rows)
        .max(PER_ROW * rows)
}

/// Returns the smallest relevant decrease of the negative evidence lower bound, in nats. A decrease of this bound is a decrease of the KL divergence
/// to the posterior. The limit therefore does not depend on the number of rows. A scale that is
/// 30 % too small adds 0.1 nats, and a scale that is 22 % too small
/// adds `PER_SCALE`. For models with few parameters, the limit is `PER_SCALE`, because users read the standard deviations of their parameters.
pub fn material_bound(weights: usize, rows: usize) -> f64 {
    let per_weight = match ROWS_PER_WEIGHT.saturating_mul(weights) <= rows {
        true => PER_SCALE,
        false => PER_WEIGHT,
    };
    (per_weight * weights as f64).min(MOST_PER_ROW * rows as f64)
}

/// Returns the number of times that the loss of all rows can be computed within the budget.
pub(super) fn affordable(infer: &InferenceBlock, train: &Train, rows: usize) -> usize {
    let cheap = surface::affordable(infer, train, rows, OPERATIONS);
    cheap.max(train.options.epochs_of(rows) / TRAININGS).min(MOST)
}

/// Returns the number of reals that a descent allocates in addition to its machine and rows.
pub fn numbers(infer: &InferenceBlock) -> usize {
    // The test for a saddle stores three more points.
    descent::numbers(infer.cost.variational_parameters) + 3 * infer.cost.variational_parameters
}

/// Returns the parameters that diverged during a descent. Only constrained parameters and logarithms of scales are returned.
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
        let site = site_of(name);
        let report = infer.report(site);
        let (Some(report), true) = (report, before.has_port(site)) else {
            continue;
        };
        let (from, to) = (before.read_real(site)?, after.read_real(site)?);
        // A vector such as a simplex has fewer arguments than elements, so its elements do not correspond to
        // arguments.
        if from.len() != range.len() {
            continue;
        }
        let shape = report.shape.resolve(&Sizes::default());
        for (element, at) in range.clone().enumerate().filter(|(_, at)| far(*at)) {
            // If the support of a parameter is the real line, the parameter changes by the same amount as its argument.
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

/// Moves argument `at` by `step`. Returns whether this raises the curvature of the loss along another argument by more than the factor
/// [`NARROWER`].
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
