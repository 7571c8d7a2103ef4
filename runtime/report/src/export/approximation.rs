//! Writes draws of approximations as a Zarr store. The store has the same groups as for chains.

use super::Subject;
use super::predictive::{MOST, per_block};
use bnnc_core::context::Stop;
use bnnc_core::predict::Predictor;
use bnnc_data::write::zarr::ZarrStore;
use bnnc_inference::draws::StateDraws;
use bnnc_inference::posterior::Posterior;
use std::path::Path;

/// This number of draws is written if the limits below allow it.
const DRAWS: usize = 1000;

/// At most this number of parameter values is written, summed over all draws (32 MiB).
const NUMBERS: usize = 1 << 22;
/// If [`NUMBERS`] allows fewer draws than this, no store is written.
const FEWEST: usize = 10;

/// Writes the draws as one chain. The store contains the groups `posterior` and `observed_data`. Unless they are too large, it also contains
/// the groups `log_likelihood` and `posterior_predictive` for the training rows. Targets are in their original units. If there are too many
/// parameters, no store is written. The distribution of the parameters is still in `posterior.safetensors`.
///
/// # Errors
/// Fails if a file cannot be written, or if there is too little memory.
pub fn approximation(of: &Subject<'_>, found: &dyn Posterior, path: &Path) -> Result<(), Stop> {
    let most = NUMBERS / of.infer.cost.parameters.max(1);
    if most < FEWEST {
        return Ok(());
    }
    let Some(drawn) = found.draws(of.infer, DRAWS.min(most), of.context)? else {
        return Ok(());
    };
    let drawn = drawn.distinct(of.infer, of.context)?;
    let mut store = ZarrStore::create(path, of.attributes())?;
    posterior(of, &drawn, &mut store)?;
    predictive(of, &drawn, &mut store)?;
    of.observed(&mut store)?;
    Ok(store.finish()?)
}

fn posterior(of: &Subject<'_>, drawn: &StateDraws, store: &mut ZarrStore) -> Result<(), Stop> {
    let group = store.samples("posterior", 1, drawn.count)?;
    let variables = of.variables(store, group)?;
    drawn.visit(of.infer, &of.sites(), of.context, &mut |site, values| {
        let variable = variables.iter().find(|(found, _)| *found == site);
        match variable {
            Some((_, variable)) => Ok(store.append(*variable, 0, values)?),
            None => Ok(()),
        }
    })
}

fn predictive(of: &Subject<'_>, drawn: &StateDraws, store: &mut ZarrStore) -> Result<(), Stop> {
    let (rows, dataset) = (of.rows(), &of.outcome.dataset);
    if rows == 0 || drawn.count > MOST / rows {
        return Ok(());
    }
    let at_once = per_block(rows, drawn.count);
    let mut predictor = Predictor::new(of.infer, &dataset.train, dataset, at_once, of.context)?;
    of.write_predictive(store, (1, drawn.count), &mut |_, range| {
        predictor.set_parameters(&drawn.slice(of.infer, range.clone()))?;
        predictor.choose_draws(range.clone());
        of.block(&mut predictor, range.start)
    })
}
