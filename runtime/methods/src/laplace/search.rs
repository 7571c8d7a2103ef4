//! The maximum of a Laplace approximation. An optimiser finds the maximum, or the start is used as
//! the maximum.

use crate::laplace::diagnostics;
use crate::laplace::gaussian::found;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::laplace::Laplace;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::states::StateValues;
use bnnc_training::start::Starts;
use bnnc_training::{Task, TrainingResult, restarts, train};
use std::sync::Arc;

/// Checks that the start of a member can be used as the maximum. Without a search, the start must
/// contain every weight and every running mean.
///
/// # Errors
/// Fails if the start does not contain a weight or a running mean. Without this error, the weight
/// or running mean would have the default value of its state.
pub fn stated(
    infer: &InferenceBlock,
    laplace: &Laplace,
    starts: &Starts,
    member: usize,
) -> Result<(), Diagnostic> {
    let weights = laplace
        .weights
        .iter()
        .map(|weights| (&weights.state, &weights.site));
    let means = infer.states.iter().filter(|state| state.is_running_mean);
    let mut all = weights.chain(means.map(|mean| (&mean.name, &mean.name)));
    match all.find(|(state, _)| !laplace.search && !starts.gives(member, state)) {
        Some((_, site)) => Err(diagnostics::no_maximum(&infer.name, site)),
        None => Ok(()),
    }
}

/// Searches for the maximum from a start. Returns the start itself if the options do not request a
/// search.
///
/// # Errors
/// Fails if the training fails.
pub fn maximum(
    task: &Task<'_>,
    laplace: &Laplace,
    start: &(dyn Fn(&Task<'_>) -> StateValues + Sync),
) -> Result<TrainingResult, Stop> {
    let infer = task.infer;
    if laplace.search {
        let (fitted, ()) = restarts::best(task, &|task| Ok((train(task, start(task), None)?, ())))?;
        return match fitted.interrupted {
            // The point of an interrupted search is not a maximum, so a Gaussian around it would be
            // wrong.
            true => Err(Stop::Interrupted),
            false => Ok(fitted),
        };
    }
    let mut start = start(task);
    let is_parameter = |name: &String| {
        infer
            .states
            .iter()
            .any(|state| state.parameter && state.name == *name)
    };
    start.retain(|name, _| is_parameter(name));
    Ok(found(Arc::new(start)))
}
