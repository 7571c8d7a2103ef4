//! Checks for maxima that exist only because of priors, although the priors are very wide. An example is a logistic regression
//! whose inputs separate the classes.

use crate::diagnostics::results as codes;
use crate::variation::{MultipliedElement, Variation, elements};
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::names::layer_of;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;
use std::collections::HashSet;

/// The coefficients are multiplied by these factors. If the classes are separated, the likelihood rises with every factor. Otherwise, it falls at one
/// of the factors.
const FACTORS: [f64; 4] = [3.0, 30.0, 300.0, 3000.0];

/// A prior counts as too wide if the log density of all multiplied coefficients falls by less than this number of nats at the first factor. A group of
/// ten rows with one class reaches this limit with a prior `Normal(0, 30)`.
const FALL: f64 = 0.25;

/// If the likelihood rises by less than this number of nats above its value at the maximum, the likelihood
/// itself has nearly reached its limit there. If it rises by more, the
/// priors bound the coefficients.
const LEFT: f64 = 0.5;

/// The curvature of the log likelihood must be larger than the curvature of the log prior by this
/// factor. Otherwise, the standard deviation of a Gaussian at the maximum is determined by the
/// prior, and is about right.
const CURVED: f64 = 3.0;

/// To compute the curvature, the likelihood is evaluated at two factors at this distance from 1.
const STEP: f64 = 0.1;

/// The coefficients are multiplied one by one only if there are at most this number of coefficients.
const SINGLE: usize = 64;

/// Returns the decrease of the log prior of an element at the first factor, if the prior were normal.
fn fall(element: &MultipliedElement<'_>) -> f64 {
    let moments = element.site.prior.moments(element.at);
    moments.map_or(f64::INFINITY, |(mean, sd)| {
        let square = |value: f64| 0.5 * ((value - mean) / sd).powi(2);
        square(FACTORS[0] * element.value) - square(element.value)
    })
}

/// Returns the second derivative of the negative log prior of an element with respect to the factor, at the factor 1.
fn curvature(element: &MultipliedElement<'_>) -> f64 {
    let moments = element.site.prior.moments(element.at);
    moments.map_or(f64::INFINITY, |(_, sd)| (element.value / sd).powi(2))
}

/// Multiplies the coefficients of linear predictors, and other parameters that the model itself declares, by large factors: one by one, and all
/// together. Only parameters whose prior has a known spread are multiplied. Returns a warning if the likelihood of a point estimate always rises,
/// and hardly anything else bounds the coefficients. The position of the maximum then depends only on the width of the prior. The posterior is many
/// times wider than the curvature at the maximum suggests.
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn separated(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    dataset: &Dataset,
    context: &Context,
) -> Result<Option<Diagnostic>, Stop> {
    if !found.is_maximum() || found.is_interrupted() {
        return Ok(None);
    }
    let all = coefficients(infer, found.point());
    let together: Vec<&MultipliedElement<'_>> = all.iter().collect();
    let singles: Vec<&MultipliedElement<'_>> = all.iter().filter(|_| all.len() <= SINGLE).collect();
    let is_free = |elements: &[&MultipliedElement<'_>]| {
        let fall: f64 = elements.iter().map(|element| fall(element)).sum();
        !elements.is_empty() && fall < FALL
    };
    if !is_free(&together) && !singles.iter().any(|element| is_free(&[element])) {
        return Ok(None);
    }
    let mut variation = Variation::new(infer, found, dataset, context)?;
    let mut separated: Vec<&MultipliedElement<'_>> = Vec::new();
    for element in singles {
        if is_free(&[element]) && is_separated(&mut variation, &[element])? {
            separated.push(element);
        }
    }
    if separated.is_empty() && is_free(&together) && is_separated(&mut variation, &together)? {
        separated = together;
    }
    let names: Vec<String> = separated.iter().map(|element| element.name(infer)).collect();
    Ok((!names.is_empty()).then(|| codes::bounded_by_wide_priors(&infer.name, &names)))
}

/// Returns whether three conditions hold. First, the likelihood rises whenever the elements are multiplied by a larger factor. Second, most of
/// this rise occurs at the first factor. Third, the priors contribute little to the curvature at the estimate.
fn is_separated(variation: &mut Variation<'_>, elements: &[&MultipliedElement<'_>]) -> Result<bool, Stop> {
    let mut likelihood = |factor: f64| variation.multiplied(elements, factor);
    let here = likelihood(1.0)?;
    let first = likelihood(FACTORS[0])?;
    if first <= here {
        return Ok(false);
    }
    let mut last = first;
    for factor in &FACTORS[1..] {
        let next = likelihood(*factor)?;
        if next < last {
            return Ok(false);
        }
        last = next;
    }
    // If the coefficients are near zero, as at the start of a training run, the likelihood rises more at later factors.
    if last - here >= LEFT || first - here < 0.5 * (last - here) {
        return Ok(false);
    }
    let beside = likelihood(1.0 + STEP)? + likelihood(1.0 - STEP)?;
    let of_likelihood = (2.0 * here - beside) / STEP.powi(2);
    let of_priors: f64 = elements.iter().map(|element| curvature(element)).sum();
    Ok(of_likelihood > CURVED * of_priors)
}

/// Returns the elements of the parameters whose priors have a known spread.
fn coefficients<'a>(infer: &'a InferenceBlock, point: &StateValues) -> Vec<MultipliedElement<'a>> {
    let design = &infer.design;
    let predictors = design.sums.iter().filter(|sum| sum.is_predictor());
    let terms = predictors.flat_map(|sum| &sum.terms);
    let coefficients: HashSet<&String> = terms.map(|term| &design.coefficients[term.coefficient]).collect();
    let is_open = |site: &SiteReport| {
        let is_own = layer_of(&site.name).is_none();
        (is_own || coefficients.contains(&site.name)) && site.prior.support == Support::Real && !site.is_fixed
    };
    let mut all = elements(infer, point, is_open);
    all.retain(|element| element.site.prior.moments(element.at).is_some());
    all
}
