//! Collapsed inference as an implementation of the trait for methods.

use super::choice::{Choice, PREFIX};
use super::{CollapsedPosterior, draws, is_exact, memory};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::Collapsed;
use bnnc_core::context::Stop;
use bnnc_core::memory::predicting;
use bnnc_core::predict;
use bnnc_inference::method::{MemoryExtent, Method, MethodInputs, Saved};
use bnnc_inference::posterior::SharedPosterior;
use bnnc_training::iterates::{self, Collected};
use bnnc_training::memory::training;
use std::sync::Arc;

/// The method of an inference block that integrates over a box around iterates.
pub struct Collapses<'a> {
    /// The inference block that the method runs.
    pub infer: &'a InferenceBlock,
    /// The plan of collapsed inference.
    pub collapsed: &'a Collapsed,
}

impl Collapses<'_> {
    fn numbers(&self, positions: usize) -> u64 {
        iterates::memory::numbers(self.infer, &self.collapsed.iterates.moved, positions)
    }
}

impl Method for Collapses<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let Collapses { infer, collapsed } = *self;
        let find = || CollapsedPosterior::find(&given.task(infer), collapsed, given.starts);
        Ok(Arc::new(given.kept(infer, find)?))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        let held = predict::held(self.infer, saved.values);
        Ok(Arc::new(CollapsedPosterior {
            collected: Collected::restored(saved.values, held),
            choice: Choice::restore(&(saved.arrays)(PREFIX)?),
        }))
    }

    fn predictive_draws(&self, held: usize) -> usize {
        draws(self.infer, self.collapsed, held)
    }

    fn iterates(&self, rows: usize, of_earlier: &dyn Fn(&str) -> usize) -> usize {
        iterates::memory::planned((self.infer, &self.collapsed.iterates), rows, of_earlier)
    }

    fn held(&self, _: usize, planned: usize) -> u64 {
        self.numbers(2 + planned)
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Collapses { infer, collapsed } = *self;
        let (rows, planned, swag) = (extent.rows, extent.planned, &collapsed.iterates);
        let training = training((infer, &swag.train), extent.schema, rows, true);
        let held = self.held(rows, planned);
        let choosing = memory::choosing((infer, collapsed), rows, planned);
        iterates::memory::collecting((infer, swag), (rows, planned), (held, training)).max(held + choosing)
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Collapses { infer, collapsed } = *self;
        let (rows, planned) = (extent.scored(infer), extent.planned);
        if is_exact(infer, collapsed) {
            return memory::predicting((infer, collapsed), rows, (planned, infer.predictive_draws()));
        }
        let drawn = memory::drawn((infer, collapsed), planned);
        predicting(infer, &infer.predict, rows, draws(infer, collapsed, planned)) + drawn
    }
}
