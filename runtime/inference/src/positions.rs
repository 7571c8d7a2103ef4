//! Checks, at the draws of a posterior, whether positions that depend on parameters are inside their axes.

use crate::draws::StateDraws;
use crate::posterior::Posterior;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_core::context::{Context, Stop};
pub use bnnc_core::positions::{check, check_values};
use bnnc_data::Dataset;
use std::sync::Arc;

/// Checks whether positions that depend on parameters are inside their axes. The check covers the draws of a posterior and all training and test
/// rows.
///
/// # Errors
/// Fails if a position is outside its axis, if some columns do not fit the program, or if there is too little memory. If a position depends on the
/// row, the error names the row.
pub fn check_found(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    dataset: &Dataset,
    context: &Context,
) -> Result<(), Stop> {
    if infer.reached.is_empty() {
        return Ok(());
    }
    let draws = match found.sampled() {
        Some(sampled) => Some(StateDraws {
            values: Arc::new(sampled.spread(sampled.draws())?),
            count: sampled.draws(),
        }),
        None => {
            let wanted = match infer.is_point() {
                true => 1,
                false => infer.predictive_draws(),
            };
            found.draws(infer, wanted, context)?
        }
    };
    let StateDraws { values, count } = draws.unwrap_or_else(|| StateDraws {
        values: found.values().clone(),
        count: found.predictive_draws(infer),
    });
    [&dataset.train, &dataset.test]
        .into_iter()
        .try_for_each(|rows| check_values(infer, (&values, count), (rows, true), (dataset, context)))
}
