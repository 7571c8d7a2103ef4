//! The draws of one site of a posterior. They are kept in memory.

use crate::posterior::Posterior;
use crate::sites::Sites;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_data::Dataset;

/// The number of draws that are made from an approximation.
const DRAWS: usize = 1000;

/// The draws of one site take at most this number of reals (128 MiB).
const NUMBERS: usize = 1 << 24;

/// The draws of a site, on the scale that the program declares for the site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteDraws {
    /// The values of the draws, `[draws, ..]`, one chain after the other.
    pub values: Vec<f64>,
    /// The number of draws in each chain. The draws of an approximation count as one chain.
    pub chains: Vec<usize>,
}

/// Returns the draws of a site. The site is given by its index in [`InferenceBlock::reports`]. If the draws of chains need too much memory, they are
/// thinned evenly. For an approximation, these are the same draws as the first draws that predictions use. A point
/// estimate has one draw. Returns `None` if predictions
/// integrate over some weights.
///
/// # Errors
/// Fails if there is too little memory, or if a file cannot be read.
pub fn site_draws(
    (infer, site): (&InferenceBlock, usize),
    found: &dyn Posterior,
    dataset: &Dataset,
    context: &Context,
) -> Result<Option<SiteDraws>, Stop> {
    let elements = infer.reports[site].shape.count(&Sizes::default()).max(1);
    let most = (NUMBERS / elements).max(1);
    let mut draws = SiteDraws::default();
    if let Some(sampled) = found.sampled() {
        let every = sampled.draws().div_ceil(most).max(1);
        let mut sites = Sites::new(infer, sampled, dataset, context)?;
        for chain in 0..sampled.chains.len() {
            let (mut at, mut kept) = (0usize, 0);
            sites.visit(chain, &[site], |_, values| {
                for draw in values.chunks_exact(elements) {
                    if at.is_multiple_of(every) {
                        draws.values.extend_from_slice(draw);
                        kept += 1;
                    }
                    at += 1;
                }
            })?;
            draws.chains.push(kept);
        }
        return Ok(Some(draws));
    }
    let Some(drawn) = found.draws(infer, DRAWS.min(most), context)? else {
        return Ok(None);
    };
    let drawn = drawn.distinct(infer, context)?;
    drawn.visit(infer, &[site], context, &mut |_, values| {
        draws.values.extend_from_slice(values);
        Ok(())
    })?;
    draws.chains.push(draws.values.len() / elements);
    Ok(Some(draws))
}
