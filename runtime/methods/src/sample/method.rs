//! Sampling as an implementation of the trait for methods.

use super::posterior::ChainsPosterior;
use super::{bytes, held, sample};
use bnnc_abi::manifest::{InferenceBlock, Start};
use bnnc_abi::methods::sampling::Sampling;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::memory::{NUMBER, predicting, predicting_some};
use bnnc_core::predict;
use bnnc_inference::chains::{SamplingResult, StateLayout};
use bnnc_inference::leave_one_out;
use bnnc_inference::method::{MemoryExtent, Method, MethodInputs, Saved, few_draws};
use bnnc_inference::posterior::SharedPosterior;
use std::sync::Arc;

/// An inference block whose posterior is sampled by Markov chains.
pub struct Samples<'a> {
    /// The inference block whose posterior is sampled.
    pub infer: &'a InferenceBlock,
    /// The sampler and its options.
    pub sampling: &'a Sampling,
}

impl Samples<'_> {
    /// Returns the bytes needed for leave-one-out estimates: the log likelihoods, and two copies of
    /// the draws (one as selected, and one in the layout of the program).
    fn leaving_out(&self, rows: usize) -> u64 {
        let Samples { infer, sampling } = *self;
        let dimension = StateLayout::new(infer, sampling).dimension;
        let all = self.all_draws();
        let there_are = (infer.predictive_draws().min(all), all);
        let Some(draws) = leave_one_out::draws(sampling, (rows, dimension), there_are) else {
            return 0;
        };
        let likelihoods = &predict::prediction_outputs(infer)[..1];
        predicting_some(infer, &infer.predict, (rows, draws), likelihoods)
            + 2 * NUMBER * (draws * dimension) as u64
    }

    /// Returns the number of draws of all chains.
    fn all_draws(&self) -> usize {
        let options = &self.sampling.options;
        options.chains.saturating_mul(options.draws)
    }
}

/// Returns the warning that all chains have the same start, if this is the case.
fn one_start(infer: &InferenceBlock, sampling: &Sampling) -> Option<Diagnostic> {
    let options = &sampling.options;
    let from = match &infer.start {
        Some(Start::Infer(name)) => format!("the result of `{name}`"),
        Some(Start::File(_)) => "the values of a file".to_owned(),
        None => "zero on the unconstrained scale".to_owned(),
    };
    let is_one = options.chains > 1 && options.jitter_of_start() == 0.0;
    is_one.then(|| super::diagnostics::one_start(&infer.name, options.chains, &from))
}

impl Method for Samples<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let start = given.starts.of(given.context.seed, 0);
        let sampled = sample(self.infer, given.dataset, start, given.split, given.context)?;
        Ok(Arc::new(ChainsPosterior(sampled)))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        let values = Arc::new(saved.values.clone());
        let predictive = match predict::held(self.infer, &values) {
            0 => self.infer.predictive_draws(),
            held => held,
        };
        Ok(Arc::new(ChainsPosterior(SamplingResult {
            mean: values.clone(),
            values,
            predictive,
            chains: Vec::new(),
            without_draws: Vec::new(),
            layout: StateLayout::new(self.infer, self.sampling),
            interrupted: false,
        })))
    }

    fn settings(&self) -> Vec<Diagnostic> {
        let is_one = self.sampling.options.chains == 1;
        let one = is_one.then(|| super::diagnostics::one_chain(&self.infer.name));
        let one = one.into_iter().chain(one_start(self.infer, self.sampling));
        one.chain(few_draws(self.infer)).collect()
    }

    fn iterates(&self, _: usize, _: &dyn Fn(&str) -> usize) -> usize {
        self.infer.predictive_draws()
    }

    fn held(&self, rows: usize, _: usize) -> u64 {
        // The result keeps the leave-one-out estimate of each row.
        let estimates = match self.leaving_out(rows) {
            0 => 0,
            _ => leave_one_out::bytes(rows),
        };
        held(self.infer, self.sampling) + estimates
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        bytes(self.infer, self.sampling, extent.rows)
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        // Predictions use each draw at most once.
        let draws = self.infer.predictive_draws().min(self.all_draws());
        predicting(self.infer, &self.infer.predict, extent.scored(self.infer), draws)
            .max(self.leaving_out(extent.rows))
    }

    fn smaller(&self) -> &'static str {
        "reduce `chains`, `draws` or `batches`, raise `thin`, use a diagonal `metric`, or keep the draws on disk: `store = \
         disk`"
    }
}
