//! Checks whether posteriors or metrics contradict the assumptions of the model.
//!
//! Every check compares the result of the run with a property that holds for any data. A warning is given only if the deviation from this property is
//! larger than random variation could cause.

use crate::diagnostics::results as codes;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::diagnostics::{Unpredicted, bound, unpredicted_output};
use bnnc_data::Rows;
use bnnc_data::write::ResultColumn;
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::summary::SiteSummary;
use std::collections::BTreeMap;

/// With fewer rows than this, intervals and accuracies are not informative.
const LEAST: usize = 20;

/// The check for intervals that are too wide needs at least this number of rows. The probability that 50 rows
/// are all in the central half of their predictive
/// distributions is 2^-50.
const MANY: usize = 50;

/// Classes count as imbalanced if at least this fraction of the rows belongs to the most frequent class.
const IMBALANCED: f64 = 0.8;

/// Returns the warnings about the result of an inference block on the last split. `is_converged` is false if the training is known to have ended too
/// early.
pub fn conflicts(infer: &InferenceBlock, outcome: &InferenceOutcome, is_converged: bool) -> Vec<Diagnostic> {
    let fitted = outcome.splits.last().and_then(|last| last.found.fitted());
    let descent = fitted.and_then(|fitted| fitted.descent.as_ref());
    let at_ends = descent.iter().flat_map(|descent| &descent.at_ends);
    let at_ends: Vec<&str> = at_ends.map(|found| &*found.name).collect();
    let mut found: Vec<Diagnostic> = outcome
        .sites
        .iter()
        .flat_map(|site| of_site(infer, site, &at_ends))
        .collect();
    let (rows, kind) = outcome.scored();
    found.extend(unpredicted(infer, outcome));
    for output in &infer.outputs {
        found.extend(intervals(infer, outcome, output, (rows, kind)));
        found.extend(bias(infer, outcome, output, (rows, kind), is_converged));
        found.extend(accuracy(infer, outcome, output, (rows, kind)));
    }
    found
}

/// Returns a note if the only output of a model does not have predictions. The only metric is then the log likelihood.
fn unpredicted(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Option<Diagnostic> {
    let output = infer.only_output()?;
    let is_whole = infer.bindings.iter().all(|binding| binding.from.is_shared());
    let is_number = matches!(output.kind, OutputKind::Real | OutputKind::Count);
    if is_whole || !is_number || output.series || outcome.predictions.is_empty() {
        return None;
    }
    let parts = ["mean", "q50"].map(|part| infer.quantity_name(output, part));
    let is_there = |part: &String| outcome.predictions.iter().any(|(known, _)| known == part);
    let has_means = metric(infer, outcome, output, "rmse").is_some();
    let reason = match has_means {
        true => Unpredicted::Vector(output.elements()),
        false => Unpredicted::NoMoments,
    };
    (!parts.iter().any(is_there)).then(|| unpredicted_output(&infer.name, &output.name, reason))
}

/// Returns the value of a metric on the last split.
fn metric(infer: &InferenceBlock, outcome: &InferenceOutcome, output: &Output, name: &str) -> Option<f64> {
    let name = match infer.outputs.len() {
        1 => name.to_owned(),
        _ => format!("{}.{name}", output.name),
    };
    let metrics = &outcome.splits.last()?.metrics;
    metrics
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

/// Returns a warning if the mean error of the predictions is larger than the scatter of the errors.
fn bias(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    output: &Output,
    (rows, kind): (&Rows, &str),
    is_converged: bool,
) -> Option<Diagnostic> {
    if !matches!(output.kind, OutputKind::Real | OutputKind::Count) || output.elements() != 1 {
        return None;
    }
    let name = infer.quantity_name(output, "mean");
    let (_, mean) = outcome.predictions.iter().find(|(known, _)| *known == name)?;
    let ResultColumn::Real(predicted) = mean else {
        return None;
    };
    let observed = rows.original(infer.column(output)).ok()?;
    if observed.len() != predicted.len() || observed.len() < LEAST {
        return None;
    }
    let errors: Vec<f64> = observed.iter().zip(predicted).map(|(y, mean)| y - mean).collect();
    let (mean, sd) = moments(&errors);
    let is_off = mean.abs() > sd && mean.abs() > 0.1 * moments(&observed).1;
    is_off.then(|| codes::biased(&infer.name, &output.name, mean, sd, kind, is_converged))
}

/// Returns the mean and the standard deviation of the values.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Returns a warning if the predictive intervals contain far fewer rows than they should. Also returns a warning if all rows are in the central
/// half of their predictive distributions.
fn intervals(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    output: &Output,
    (rows, kind): (&Rows, &str),
) -> Option<Diagnostic> {
    let values = rows.count * output.elements();
    if !matches!(output.kind, OutputKind::Real | OutputKind::Count) || values < LEAST {
        return None;
    }
    let held = metric(infer, outcome, output, "coverage_90")?;
    if held < 0.5 {
        let is_point = outcome.splits.last().is_some_and(|last| last.found.is_maximum());
        let fitted = codes::IntervalRows { rows: kind, is_point };
        return Some(codes::narrow_intervals(&infer.name, output, held, fitted));
    }
    let held = metric(infer, outcome, output, "coverage_50")?;
    let is_wide = held == 1.0 && values >= MANY && output.kind == OutputKind::Real;
    is_wide.then(|| codes::wide_intervals(&infer.name, output, kind))
}

/// Returns a warning if the accuracy is not higher than the relative frequency of the most frequent class.
fn accuracy(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    output: &Output,
    (rows, kind): (&Rows, &str),
) -> Option<Diagnostic> {
    let classes = output.kind.classes()?;
    let accuracy = metric(infer, outcome, output, "accuracy")?;
    let binding = infer.binding(&output.name)?;
    let targets = rows.ints(binding.from.column()?).ok()?;
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    targets
        .iter()
        .for_each(|target| *counts.entry(*target).or_default() += 1);
    let (class, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let share = count as f64 / targets.len() as f64;
    let is_empty = targets.len() >= LEAST && (IMBALANCED..1.0).contains(&share) && accuracy <= share;
    let name = infer
        .names
        .classes(&output.name, classes)
        .and_then(|names| names.get(usize::try_from(class).ok()?).cloned());
    let name = name.unwrap_or_else(|| class.to_string());
    is_empty.then(|| codes::majority(&infer.name, &output.name, accuracy, share, &name, kind))
}

/// Returns the warnings about a parameter whose posterior is outside the plausible values of its prior,
/// or is concentrated at an end of its interval.
/// Parameters in `at_ends` are skipped, because they already have a warning.
fn of_site(infer: &InferenceBlock, site: &SiteSummary, at_ends: &[&str]) -> Vec<Diagnostic> {
    let Some(report) = infer
        .reports
        .iter()
        .find(|report| report.name == site.name && site.own)
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let plausible = &report.prior.plausible;
    let conflict = site.elements.iter().enumerate().find_map(|(at, summary)| {
        let (low, high) = *plausible.get(if plausible.len() == 1 { 0 } else { at })?;
        let is_outside = summary.mean < low || summary.mean > high;
        is_outside.then(|| codes::prior_conflict(&infer.name, &site.names[at], summary.mean, low, high))
    });
    found.extend(conflict);
    if let Support::Interval(low, high) = report.prior.support
        && !site.names.iter().any(|name| at_ends.contains(&&**name))
    {
        let at_end = site.elements.iter().enumerate().find_map(|(at, summary)| {
            let is_coefficient = infer.design.coefficients.contains(&site.names[at]);
            let end = piled_up((summary.mean, summary.sd), (low, high), is_coefficient)?;
            Some(bound::at_bound(&infer.name, &site.names[at], end))
        });
        found.extend(at_end);
    }
    found
}

/// Returns the end of an interval at which a posterior is concentrated. The ends 0, 1 and -1 are ignored, because a scale, a probability or a
/// correlation may rightly have such a value. But if the posterior of a coefficient is concentrated at 0, the data require a negative
/// value.
fn piled_up((mean, sd): (f64, f64), (low, high): (f64, f64), is_coefficient: bool) -> Option<f64> {
    let is_chosen = |end: f64| end.abs() != 1.0 && end != 0.0;
    // The distance between the end and the mean of the posterior, in standard deviations, depends on the shape of the
    // posterior. For exponential decay from the end, the
    // distance is 1. For a half-normal distribution it is 1.3, and for a uniform distribution 1.7. If a coefficient is zero, its posterior is
    // half-normal. If its estimate is two standard errors beyond the end, the distance is 1.1.
    let is_near = |end: &f64| {
        let distance = (mean - end).abs() / sd;
        distance < if is_chosen(*end) { 1.4 } else { 1.1 }
    };
    // If the posterior is as wide as the interval, the data do not inform the parameter.
    let is_narrow = sd < 0.15 * (high - low);
    [low, high]
        .into_iter()
        .filter(|end| end.is_finite() && (is_coefficient || is_chosen(*end)) && is_narrow)
        .find(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posteriors_at_chosen_ends_are_found() {
        // The cases are an exponential posterior with mean 0.1 below the end 1.5, and a normal posterior in the middle of the interval.
        assert_eq!(piled_up((1.4, 0.1), (-5.0, 1.5), false), Some(1.5));
        assert_eq!(piled_up((0.5, 0.1), (-5.0, 1.5), false), None);
        // The cases are a scale at zero, a probability at one, and a uniform posterior.
        assert_eq!(piled_up((0.1, 0.1), (0.0, f64::INFINITY), false), None);
        // The cases are a coefficient at zero, and a coefficient whose posterior is half-normal.
        assert_eq!(piled_up((0.1, 0.1), (0.0, f64::INFINITY), true), Some(0.0));
        assert_eq!(piled_up((0.13, 0.1), (0.0, f64::INFINITY), true), None);
        assert_eq!(piled_up((0.99, 0.01), (0.0, 1.0), false), None);
        assert_eq!(piled_up((2.5, 1.44), (0.5, 5.0), false), None);
    }
}
