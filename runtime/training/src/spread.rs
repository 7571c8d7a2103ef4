//! Checks the spread of draws, or the spread of the members of an ensemble. The spread is compared
//! with the curvature of the loss.

use super::Task;
use super::maximum::{affordable, curvature};
use super::surface::Surface;
use crate::step::training;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::names::layer_of;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_core::feed::examples;
use bnnc_core::states::{StateValues, site_of};
use std::ops::Range;
use std::sync::Arc;

/// To estimate the breadth of a distribution, this number of pairs of draws is used. In one dimension, the relative error of the estimate is then a
/// fifth.
const MIRRORED: usize = 50;

/// The variance of a parameter is estimated from this number of draws. The relative error of the estimate is then a seventh.
const SQUARES: usize = 100;

/// The members of an ensemble agree if the ratio of the variances between them to the posterior variances is
/// below this value. The ratio of standard deviations
/// is then below a fifth.
const AGREEING: f64 = 0.04;

/// The breadth of draws around a point. To compute the breadth, the variances of the draws are compared with the variances of a
/// Gaussian posterior at this point.
#[derive(Clone, Debug)]
pub struct Breadth {
    /// The ratio of variances, averaged over all parameters.
    pub all: f64,
    /// The parameter with the smallest ratio, and an upper bound on this ratio. `None` if the budget was too small.
    pub narrowest: Option<(String, f64)>,
}

/// Estimates the breadth of draws around a point. The estimate is a ratio. The numerator is the mean rise of the loss from the point to the draws.
/// The denominator is the mean rise for draws of a Gaussian posterior: half the number of parameters. Each draw is paired with its mirror image on
/// the other side of the point, so that the effect of the slope cancels. The estimate is infinite if the
/// loss is not finite at a draw. Returns `None` if the objective has noise or
/// the budget is too small.
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

/// Returns the parameter whose draws are narrowest, and an upper bound on a ratio: the variance of these draws
/// divided by the posterior variance. The draws are
/// compared with the curvature of the loss at the centre. The budget limits the number of parameters that are tested.
///
/// Under a Gaussian posterior with precision `H`, the variance of parameter `i` is at least its conditional variance `1 / H_ii`. The product of the
/// variance and `H_ii` is therefore at least 1. For the same reason, the mean of `d' H_ss d` over the deviations `d` of a state with `n` elements
/// is at least `n`.
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
    // If a unit is never active, the loss of the rows does not depend on its weights. Single weights of layers are therefore not tested.
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
            // If the loss is not convex, the ratio is negative and meaningless.
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

/// Tests whether the members of an ensemble agree, which means that they scatter far less than draws of the posterior. For each parameter, computes
/// a ratio: the variance between the members, divided by the posterior variance given all
/// other parameters. The ratio is averaged over the elements of the
/// parameter. Returns the largest of these ratios. Returns `None` if a ratio is above `AGREEING`, the loss is not convex between the members,
/// the objective has noise, or the budget is too small.
///
/// If the members ended in different optima of a network, the weights of each layer differ as much between members as
/// between draws of the posterior. The test then ends
/// at the first layer.
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
        // The divisor is `n - 1`, because the mean squared deviation from the mean of the members would underestimate the variance.
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

/// Returns the name of element `at` of a site that has `count` elements.
fn element(infer: &InferenceBlock, site: &str, (at, count): (usize, usize)) -> String {
    let report = infer.report(site);
    let shape = report.map(|report| report.shape.resolve(&Sizes::default()));
    match shape.filter(|_| count > 1) {
        Some(shape) => infer.names.element(site, &shape, at),
        None => site.to_owned(),
    }
}
