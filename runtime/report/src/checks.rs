//! Draws plots of posterior densities, plots of replicated data next to observed data, and plots of residuals and Pareto shapes.

use crate::forecast::Forecast;
use crate::histogram::Histogram;
use crate::replicates::{PredictiveCheck, shares, spread};
use crate::svg::{Plot, PlotAxis, Swatch};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_data::Rows;
use bnnc_data::metrics::{quantile, sorted};
use bnnc_inference::leave_one_out::LeftOut;
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_mcmc::loo::good_shape;

const SMALL: (f64, f64) = (330.0, 230.0);
const SQUARE: (f64, f64) = (480.0, 420.0);
const WIDE: (f64, f64) = (640.0, 320.0);

/// The maximum number of elements whose densities are drawn.
const DENSITIES: usize = 12;

/// The maximum number of elements for which scatter plots of pairs are drawn.
const PAIRED: usize = 3;

/// The density of an approximation is drawn from this number of draws.
const DRAWS: usize = 1000;

/// The maximum number of classes whose relative frequencies are drawn.
const CLASSES: usize = 40;

/// The draws of one element of a parameter.
struct Element {
    name: String,
    draws: Vec<f64>,
}

/// Draws the densities of the parameters that the program itself declares. For approximations, also draws scatter plots for pairs of parameters.
///
/// # Errors
/// Fails if there is too little memory.
pub fn densities(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Vec<String>, Stop> {
    let elements = elements(infer, outcome, context)?;
    let mut plots: Vec<String> = elements.iter().filter_map(density).collect();
    // For chains, the pairs are already drawn in another plot, together with the divergences.
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

fn elements(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Vec<Element>, Stop> {
    let Some(last) = outcome.splits.last() else {
        return Ok(Vec::new());
    };
    let own = |site: usize| infer.names.declares(&infer.reports[site].name);
    if outcome.diagnosis.is_some() {
        let quantities = outcome.quantities.iter();
        let of_own = quantities.filter(|quantity| quantity.element.is_some_and(|(site, _)| own(site)));
        let element = |quantity: &bnnc_inference::chains::Quantity| Element {
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
    let Some(drawn) = last
        .found
        .draws(infer, DRAWS, context)?
        .filter(|_| !wanted.is_empty())
    else {
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

fn empty(infer: &InferenceBlock, site: usize) -> Vec<Element> {
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
    let x = PlotAxis::around(&element.name, [found.low, found.high()].into_iter());
    let y = PlotAxis::between("density", 0.0, 1.08 * found.top());
    let mut plot = Plot::new(&format!("Posterior of {}", element.name), SMALL, x, y);
    found.draw(&mut plot, "ranks0");
    Some(plot.render())
}

fn pair(across: &Element, up: &Element) -> String {
    let x = PlotAxis::around(&across.name, across.draws.iter().copied());
    let y = PlotAxis::around(&up.name, up.draws.iter().copied());
    let mut plot = Plot::new(&format!("{} and {}", across.name, up.name), SQUARE, x, y);
    let points = across.draws.iter().zip(&up.draws);
    plot.dots("faint", points.map(|(x, y)| (*x, *y, 1.8)));
    plot.legend(Swatch::Dot, "faint", "draws");
    plot.render()
}

/// Draws the residuals against the predictive mean. A residual is the observed value minus the predictive mean.
pub fn residuals(forecast: &Forecast, target: &str, rows: &str) -> Option<String> {
    let pairs = || {
        forecast
            .mean
            .iter()
            .zip(&forecast.observed)
            .map(|(mean, seen)| (*mean, seen - mean))
    };
    pairs().next()?;
    let x = PlotAxis::around(&format!("predicted {target}"), pairs().map(|pair| pair.0));
    let y = PlotAxis::around(
        "observed minus predicted",
        pairs().map(|pair| pair.1).chain([0.0]),
    );
    let mut plot = Plot::new(&format!("Residuals, {rows} rows"), SQUARE, x.clone(), y);
    plot.line("guide", [(x.low, 0.0), (x.high, 0.0)].into_iter());
    plot.dots("estimate", pairs().map(|(mean, residual)| (mean, residual, 2.4)));
    plot.legend(Swatch::Dot, "estimate", "row");
    Some(plot.render())
}

/// Draws the Pareto shapes of the training rows `train`. Lines show the limit for this number of draws, and the value 1.
pub fn shapes(left_out: &LeftOut, train: &Rows) -> Option<String> {
    let (numbers, label) = numbers(train, left_out.rows.len());
    let shapes = || {
        numbers
            .iter()
            .zip(&left_out.rows)
            .map(|(row, found)| (*row as f64, found.k))
    };
    let known = || shapes().filter(|(_, k)| k.is_finite());
    known().next()?;
    let limit = good_shape(left_out.draws);
    let x = PlotAxis::around(label, shapes().map(|(row, _)| row));
    let y = PlotAxis::around("Pareto k", known().map(|(_, k)| k).chain([0.0, limit]));
    let mut plot = Plot::new("Pareto k of PSIS-LOO", WIDE, x.clone(), y);
    for line in [limit, 1.0] {
        plot.line("guide", [(x.low, line), (x.high, line)].into_iter());
    }
    let (good, bad): (Vec<_>, Vec<_>) = known().partition(|(_, k)| *k <= limit);
    plot.dots("estimate", good.into_iter().map(|(row, k)| (row, k, 2.2)));
    plot.dots("data", bad.into_iter().map(|(row, k)| (row, k, 2.8)));
    plot.legend(Swatch::Dot, "estimate", &format!("reliable, up to {limit:.2}"));
    plot.legend(Swatch::Dot, "data", "not reliable");
    Some(plot.render())
}

/// Returns the numbers of the rows in the file, and a label for the axis. If the rows come from several files, or from no file, returns their
/// positions instead.
fn numbers(rows: &Rows, count: usize) -> (Vec<usize>, &'static str) {
    match rows.numbers().filter(|numbers| numbers.len() == count) {
        Some(numbers) => (numbers, "training row, by its row in the file"),
        None => ((0..count).collect(), "training row, counted from 0"),
    }
}

/// Draws the prior and posterior predictive checks of an output. The plots show replicated data next to observed values.
pub fn replicated(check: &PredictiveCheck) -> Vec<String> {
    let draw = |stage: &str, sets: &[Vec<f64>]| match &check.classes {
        Some(names) => frequencies(stage, &check.column, names, (&check.observed, sets)),
        None => overlaid(stage, &check.column, &check.observed, sets),
    };
    let fitted = if check.is_point { "Plug-in" } else { "Posterior" };
    let posterior = draw(fitted, &check.posterior);
    let prior = check.prior.as_ref().ok().and_then(|sets| draw("Prior", sets));
    posterior.into_iter().chain(prior).collect()
}

/// Draws the densities of observed and of replicated data. On either side, the axis extends a quarter of the observed range beyond the observed
/// values. If the 5 % or the 95 % quantile of the replicated values lies outside this range, the axis extends to this quantile.
fn overlaid(stage: &str, target: &str, observed: &[f64], replicates: &[Vec<f64>]) -> Option<String> {
    let seen = Histogram::new(observed)?;
    let room = 0.25 * (seen.high() - seen.low);
    let all = sorted(replicates.iter().flatten().copied());
    let mut low = (seen.low - room).min(quantile(&all, 0.05));
    let high = (seen.high() + room).max(quantile(&all, 0.95));
    let is_whole = observed.iter().chain(&all).all(|value| value.fract() == 0.0);
    if is_whole && all.first().is_some_and(|first| *first >= 0.0) {
        low = low.max(-0.5);
    }
    let between = |values: &[f64]| match is_whole {
        true => Histogram::of_whole(values, low, high),
        false => Histogram::between(values, low, high),
    };
    let replicates: Vec<Histogram> = replicates.iter().filter_map(|values| between(values)).collect();
    let seen = between(observed).filter(|_| !replicates.is_empty())?;
    let tops = replicates.iter().chain([&seen]).map(Histogram::top);
    let top = tops.fold(0.0, f64::max);
    let mut plot = Plot::new(
        &format!("{stage} predictive check, training rows"),
        WIDE,
        PlotAxis::between(target, low, high),
        PlotAxis::between("density", 0.0, 1.08 * top),
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

/// Draws the relative frequency of each class in the observed rows. Also draws the central 90 % of its relative frequencies in replicated data.
fn frequencies(
    stage: &str,
    target: &str,
    names: &[String],
    (observed, replicates): (&[f64], &[Vec<f64>]),
) -> Option<String> {
    if replicates.is_empty() || names.len() > CLASSES {
        return None;
    }
    let all: Vec<Vec<f64>> = replicates.iter().map(|set| shares(set, names.len())).collect();
    let of = |class: usize| spread(&all.iter().map(|shares| shares[class]).collect::<Vec<f64>>());
    let found: Vec<(f64, f64, f64)> = (0..names.len()).map(of).collect();
    let seen = shares(observed, names.len());
    let ends = found.iter().flat_map(|(_, low, high)| [*low, *high]);
    let x = PlotAxis::around(
        &format!("share of training rows with this {target}"),
        ends.chain(seen.iter().copied()),
    );
    let mut plot = Plot::new(
        &format!("{stage} predictive check, classes"),
        (520.0, 120.0 + 22.0 * names.len() as f64),
        x,
        PlotAxis::named("", names.to_vec()),
    );
    let places = || found.iter().enumerate().map(|(at, found)| (at as f64, *found));
    plot.rows("interval", places().map(|(at, (_, low, high))| (at, low, high)));
    plot.dots("estimate", places().map(|(at, (mean, ..))| (mean, at, 3.0)));
    plot.dots(
        "data",
        seen.iter()
            .enumerate()
            .map(|(at, share)| (*share, at as f64, 3.4)),
    );
    plot.legend(Swatch::Dot, "data", "observed");
    plot.legend(Swatch::Dot, "estimate", "predicted");
    plot.legend(Swatch::Line, "interval", "90 % of replicated data sets");
    Some(plot.render())
}
