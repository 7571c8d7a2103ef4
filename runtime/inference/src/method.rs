//! What a method of inference is to a run: how it finds a posterior, what it restores of one, and the memory that it needs.

use crate::leave_one_out;
use crate::posterior::{Found, Posterior};
use crate::summary::DRAWS;
use bnnc_abi::code::Artifact;
use bnnc_abi::data::Schema;
use bnnc_abi::manifest::{Infer, Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::codes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::memory::{parameters, predicting, predicting_some};
use bnnc_core::predict;
use bnnc_core::states::Values;
use bnnc_data::Dataset;
use bnnc_laplace::posterior::Array;
use bnnc_training::Task;
use bnnc_training::start::Starts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What a method is given to find a posterior.
pub struct Given<'a> {
    /// The rows.
    pub dataset: &'a Dataset,
    /// The starts.
    pub starts: &'a Starts<'a>,
    /// The split's number.
    pub split: usize,
    /// What inferences share.
    pub context: &'a Context,
    /// The variances of all weights under the earlier inference of a name.
    pub variances: &'a dyn Fn(&str) -> Result<Vec<f64>, Stop>,
}

impl<'a> Given<'a> {
    /// The training of an inference.
    pub fn task(&self, infer: &'a Infer) -> Task<'a> {
        Task {
            infer,
            dataset: self.dataset,
            split: self.split,
            name: &infer.name,
            context: self.context,
            restart: 0,
        }
    }

    /// The posterior that `find` finds, or that an earlier run kept which is continued.
    ///
    /// # Errors
    /// As `find`; a checkpoint that cannot be written; the user's wish to stop.
    pub fn kept<T: Posterior + Serialize + DeserializeOwned>(
        &self,
        infer: &Infer,
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

/// A posterior in the folder of a run.
pub struct Saved<'a> {
    /// The states that predictions are made with.
    pub values: &'a Values,
    /// The folder.
    pub folder: &'a Path,
    /// The tensors whose names begin with a prefix.
    pub arrays: &'a dyn Fn(&str) -> Result<Vec<Array<'static>>, Diagnostic>,
}

/// The sizes that the memory of an inference depends on.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// The data.
    pub schema: &'a Schema,
    /// The examples that are fitted to.
    pub rows: usize,
    /// Iterates, or members of a mixture.
    pub planned: usize,
    /// Whether a comparison leaves rows out.
    pub leaves_out: bool,
}

impl Extent<'_> {
    /// The number of examples that are predicted and scored.
    pub fn scored(&self, infer: &Infer) -> usize {
        scored(infer, self.schema)
    }
}

/// The number of examples that are predicted and scored.
pub fn scored(infer: &Infer, schema: &Schema) -> usize {
    let rows = if schema.test > 0 {
        schema.test
    } else {
        schema.train
    };
    infer.examples(rows)
}

/// The numbers behind the summaries of small sites.
#[derive(Clone, Copy, Debug)]
pub struct Summing {
    /// Draws of each site.
    pub draws: usize,
    /// Weights that are drawn beforehand.
    pub weights: u64,
    /// Numbers of their noise.
    pub noise: u64,
}

/// A method with the plan of one inference.
pub trait Method {
    /// Finds the posterior, or takes what an earlier run found that is continued.
    ///
    /// # Errors
    /// A training or chains that fail, columns that do not fit, a limit, the user's wish to stop.
    fn find(&self, given: &Given<'_>) -> Result<Found, Stop>;

    /// Restores what predictions need of a posterior from the folder of its run.
    ///
    /// # Errors
    /// A folder that is damaged, or of another program.
    fn restore(&self, saved: &Saved<'_>) -> Result<Found, Stop>;

    /// The number of draws that predictions average over where this number of positions is held.
    fn predictive_draws(&self, held: usize) -> usize {
        held
    }

    /// The warnings that follow from the options alone.
    fn settings(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// The program that reads all rows.
    fn program(&self) -> &Artifact;

    /// The sizes of a full step on a number of rows.
    fn step_sizes(&self, rows: usize) -> Sizes;

    /// The iterates that are taken of a number of rows, or held for others, where nothing stops it; `of_earlier` gives those of the inferences before it.
    fn iterates(&self, _rows: usize, _of_earlier: &dyn Fn(&str) -> usize) -> usize {
        0
    }

    /// The members, where the inference that it starts from has as many as this.
    fn members(&self, _before: usize) -> usize {
        1
    }

    /// The iterates or members that the memory depends on.
    fn planned(&self, iterates: usize, _members: usize) -> usize {
        iterates
    }

    /// The bytes that the posterior holds besides its parameters.
    fn held(&self, _rows: usize, _planned: usize) -> u64 {
        0
    }

    /// The bytes of finding the posterior.
    fn finding(&self, extent: &Extent<'_>) -> u64;

    /// The bytes of predicting, and of leaving rows out.
    fn predicting(&self, extent: &Extent<'_>) -> u64;

    /// The bytes that a thread keeps which has decomposed matrices.
    fn packed(&self, _rows: usize) -> u64 {
        0
    }

    /// The numbers behind summaries.
    fn summing(&self, _planned: usize) -> Summing {
        Summing {
            draws: DRAWS,
            weights: 0,
            noise: 0,
        }
    }

    /// The options that would need less memory.
    fn smaller(&self) -> &'static str {
        "a smaller `batch` or fewer `predictive_draws` need less"
    }
}

/// The warning about draws of which 5 % are fewer than one.
pub fn few_draws(infer: &Infer) -> Option<Diagnostic> {
    let has_quantiles = |output: &Output| matches!(output.kind, OutputKind::Real | OutputKind::Count);
    let is_few = infer.predictive_draws() < 20 && infer.outputs.iter().any(has_quantiles);
    is_few.then(|| codes::audit::few_predictive_draws(&infer.name, infer.predictive_draws()))
}

/// The bytes of predicting with draws of an approximation, whose positions take `drawn`, and of leaving rows out, which takes `weights` for each draw.
pub fn predicting_draws(
    infer: &Infer,
    extent: &Extent<'_>,
    draws: usize,
    (drawn, weights): (u64, u64),
) -> u64 {
    let left_out = match extent.leaves_out {
        true => leaving_out(infer, extent.rows, weights),
        false => 0,
    };
    predicting(infer, &infer.predict, extent.scored(infer), draws).max(left_out) + drawn
}

/// The bytes of leaving rows out of draws of an approximation.
fn leaving_out(infer: &Infer, rows: usize, weights: u64) -> u64 {
    let draws = leave_one_out::draws_of_approximation(infer, rows);
    let likelihoods = &predict::said(infer)[..1];
    predicting_some(infer, &infer.predict, (rows, draws), likelihoods) + draws as u64 * weights
}

/// The bytes of weights that are drawn beforehand, and of their noise, for each draw.
pub fn drawn_weights(infer: &Infer) -> u64 {
    2 * parameters(infer)
}
