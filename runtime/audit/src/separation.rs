//! Checks for maxima that exist only because of priors, although the priors are very wide. An example is a logistic regression
//! whose inputs separate the classes.

use crate::diagnostics::results as codes;
use crate::variation::Variation;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::names::layer_of;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
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

/// An element of a parameter whose prior has a mean and a standard deviation.
struct Element<'a> {
    site: &'a SiteReport,
    state: String,
    at: usize,
    /// The decrease of the log prior at the first factor, if the prior were normal.
    fall: f64,
    /// The second derivative of the negative log prior with respect to the factor, at the factor 1.
    curvature: f64,
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
    let point = found.point();
    let all = elements(infer, point);
    let together: Vec<&Element<'_>> = all.iter().collect();
    let singles: Vec<&Element<'_>> = all.iter().filter(|_| all.len() <= SINGLE).collect();
    let is_free = |elements: &[&Element<'_>]| {
        let fall: f64 = elements.iter().map(|element| element.fall).sum();
        !elements.is_empty() && fall < FALL
    };
    if !is_free(&together) && !singles.iter().any(|element| is_free(&[element])) {
        return Ok(None);
    }
    let mut variation = Variation::new(infer, found, dataset, context)?;
    let mut separated: Vec<&Element<'_>> = Vec::new();
    for element in singles {
        if is_free(&[element]) && is_separated(&mut variation, &[element])? {
            separated.push(element);
        }
    }
    if separated.is_empty() && is_free(&together) && is_separated(&mut variation, &together)? {
        separated = together;
    }
    let name = |element: &&Element<'_>| {
        let shape = element.site.shape.resolve(&Sizes::default());
        infer.names.element(&element.site.name, &shape, element.at)
    };
    let names: Vec<String> = separated.iter().map(name).collect();
    Ok((!names.is_empty()).then(|| codes::bounded_by_wide_priors(&infer.name, &names)))
}

/// Returns whether three conditions hold. First, the likelihood rises whenever the elements are multiplied by a larger factor. Second, most of
/// this rise occurs at the first factor. Third, the priors contribute little to the curvature at the estimate.
fn is_separated(variation: &mut Variation<'_>, elements: &[&Element<'_>]) -> Result<bool, Stop> {
    let mut likelihood = |factor: f64| {
        variation.log_likelihood(|point| {
            for element in elements {
                let values = point.entry(element.state.clone()).or_default();
                values[element.at] *= factor;
            }
        })
    };
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
    let curvature = (2.0 * here - beside) / STEP.powi(2);
    let of_priors: f64 = elements.iter().map(|element| element.curvature).sum();
    Ok(curvature > CURVED * of_priors)
}

/// Returns the elements of the parameters whose priors have a known spread.
fn elements<'a>(infer: &'a InferenceBlock, point: &StateValues) -> Vec<Element<'a>> {
    let design = &infer.design;
    let predictors = design.sums.iter().filter(|sum| sum.is_predictor());
    let terms = predictors.flat_map(|sum| &sum.terms);
    let coefficients: HashSet<&String> = terms.map(|term| &design.coefficients[term.coefficient]).collect();
    let is_open = |site: &&SiteReport| {
        let is_own = layer_of(&site.name).is_none();
        (is_own || coefficients.contains(&site.name)) && site.prior.support == Support::Real && !site.is_fixed
    };
    let of_site = |site: &'a SiteReport| {
        let state = site.location();
        let values = point.get(&state).cloned().unwrap_or_default();
        let element = move |(at, value): (usize, f64)| {
            let (mean, sd) = site.prior.moments(at)?;
            let square = |value: f64| 0.5 * ((value - mean) / sd).powi(2);
            Some(Element {
                site,
                state: state.clone(),
                at,
                fall: square(FACTORS[0] * value) - square(value),
                curvature: (value / sd).powi(2),
            })
        };
        values.into_iter().enumerate().filter_map(element)
    };
    infer.reports.iter().filter(is_open).flat_map(of_site).collect()
}
