//! The interface of an inference method. A method finds a posterior, restores a saved posterior, and computes in advance how much memory it needs.

use crate::leave_one_out;
use crate::posterior::{Posterior, SharedPosterior};
use crate::summary::DRAWS;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::memory::{parameters, predicting, predicting_some};
use bnnc_core::predict;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_training::Task;
use bnnc_training::start::Starts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// The inputs that a method uses to find a posterior.
pub struct MethodInputs<'a> {
    /// The data of the current split.
    pub dataset: &'a Dataset,
    /// The states from which the training starts.
    pub starts: &'a Starts<'a>,
    /// The index of the split.
    pub split: usize,
    /// The context that all inference blocks of a run share.
    pub context: &'a Context,
    /// A function that returns the variances of all weights under the posterior of an earlier inference
    /// block. The argument is the name of this block.
    pub variances: &'a dyn Fn(&str) -> Result<Vec<f64>, Stop>,
}

impl<'a> MethodInputs<'a> {
    /// Returns the training task for an inference block.
    pub fn task(&self, infer: &'a InferenceBlock) -> Task<'a> {
        Task {
            infer,
            dataset: self.dataset,
            split: self.split,
            name: &infer.name,
            context: self.context,
            restart: 0,
        }
    }

    /// Returns the posterior from the checkpoint if an earlier run stored one there. Otherwise, calls `find` and returns its result.
    ///
    /// # Errors
    /// Fails if `find` fails, if a checkpoint cannot be written, or if the user interrupts the run.
    pub fn kept<T: Posterior + Serialize + DeserializeOwned>(
        &self,
        infer: &InferenceBlock,
        find: impl FnOnce() -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let checkpoint = &self.context.checkpoint;
        if let Some(kept) = checkpoint.kept(&infer.name, self.split) {
            return Ok(kept);
        }
        if self.context.interrupt.is_raised() {
            return Err(Stop::Interrupted);
        }
        let found = find()?;
        if !found.is_interrupted() {
            checkpoint.keep(&infer.name, self.split, &found)?;
        }
        Ok(found)
    }
}

/// A posterior that was saved in the folder of a run.
pub struct Saved<'a> {
    /// The states for making predictions.
    pub values: &'a StateValues,
    /// The folder of the run.
    pub folder: &'a Path,
    /// Returns the tensors whose names begin with a given prefix.
    pub arrays: &'a dyn Fn(&str) -> Result<Vec<PosteriorArray<'static>>, Diagnostic>,
}

/// The sizes that determine the memory of an inference block.
#[derive(Clone, Copy, Debug)]
pub struct MemoryExtent<'a> {
    /// The sizes of the data.
    pub schema: &'a Schema,
    /// The number of examples that are used to fit the posterior.
    pub rows: usize,
    /// The planned number of iterates, or the planned number of members of a mixture.
    pub planned: usize,
    /// True if a comparison needs leave-one-out estimates.
    pub leaves_out: bool,
}

impl MemoryExtent<'_> {
    /// Returns the number of examples that are predicted and scored.
    pub fn scored(&self, infer: &InferenceBlock) -> usize {
        scored(infer, self.schema)
    }
}

/// Returns the number of examples that are predicted and scored. The examples are the test rows. Without test rows,
/// they are the training rows.
pub fn scored(infer: &InferenceBlock, schema: &Schema) -> usize {
    let rows = if schema.test > 0 {
        schema.test
    } else {
        schema.train
    };
    infer.examples(rows)
}

/// The sizes that determine the memory for the summaries of small sites.
#[derive(Clone, Copy, Debug)]
pub struct Summing {
    /// The number of draws of each site.
    pub draws: usize,
    /// The number of weights that are drawn before the predictions are computed.
    pub weights: u64,
    /// The number of random numbers from which these weights are computed.
    pub noise: u64,
}

/// An inference method, together with its plan for one inference block.
pub trait Method {
    /// Finds the posterior. If a resumed run has already stored the posterior, reads the stored posterior instead.
    ///
    /// # Errors
    /// Fails if a training run or a chain fails, some columns do not fit the program, there is too little memory, or the user interrupts the run.
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop>;

    /// Reads from the folder of a run the parts of its posterior that predictions need.
    ///
    /// # Errors
    /// Fails if the folder is damaged or belongs to another program.
    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop>;

    /// Returns the number of draws that predictions are averaged over. `held` is the number of positions that are stored.
    fn predictive_draws(&self, held: usize) -> usize {
        held
    }

    /// Returns the warnings that depend only on the options.
    fn settings(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns the number of iterates that a complete run collects for this number of rows. These iterates may also be stored for other
    /// inference blocks. `of_earlier` returns this number for an earlier inference block.
    fn iterates(&self, _rows: usize, _of_earlier: &dyn Fn(&str) -> usize) -> usize {
        0
    }

    /// Returns the number of members of the ensemble. If this block starts from another inference block, `before` is the number of members
    /// of that block.
    fn members(&self, _before: usize) -> usize {
        1
    }

    /// Returns the number of iterates or members that determines the memory.
    fn planned(&self, iterates: usize, _members: usize) -> usize {
        iterates
    }

    /// Returns the number of bytes that the posterior needs beyond its parameters, for example for draws or iterates.
    fn held(&self, _rows: usize, _planned: usize) -> u64 {
        0
    }

    /// Returns the number of bytes that are needed to find the posterior.
    fn finding(&self, extent: &MemoryExtent<'_>) -> u64;

    /// Returns the number of bytes that are needed for predictions and leave-one-out estimates.
    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64;

    /// Returns the size of the buffer, in bytes, that a thread keeps after it has decomposed matrices.
    fn packed(&self, _rows: usize) -> u64 {
        0
    }

    /// Returns the sizes that determine the memory for the summaries of sites.
    fn summing(&self, _planned: usize) -> Summing {
        Summing {
            draws: DRAWS,
            weights: 0,
            noise: 0,
        }
    }

    /// Returns advice on options with which the method needs less memory.
    fn smaller(&self) -> &'static str {
        "reduce `batch` or `predictive_draws`"
    }
}

/// Returns a warning if there are fewer than 20 predictive draws. A 5 % quantile cannot be estimated from so few draws.
pub fn few_draws(infer: &InferenceBlock) -> Option<Diagnostic> {
    let has_quantiles = |output: &Output| matches!(output.kind, OutputKind::Real | OutputKind::Count);
    let is_few = infer.predictive_draws() < 20 && infer.outputs.iter().any(has_quantiles);
    is_few.then(|| crate::diagnostics::few_predictive_draws(&infer.name, infer.predictive_draws()))
}

/// Returns the number of bytes that are needed for predictions and leave-one-out estimates, if both use draws from an approximation. `drawn` is the
/// number of bytes of the positions of these draws. For each draw, leave-one-out estimates need `weights` further bytes.
pub fn predicting_draws(
    infer: &InferenceBlock,
    extent: &MemoryExtent<'_>,
    draws: usize,
    (drawn, weights): (u64, u64),
) -> u64 {
    let left_out = match extent.leaves_out {
        true => leaving_out(infer, extent.rows, weights),
        false => 0,
    };
    predicting(infer, &infer.predict, extent.scored(infer), draws).max(left_out) + drawn
}

/// Returns the number of bytes that leave-one-out estimates need, if they use draws from an approximation.
fn leaving_out(infer: &InferenceBlock, rows: usize, weights: u64) -> u64 {
    let draws = leave_one_out::draws_of_approximation(infer, rows);
    let likelihoods = &predict::prediction_outputs(infer)[..1];
    predicting_some(infer, &infer.predict, (rows, draws), likelihoods)
        + draws as u64 * weights
        + leave_one_out::bytes(rows)
}

/// Some weights are drawn before the predictions are computed. Returns the number of bytes per draw for these weights,
/// including their noise.
pub fn drawn_weights(infer: &InferenceBlock) -> u64 {
    2 * parameters(infer)
}
