//! Plots of posterior densities, of replicated data beside observed ones, of residuals, and of Pareto shapes.

use crate::draws::{Draws, draws};
use crate::fit::{Context, Stop};
use crate::leave_one_out::LeftOut;
use crate::predict::Predictor;
use crate::report::forecast::{Forecast, thinned};
use crate::report::histogram::Histogram;
use crate::report::svg::{Axis, Plot, Swatch};
use crate::run::Outcome;
use crate::score::targets;
use crate::states::Values;
use bnnc_abi::manifest::{Infer, OutputKind};
use bnnc_base::shape::Sizes;
use bnnc_mcmc::loo::good_shape;
use std::sync::Arc;

const SMALL: (f64, f64) = (330.0, 230.0);
const SQUARE: (f64, f64) = (480.0, 420.0);
const WIDE: (f64, f64) = (640.0, 320.0);

/// Elements whose density is drawn, at most.
const DENSITIES: usize = 12;

/// Elements that are drawn against each other, at most.
const PAIRED: usize = 3;

/// Draws behind a density of an approximation.
const DRAWS: usize = 1000;

/// Replicated data sets.
const REPLICATES: usize = 40;

/// Rows of a replicated data set, at most.
const ROWS: usize = 2000;

/// The draws of one element of a parameter.
struct Element {
    name: String,
    draws: Vec<f64>,
}

/// Densities of the parameters that the program declares itself, and of approximations their pairs.
///
/// # Errors
/// A limit of the machine.
pub fn densities(infer: &Infer, outcome: &Outcome, context: &Context) -> Result<Vec<String>, Stop> {
    let elements = elements(infer, outcome, context)?;
    let mut plots: Vec<String> = elements.iter().filter_map(density).collect();
    // Those of chains are drawn with their divergences.
    if outcome.diagnosis.is_none() {
        let varying: Vec<&Element> = elements
            .iter()
            .filter(|element| Histogram::new(&element.draws).is_some())
            .take(PAIRED)
            .collect();
        for (at, up) in varying.iter().enumerate() {
            plots.extend(varying[..at].iter().map(|across| pair(across, up)));
        }
    }
    Ok(plots)
}

fn elements(infer: &Infer, outcome: &Outcome, context: &Context) -> Result<Vec<Element>, Stop> {
    let Some(last) = outcome.splits.last() else {
        return Ok(Vec::new());
    };
    let own = |site: usize| infer.names.declares(&infer.reports[site].name);
    if outcome.diagnosis.is_some() {
        let quantities = outcome.quantities.iter();
        let of_own = quantities.filter(|quantity| quantity.element.is_some_and(|(site, _)| own(site)));
        let element = |quantity: &crate::sample::quantities::Quantity| Element {
            name: quantity.name.clone(),
            draws: quantity.chains.concat(),
        };
        return Ok(of_own.take(DENSITIES).map(element).collect());
    }
    let mut wanted = Vec::new();
    let mut count = 0;
    for (site, report) in infer.reports.iter().enumerate().filter(|(site, _)| own(*site)) {
        let elements = report.shape.count(&Sizes::default());
        if count + elements <= DENSITIES {
            count += elements;
            wanted.push(site);
        }
    }
    let Some(drawn) = draws(infer, &last.found, DRAWS, context)?.filter(|_| !wanted.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut found: Vec<Vec<Element>> = wanted.iter().map(|site| empty(infer, *site)).collect();
    drawn.visit(infer, &wanted, context, &mut |site, values| {
        if let Some(at) = wanted.iter().position(|wanted| *wanted == site) {
            let elements = &mut found[at];
            for draw in values.chunks_exact(elements.len().max(1)) {
                let pairs = elements.iter_mut().zip(draw);
                pairs.for_each(|(element, value)| element.draws.push(*value));
            }
        }
        Ok(())
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn empty(infer: &Infer, site: usize) -> Vec<Element> {
    let report = &infer.reports[site];
    let shape = report.shape.resolve(&Sizes::default());
    let element = |at: usize| Element {
        name: infer.names.element(&report.name, &shape, at),
        draws: Vec::new(),
    };
    (0..shape.iter().product()).map(element).collect()
}

fn density(element: &Element) -> Option<String> {
    let found = Histogram::new(&element.draws)?;
    let (x, y) = (
        Axis::around(&element.name, [found.low, found.high()].into_iter()),
        Axis::between("density", 0.0, 1.08 * found.top()),
    );
    let mut plot = Plot::new(&format!("Posterior of {}", element.name), SMALL, x, y);
    found.draw(&mut plot, "ranks0");
    Some(plot.render())
}

fn pair(across: &Element, up: &Element) -> String {
    let (x, y) = (
        Axis::around(&across.name, across.draws.iter().copied()),
        Axis::around(&up.name, up.draws.iter().copied()),
    );
    let mut plot = Plot::new(&format!("{} and {}", across.name, up.name), SQUARE, x, y);
    let points = across.draws.iter().zip(&up.draws);
    plot.dots("faint", points.map(|(x, y)| (*x, *y, 1.8)));
    plot.legend(Swatch::Dot, "faint", "draws");
    plot.render()
}

/// What was observed minus the predictive mean, against that mean.
pub fn residuals(forecast: &Forecast, target: &str, rows: &str) -> Option<String> {
    let pairs = || {
        forecast
            .mean
            .iter()
            .zip(&forecast.observed)
            .map(|(mean, seen)| (*mean, seen - mean))
    };
    pairs().next()?;
    let x = Axis::around(&format!("predicted {target}"), pairs().map(|pair| pair.0));
    let y = Axis::around(
        "observed minus predicted",
        pairs().map(|pair| pair.1).chain([0.0]),
    );
    let mut plot = Plot::new(&format!("Residuals, {rows} rows"), SQUARE, x.clone(), y);
    plot.line("guide", [(x.low, 0.0), (x.high, 0.0)].into_iter());
    plot.dots("estimate", pairs().map(|(mean, residual)| (mean, residual, 2.4)));
    plot.legend(Swatch::Dot, "estimate", "row");
    Some(plot.render())
}

/// The Pareto shape of each training row, with the limit for this number of draws and 1.
pub fn shapes(left_out: &LeftOut) -> Option<String> {
    let shapes = || {
        left_out
            .rows
            .iter()
            .enumerate()
            .map(|(row, found)| (row as f64, found.k))
    };
    let known = || shapes().filter(|(_, k)| k.is_finite());
    known().next()?;
    let limit = good_shape(left_out.draws);
    let count = left_out.rows.len() as f64;
    let y = Axis::around("Pareto k", known().map(|(_, k)| k).chain([0.0, limit]));
    let mut plot = Plot::new(
        "Pareto k of PSIS-LOO",
        WIDE,
        Axis::between("training row, counted from 0", -0.02 * count, 1.02 * count),
        y,
    );
    for line in [limit, 1.0] {
        plot.line("guide", [(-count, line), (2.0 * count, line)].into_iter());
    }
    let (good, bad): (Vec<_>, Vec<_>) = known().partition(|(_, k)| *k <= limit);
    plot.dots("estimate", good.into_iter().map(|(row, k)| (row, k, 2.2)));
    plot.dots("data", bad.into_iter().map(|(row, k)| (row, k, 2.8)));
    plot.legend(Swatch::Dot, "estimate", &format!("reliable, up to {limit:.2}"));
    plot.legend(Swatch::Dot, "data", "not reliable");
    Some(plot.render())
}

/// The density of an observed number beside those of data sets that the posterior predicts for the same rows.
///
/// # Errors
/// A limit of the machine, columns that do not fit.
pub fn replicated(
    (infer, place): (&Infer, usize),
    outcome: &Outcome,
    context: &Context,
) -> Result<Option<String>, Stop> {
    let (output, dataset) = (&infer.outputs[place], &outcome.dataset);
    let is_number = matches!(output.kind, OutputKind::Real | OutputKind::Count) && output.elements() == 1;
    let Some(last) = outcome
        .splits
        .last()
        .filter(|_| is_number && dataset.train.count > 0)
    else {
        return Ok(None);
    };
    let values: Arc<Values> = match (
        last.found.sampled(),
        draws(infer, &last.found, REPLICATES, context)?,
    ) {
        (Some(sampled), _) => sampled.values.clone(),
        (None, Some(Draws { values, .. })) => values,
        (None, None) => return Ok(None),
    };
    let rows = thinned(&dataset.train, dataset.train.count.div_ceil(ROWS));
    let observed = targets(&rows, dataset, infer.column(output))?;
    let mut predictor = Predictor::new(infer, &rows, dataset, REPLICATES, context)?;
    predictor.set_parameters(&values)?;
    let mut data: Vec<Vec<f64>> = vec![Vec::new(); REPLICATES];
    predictor.run(|_, block| {
        block.undo(infer, &dataset.preparation);
        let said = &block.each()[place];
        let drawn = said.draw.chunks_exact(said.rows.max(1));
        data.iter_mut()
            .zip(drawn)
            .for_each(|(data, drawn)| data.extend(drawn));
    })?;
    data.retain(|data| data.len() == observed.len());
    Ok(overlaid(infer.column(output), &observed, &data))
}

/// The densities of observed and replicated data, over the range of the observed ones and half as much on either side.
fn overlaid(target: &str, observed: &[f64], replicates: &[Vec<f64>]) -> Option<String> {
    let seen = Histogram::new(observed)?;
    let room = 0.25 * (seen.high() - seen.low);
    let (low, high) = (seen.low - room, seen.high() + room);
    let between = |values: &Vec<f64>| Histogram::between(values, low, high);
    let replicates: Vec<Histogram> = replicates.iter().filter_map(between).collect();
    let seen = Histogram::between(observed, low, high).filter(|_| !replicates.is_empty())?;
    let tops = replicates.iter().chain([&seen]).map(Histogram::top);
    let top = tops.fold(0.0, f64::max);
    let mut plot = Plot::new(
        "Posterior predictive check, training rows",
        WIDE,
        Axis::between(target, low, high),
        Axis::between("density", 0.0, 1.08 * top),
    );
    for replicate in &replicates {
        plot.line("replicate", replicate.points());
    }
    plot.line("observed", seen.points());
    plot.legend(Swatch::Line, "observed", "observed");
    plot.legend(
        Swatch::Line,
        "replicate",
        &format!("{} replicated data sets", replicates.len()),
    );
    Some(plot.render())
}
