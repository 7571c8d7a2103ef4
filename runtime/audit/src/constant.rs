//! Checks for a maximum that makes a network predict the same value for every row.

use crate::diagnostics::results as codes;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::predict::Predictor;
use bnnc_core::score;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;

/// All elements of a parameter may be at the means of their priors. If the parameter has at least this number of elements, this is
/// not due to chance. The probability that 10 normal numbers are all within a hundredth of a standard deviation is below 1e-20.
const ELEMENTS: usize = 10;

/// A weight counts as being at its prior mean if its distance from this mean is below this number of prior standard deviations.
const AT_MEAN: f64 = 0.01;

/// Predictions count as equal if they differ by less than this value. For probabilities, the difference is absolute. For reals and counts, the
/// difference is divided by the standard deviation of the target.
const SAME: f64 = 1e-3;

/// Returns a warning if two conditions hold at a maximum. First, several weight matrices are at the mean of their prior. Second,
/// the predictions are the same for all training rows, although inputs and targets vary. A single weight matrix at its prior mean
/// does not cause a warning, because in a linear
/// model this may be correct.
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn ignored_inputs(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    (dataset, context): (&Dataset, &Context),
) -> Result<Option<Diagnostic>, Stop> {
    let is_around_maximum = found.is_maximum() || infer.ensemble().is_some();
    let rows = examples(&infer.bindings, &dataset.train);
    if !is_around_maximum || found.is_interrupted() || rows < 2 {
        return Ok(None);
    }
    let is_input = |port: &str| infer.outputs.iter().all(|output| output.name != port);
    let has_inputs = infer.bindings.iter().any(|binding| is_input(&binding.port));
    let weights: Vec<(&str, f64)> = infer
        .reports
        .iter()
        .filter_map(|report| Some((report.name.as_str(), at_mean(report, found.point())?)))
        .collect();
    let output = infer.only_output().filter(|_| has_inputs && weights.len() > 1);
    let Some((output, least)) = output.and_then(|output| Some((output, least(infer, output, dataset)?)))
    else {
        return Ok(None);
    };
    let mut predictor = Predictor::new(infer, &dataset.train, dataset, 1, context)?;
    predictor.set_parameters(found.point())?;
    let mut ranges: Vec<(f64, f64)> = Vec::new();
    predictor.run(|_, block| {
        block.undo(infer, &dataset.preparation);
        let values = match block.probabilities.is_empty() {
            true => &block.mean,
            false => &block.probabilities,
        };
        let width = values.len() / block.rows.max(1);
        ranges.resize(width, (f64::INFINITY, f64::NEG_INFINITY));
        for row in values.chunks_exact(width.max(1)) {
            for ((low, high), value) in ranges.iter_mut().zip(row) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
    })?;
    let is_same = !ranges.is_empty() && ranges.iter().all(|(low, high)| high - low < least);
    let parameters = infer.cost.parameters;
    Ok(is_same.then(|| codes::ignored_inputs(&infer.name, &output.name, rows, &weights, parameters)))
}

/// Checks whether all elements of a parameter are at the means of their priors. In this case, returns the smallest prior standard deviation among the
/// elements. Otherwise returns `None`.
fn at_mean(report: &SiteReport, point: &StateValues) -> Option<f64> {
    let values = point.get(&report.location())?;
    if report.prior.support != Support::Real {
        return None;
    }
    let is_at_mean = |(at, value): (usize, &f64)| {
        let known = report.prior.moments(at);
        known.is_some_and(|(mean, sd)| (value - mean).abs() < AT_MEAN * sd)
    };
    let are_at_mean = values.len() >= ELEMENTS && values.iter().enumerate().all(is_at_mean);
    let deviations = report.prior.moments.iter();
    let least = deviations.map(|(_, sd)| *sd).fold(f64::INFINITY, f64::min);
    are_at_mean.then_some(least)
}

/// Returns the smallest difference at which two predictions count as different. Returns `None` if the target does not vary.
fn least(infer: &InferenceBlock, output: &Output, dataset: &Dataset) -> Option<f64> {
    match output.kind {
        OutputKind::Classes(_) | OutputKind::Bool => Some(SAME),
        OutputKind::Real | OutputKind::Count => {
            let targets = score::targets(&dataset.train, dataset, infer.column(output)).ok()?;
            let least = SAME * super::found::moments(&targets).1;
            (least > 0.0).then_some(least)
        }
    }
}
