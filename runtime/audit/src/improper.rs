//! Checks for posteriors without a maximum, because parameters with flat priors can grow without bound.

use crate::diagnostics::results as codes;
use crate::variation::Variation;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;

/// An element is multiplied by constants only if it is at least this large in absolute value. Scaling would hardly change a smaller one.
const MOVED: f64 = 0.1;

/// The elements are multiplied one by one only if there are at most this number of them.
const SINGLE: usize = 64;

/// An element of a parameter with a flat prior.
struct Element {
    /// The name of the parameter.
    site: String,
    /// The name of the element: `al[a]`.
    name: String,
    state: String,
    at: usize,
    value: f64,
}

/// Multiplies parameters with flat priors by ten and by a hundred: all together, and each element alone. Returns a warning if the likelihood of a
/// point estimate does not decrease. The posterior then does not have a maximum, and its integral is infinite.
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn unbounded(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    dataset: &Dataset,
    context: &Context,
) -> Result<Option<Diagnostic>, Stop> {
    if !found.is_maximum() || found.is_interrupted() {
        return Ok(None);
    }
    let all = elements(infer, found);
    let is_moved = |element: &&Element| element.value.abs() > MOVED;
    if !all.iter().any(|element| is_moved(&element)) {
        return Ok(None);
    }
    let mut variation = Variation::new(infer, found, dataset, context)?;
    if rises(&mut variation, &all.iter().collect::<Vec<_>>())? {
        let mut names: Vec<&str> = all.iter().map(|element| &*element.site).collect();
        names.dedup();
        return Ok(Some(codes::no_finite_maximum(&infer.name, &names)));
    }
    let singles = if all.len() <= SINGLE { &all[..] } else { &[] };
    let mut names: Vec<&str> = Vec::new();
    for element in singles.iter().filter(is_moved) {
        if rises(&mut variation, &[element])? {
            names.push(&element.name);
        }
    }
    Ok((!names.is_empty()).then(|| codes::no_finite_maximum(&infer.name, &names)))
}

/// Returns whether the likelihood does not decrease when the elements are multiplied by ten and by a hundred.
fn rises(variation: &mut Variation<'_>, elements: &[&Element]) -> Result<bool, Stop> {
    let mut likelihood = |factor: f64| {
        variation.log_likelihood(|point| {
            for element in elements {
                let values = point.entry(element.state.clone()).or_default();
                values[element.at] *= factor;
            }
        })
    };
    let [near, far, farthest] = [likelihood(1.0)?, likelihood(10.0)?, likelihood(100.0)?];
    Ok(far >= near && farthest >= far)
}

/// Returns the elements of the free parameters with flat priors on the reals.
fn elements(infer: &InferenceBlock, found: &dyn Posterior) -> Vec<Element> {
    let point = found.point();
    let flat = infer.reports.iter().filter(|report| {
        report.prior.is_improper && report.prior.support == Support::Real && !report.is_fixed
    });
    let of_site = |report: &SiteReport| {
        let shape = report.shape.resolve(&Sizes::default());
        let state = report.location();
        let values = point.get(&state).cloned().unwrap_or_default();
        let element = |(at, value): (usize, f64)| Element {
            site: report.name.clone(),
            name: infer.names.element(&report.name, &shape, at),
            state: state.clone(),
            at,
            value,
        };
        values.into_iter().enumerate().map(element).collect::<Vec<_>>()
    };
    flat.flat_map(of_site).collect()
}
