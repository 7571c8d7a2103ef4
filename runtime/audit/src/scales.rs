//! Checks whether the scales of a model's inputs and outputs are suitable for priors, starts and steps of size one.

use crate::diagnostics;
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, OutputKind};
use bnnc_abi::schema::Elements;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::feed;
use bnnc_data::Dataset;
use bnnc_data::metrics::extent;
use bnnc_inference::outcome::InferenceOutcome;
use std::borrow::Cow;

/// Neither the ratio of the standard deviations of two inputs nor the root mean square of an input should be larger than this number.
const FACTOR: f64 = 100.0;

/// The root mean square of an input should be at least this number. If the root mean square is smaller, the input needs a weight above 1000 to have
/// an effect.
const SMALL: f64 = 1e-3;

/// A column is examined only if at least this fraction of its values lies strictly between the smallest and the largest value. Indicator columns and
/// rarely used pixels are therefore skipped. Their standard deviations are small in any unit.
const VARIED: f64 = 0.1;

/// An input column: its name, its standard deviation, its mean and its root mean square.
struct Scale {
    name: String,
    sd: f64,
    mean: f64,
    size: f64,
    /// True if the column is an element of an input that is a vector.
    is_element: bool,
}

/// Returns a warning if the inputs of a model have very different scales, or if a column of the input vector has very large or very small values. An
/// input with its own name may be an exposure, which must not be scaled. Only the first check includes such inputs. The pixels of images are not
/// compared with each other, because pixels near the edge of an image often hardly vary.
pub fn warning(infer: &InferenceBlock, dataset: &Dataset) -> Option<Diagnostic> {
    let scales = scales(infer, dataset);
    if dataset.preparation.has_images() && reads_all_inputs(infer) {
        let sizes = scales.iter().map(|scale| scale.size);
        let largest = sizes.max_by(f64::total_cmp)?;
        let is_off = !(SMALL..=FACTOR).contains(&largest);
        return is_off.then(|| diagnostics::scales::pixels(&infer.data, largest));
    }
    let widest = scales.iter().max_by(|a, b| a.sd.total_cmp(&b.sd))?;
    let narrowest = scales.iter().min_by(|a, b| a.sd.total_cmp(&b.sd))?;
    if widest.sd > FACTOR * narrowest.sd {
        let ends = [narrowest, widest].map(|end| (end.name.clone(), end.sd));
        return Some(diagnostics::scales::scales_differ(&infer.data, &ends));
    }
    let of_elements = || scales.iter().filter(|scale| scale.is_element);
    let largest = of_elements().max_by(|a, b| a.size.total_cmp(&b.size))?;
    let smallest = of_elements().min_by(|a, b| a.size.total_cmp(&b.size))?;
    match (smallest.size < SMALL, largest.size > FACTOR) {
        (true, _) => Some(diagnostics::scales::small_input(
            &infer.data,
            &smallest.name,
            smallest.size,
        )),
        (_, true) => Some(diagnostics::scales::large_input(
            &infer.data,
            &largest.name,
            largest.size,
        )),
        (false, false) => None,
    }
}

/// Chains count as stuck if R-hat is above this value.
const STUCK: f64 = 1.05;

/// If the root mean square of an output is larger than this number, chains whose starts have size one
/// cannot reach the posterior. In a test with three
/// models, all succeeded with an output of size one million, and two failed with an output of size one billion.
const FAR_OUTPUT: f64 = 1e6;

/// Returns the warnings about stuck chains, if the model has a large output, or a large input with its own name. The chains then start too far away
/// from the posterior.
pub fn stuck(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Vec<Diagnostic> {
    let quantities = outcome
        .diagnosis
        .iter()
        .flat_map(|diagnosis| &diagnosis.quantities);
    let is_stuck = quantities.into_iter().any(|(_, summary)| summary.rhat > STUCK);
    if !is_stuck || infer.start.is_some() {
        return Vec::new();
    }
    let dataset = &outcome.dataset;
    let inputs = scales(infer, dataset).into_iter();
    let inputs = inputs
        .filter(|scale| !scale.is_element && scale.size > FACTOR)
        .map(|scale| diagnostics::scales::stuck_by_input(&infer.name, &infer.data, &scale.name, scale.size));
    let outputs = infer
        .outputs
        .iter()
        .filter(|output| output.kind == OutputKind::Real);
    let outputs = outputs.filter_map(|output| {
        let binding = infer.binding(&output.name)?;
        let of_output = of_binding(binding, dataset);
        let scale = of_output.iter().find(|scale| scale.size > FAR_OUTPUT)?;
        Some(diagnostics::scales::stuck_by_output(
            &infer.name,
            &infer.data,
            &output.name,
            scale.size,
        ))
    });
    inputs.chain(outputs).collect()
}

/// A warning is given if the mean of an input is more than this number of standard deviations from zero. At this distance, a variational family with
/// independent elements gives the weight and the intercept about a third of their correct standard deviations.
const FAR: f64 = 3.0;

/// Returns a warning if two conditions hold. First, the mean of an input is far from zero relative to the standard deviation of the input. Second,
/// the intercept and the weights are independent in the variational family.
pub fn far_from_zero(infer: &InferenceBlock, dataset: &Dataset) -> Option<Diagnostic> {
    if infer.sampling().is_some() {
        return None;
    }
    infer.bindings.iter().find_map(|binding| {
        let intercept = binding
            .intercept
            .as_deref()
            .filter(|site| is_independent(infer, site))?;
        let scales = of_binding(binding, dataset);
        let ratio = |scale: &Scale| scale.mean.abs() / scale.sd;
        let farthest = scales.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        (ratio(farthest) > FAR).then(|| {
            diagnostics::scales::far_from_zero(&infer.data, &farthest.name, intercept, ratio(farthest))
        })
    })
}

/// Returns whether, in the approximate posterior, the elements of a parameter are independent of each other and of all other
/// parameters.
pub(super) fn is_independent(infer: &InferenceBlock, site: &str) -> bool {
    let report = infer.report(site);
    report.is_some_and(|report| report.is_factorised && !report.is_point && !report.is_fixed)
}

/// Returns whether a model reads all inputs of the data as one array.
fn reads_all_inputs(infer: &InferenceBlock) -> bool {
    infer
        .bindings
        .iter()
        .any(|binding| matches!(binding.from, DataSource::Inputs))
}

/// Returns the scales of those real inputs that vary.
fn scales(infer: &InferenceBlock, dataset: &Dataset) -> Vec<Scale> {
    let is_output = |binding: &&Binding| infer.outputs.iter().any(|output| output.name == binding.port);
    let inputs = infer.bindings.iter().filter(|binding| !is_output(binding));
    inputs.flat_map(|binding| of_binding(binding, dataset)).collect()
}

/// Returns the scale of each column of an input.
fn of_binding(binding: &Binding, dataset: &Dataset) -> Vec<Scale> {
    let rows = &dataset.train;
    let is_number = binding.elements == Elements::Real && binding.shape.is_empty();
    match &binding.from {
        DataSource::Inputs => {
            let name = |column: usize| {
                let name = dataset.preparation.columns.get(column);
                name.map_or_else(|| format!("input {column}"), Clone::clone)
            };
            let of = |at: usize| {
                let places = (at..rows.inputs.len()).step_by(rows.width);
                scale(name(at), places.map(|place| rows.inputs.real(place)), true)
            };
            (0..rows.width).filter_map(of).collect()
        }
        DataSource::Field(_) | DataSource::Input(_) if is_number => {
            let values = feed::column(binding, false, rows, dataset);
            let of = |values: Cow<'_, [f64]>| scale(binding.port.clone(), values.iter().copied(), false);
            values.ok().and_then(of).into_iter().collect()
        }
        DataSource::Field(_)
        | DataSource::Input(_)
        | DataSource::Row
        | DataSource::Whole(_)
        | DataSource::Shared(_) => Vec::new(),
    }
}

/// Returns the scale of a column. Returns `None` if the column hardly varies.
fn scale(name: String, values: impl Iterator<Item = f64> + Clone, is_element: bool) -> Option<Scale> {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.clone().map(|value| value * value).sum();
    let sd = (values.clone().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let (least, most) = extent(values.clone());
    let between = values.filter(|value| least < *value && *value < most).count();
    let varies = between as f64 >= VARIED * count && sd > 0.0;
    varies.then_some(Scale {
        name,
        sd,
        mean,
        size: (squares / count).sqrt(),
        is_element,
    })
}
