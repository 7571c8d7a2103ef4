//! Checks for posteriors without a maximum, because parameters with flat priors can grow without bound.

use crate::diagnostics::results as codes;
use crate::variation::{MultipliedElement, Variation, elements};
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;

/// An element is multiplied by constants only if it is at least this large in absolute value. Scaling would hardly change a smaller one.
const MOVED: f64 = 0.1;

/// The elements are multiplied one by one only if there are at most this number of them.
const SINGLE: usize = 64;

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
    let is_flat =
        |site: &SiteReport| site.prior.is_improper && site.prior.support == Support::Real && !site.is_fixed;
    let all = elements(infer, found.point(), is_flat);
    let is_moved = |element: &&MultipliedElement<'_>| element.value.abs() > MOVED;
    if !all.iter().any(|element| is_moved(&element)) {
        return Ok(None);
    }
    let mut variation = Variation::new(infer, found, dataset, context)?;
    if rises(&mut variation, &all.iter().collect::<Vec<_>>())? {
        let mut names: Vec<String> = all.iter().map(|element| element.site.name.clone()).collect();
        names.dedup();
        return Ok(Some(codes::no_finite_maximum(&infer.name, &names)));
    }
    let singles = if all.len() <= SINGLE { &all[..] } else { &[] };
    let mut names = Vec::new();
    for element in singles.iter().filter(is_moved) {
        if rises(&mut variation, &[element])? {
            names.push(element.name(infer));
        }
    }
    Ok((!names.is_empty()).then(|| codes::no_finite_maximum(&infer.name, &names)))
}

/// Returns whether the likelihood does not decrease when the elements are multiplied by ten and by a hundred.
fn rises(variation: &mut Variation<'_>, elements: &[&MultipliedElement<'_>]) -> Result<bool, Stop> {
    let near = variation.multiplied(elements, 1.0)?;
    let far = variation.multiplied(elements, 10.0)?;
    let farthest = variation.multiplied(elements, 100.0)?;
    Ok(far >= near && farthest >= far)
}
