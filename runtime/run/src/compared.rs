//! Compares the results of inference blocks that may be from several runs.

use bnnc_abi::manifest::{CompareBlock, InferenceBlock};
use bnnc_core::context::{Context, Stop};
use bnnc_inference::comparison::{Comparison, compared, lacks_left_out};
use bnnc_inference::leave_one_out::leave_one_out;
use bnnc_inference::outcome::InferenceOutcome;

/// Compares inference blocks. If an inference block ran before the `compare` item was entered, its
/// leave-one-out estimates may be missing. This function computes the missing estimates.
///
/// # Errors
/// Fails if a file of draws cannot be read, if there is too little memory, or if the user interrupts
/// the computation.
pub fn compare(
    compare: &CompareBlock,
    found: &[(&InferenceBlock, &InferenceOutcome)],
    context: &Context,
) -> Result<Comparison, Stop> {
    let mut outcomes: Vec<InferenceOutcome> = Vec::with_capacity(found.len());
    for (infer, outcome) in found {
        let mut outcome = (*outcome).clone();
        if let Some(last) = outcome
            .splits
            .last()
            .filter(|_| lacks_left_out(compare, &outcome))
        {
            outcome.left_out = leave_one_out(infer, &*last.found, &outcome.dataset, true, context)?;
        }
        outcomes.push(outcome);
    }
    let infers = found.iter().map(|(infer, _)| *infer);
    let pairs: Vec<_> = infers.zip(&outcomes).collect();
    Ok(compared(compare, &pairs))
}
