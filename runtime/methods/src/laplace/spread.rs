//! The variances of weights under the posterior of an earlier inference block. Subnetworks can be chosen by these
//! variances.
//!
//! Note \[Scales\]. For iterates, ensemble members, chains and Normal families, these are the
//! variances of positions on the unconstrained scale. For every other family, the variance of a
//! site is estimated from draws of the site, on its declared scale. For a site on the reals, both
//! scales are the same.

use crate::laplace::gaussian::part;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::methods::laplace::Weights;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::context::{Context, Stop};
use bnnc_core::{diagnostics, ports};
use bnnc_inference::posterior::Posterior;
use bnnc_kernels::executor::Machine;
use bnnc_math::special::softplus;

/// The number of draws of the sites. Draws are used if the states of the earlier inference block do
/// not contain variances.
const DRAWS: usize = 1000;

/// The number of draws per call.
const PER_CALL: usize = 20;

/// For every weight of `infer`, returns its variance under the posterior of an earlier inference
/// block.
///
/// # Errors
/// Fails if the earlier inference block does not have variances, or has other sites.
pub fn variances(
    infer: &InferenceBlock,
    (by, found): (&InferenceBlock, &dyn Posterior),
    context: &Context,
) -> Result<Vec<f64>, Stop> {
    let laplace = part(infer)?;
    let rejected = || diagnostics::no_variances(&infer.name, &by.name);
    let mut all = Vec::new();
    for weights in &laplace.weights {
        let own = match stated(weights, by, found) {
            Some(own) => own,
            None => drawn(weights, by, found, context)?.ok_or_else(rejected)?,
        };
        all.extend(own);
    }
    match all.iter().any(|variance| *variance > 0.0) {
        true => Ok(all),
        false => Err(rejected().into()),
    }
}

/// Returns the variances of weights if the states contain them. A variance is computed over iterates or
/// draws, or is the square of the scale. The scale is used only if it is the standard deviation of the
/// variational family.
fn stated(weights: &Weights, by: &InferenceBlock, found: &dyn Posterior) -> Option<Vec<f64>> {
    if let Some(own) = found.variances(&weights.state) {
        return (own.len() == weights.elements).then(|| own.to_vec());
    }
    let values = found.values();
    let draws = values.get(&weights.state)?;
    let count = draws.len().checked_div(weights.elements).unwrap_or(0);
    if count > 1 && draws.len() == count * weights.elements {
        return Some(
            (0..weights.elements)
                .map(|at| variance(draws, at, weights.elements))
                .collect(),
        );
    }
    let is_normal = |site: &SiteReport| site.name == weights.site && site.has_deviation;
    if !by.reports.iter().any(is_normal) {
        return None;
    }
    let scale = values.get(&format!("{}/scale", weights.site))?;
    let squared = |scale: &f64| softplus(*scale).powi(2);
    (scale.len() == weights.elements).then(|| scale.iter().map(squared).collect())
}

/// Returns the variance of the numbers in column `at` of an array `[draws, width]`.
fn variance(draws: &[f64], at: usize, width: usize) -> f64 {
    let column = || draws.iter().skip(at).step_by(width);
    let count = column().count() as f64;
    let mean = column().sum::<f64>() / count;
    column().map(|value| (value - mean).powi(2)).sum::<f64>() / count
}

/// Computes the variances of the elements of a site from draws of the site. Returns `None`
/// if the inference block does not have the site, or if it has a point estimate of the site.
fn drawn(
    weights: &Weights,
    by: &InferenceBlock,
    found: &dyn Posterior,
    context: &Context,
) -> Result<Option<Vec<f64>>, Fault> {
    let sizes = Sizes::default().with(Symbol::Draws, PER_CALL);
    let mut machine = Machine::new(&by.sites, sizes, context.pool.clone())?;
    if !machine.has_port(&weights.site) || machine.count(&weights.site)? != PER_CALL * weights.elements {
        return Ok(None);
    }
    for (name, values) in found.values().iter() {
        if machine.has_port(name) && machine.count(name)? != values.len() {
            return Ok(None);
        }
        ports::real(&mut machine, name, values)?;
    }
    let (mut mean, mut squares) = (vec![0.0; weights.elements], vec![0.0; weights.elements]);
    let mut values = vec![0.0; PER_CALL * weights.elements];
    let mut seen = 0.0;
    for first in (0..DRAWS).step_by(PER_CALL) {
        ports::int(&mut machine, PortName::FirstDraw.text(), first as i32)?;
        ports::int(&mut machine, PortName::Step.text(), -3)?;
        machine.run()?;
        machine.read_into(&weights.site, &mut values)?;
        for draw in values.chunks_exact(weights.elements.max(1)) {
            seen += 1.0;
            for ((mean, squares), value) in mean.iter_mut().zip(&mut squares).zip(draw) {
                let from = value - *mean;
                *mean += from / seen;
                *squares += from * (value - *mean);
            }
        }
    }
    Ok(Some(squares.into_iter().map(|sum| sum / seen).collect()))
}
