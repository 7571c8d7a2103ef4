//! The maximum: searched by an optimiser, or taken from the start.

use crate::codes;
use crate::fit::{Context, Fitted, Stop, fit};
use crate::laplace::gaussian::found;
use crate::states::Values;
use bnnc_abi::laplace::Laplace;
use bnnc_abi::manifest::{Infer, Init};
use bnnc_data::Dataset;
use std::sync::Arc;

/// The maximum from a start.
///
/// # Errors
/// As training; a start that nobody gave where none is searched from.
pub fn maximum(
    infer: &Infer,
    laplace: &Laplace,
    dataset: &Dataset,
    mut start: Values,
    context: &Context,
) -> Result<Fitted, Stop> {
    if laplace.search {
        let fitted = fit(infer, dataset, start, context)?;
        return match fitted.interrupted {
            // There is no Gaussian around a point on the way.
            true => Err(Stop::Interrupted),
            false => Ok(fitted),
        };
    }
    let random = |name: &str| {
        let state = infer.states.iter().find(|state| state.name == name);
        state.is_some_and(|state| {
            matches!(state.init, Init::Uniform(..) | Init::Normal(..)) && state.from.is_none()
        })
    };
    let mut weights = laplace.weights.iter();
    if let Some(weights) = weights
        .find(|weights| random(&weights.state))
        .filter(|_| infer.start.is_none())
    {
        return Err(codes::no_maximum(&infer.name, &weights.site).into());
    }
    let is_parameter = |name: &String| {
        infer
            .states
            .iter()
            .any(|state| state.parameter && state.name == *name)
    };
    start.retain(|name, _| is_parameter(name));
    Ok(found(Arc::new(start)))
}
