//! The methods `swag` and `ensemble` as implementations of the trait for methods.

use super::{at_once, members};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::iterates::{Ensemble, Swag};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::predict::{held, predictive_draws};
use bnnc_core::states::StateValues;
use bnnc_inference::method::{MemoryExtent, Method, MethodInputs, Saved, few_draws, predicting_draws};
use bnnc_inference::posterior::SharedPosterior;
use bnnc_training::iterates::{Collected, draws_of, iterated, memory};
use bnnc_training::memory::{at_a_time, training};
use std::sync::Arc;

/// An inference block whose posterior is computed from the iterates of one training run.
pub struct Averages<'a> {
    /// The inference block that the method runs.
    pub infer: &'a InferenceBlock,
    /// The plan of the training, and of the iterates to collect.
    pub swag: &'a Swag,
}

/// An inference block whose posterior consists of the results of several training runs.
pub struct Ensembles<'a> {
    /// The inference block that the method runs.
    pub infer: &'a InferenceBlock,
    /// The plan of the ensemble.
    pub ensemble: &'a Ensemble,
}

/// Restores a posterior from the iterates or members in the folder of a run.
fn restored(infer: &InferenceBlock, values: &StateValues) -> SharedPosterior {
    Arc::new(Collected::restored(values, held(infer, values)))
}

impl Method for Averages<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let Averages { infer, swag } = *self;
        let find = || iterated(&given.task(infer), swag, given.starts);
        Ok(Arc::new(given.kept(infer, find)?))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        Ok(restored(self.infer, saved.values))
    }

    fn predictive_draws(&self, held: usize) -> usize {
        predictive_draws(self.infer, held)
    }

    fn settings(&self) -> Vec<Diagnostic> {
        few_draws(self.infer).into_iter().collect()
    }

    fn iterates(&self, rows: usize, of_earlier: &dyn Fn(&str) -> usize) -> usize {
        memory::planned((self.infer, self.swag), rows, of_earlier)
    }

    fn held(&self, _: usize, planned: usize) -> u64 {
        // Memory contains the mean, the variances and the draws.
        let positions = 2 + draws_of(self.infer, self.swag, planned);
        memory::numbers(self.infer, &self.swag.moved, positions)
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Averages { infer, swag } = *self;
        let training = training((infer, &swag.train), extent.schema, extent.rows, true);
        let held = self.held(extent.rows, extent.planned);
        memory::collecting((infer, swag), (extent.rows, extent.planned), (held, training))
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Averages { infer, swag } = *self;
        let positions = draws_of(infer, swag, extent.planned);
        let drawn = memory::numbers(infer, &swag.moved, positions);
        predicting_draws(infer, extent, predictive_draws(infer, positions), (drawn, 0))
    }
}

impl Method for Ensembles<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let Ensembles { infer, ensemble } = *self;
        let find = || members(&given.task(infer), ensemble, given.starts);
        Ok(Arc::new(given.kept(infer, find)?))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        Ok(restored(self.infer, saved.values))
    }

    fn predictive_draws(&self, held: usize) -> usize {
        predictive_draws(self.infer, held)
    }

    fn settings(&self) -> Vec<Diagnostic> {
        let is_one = self.ensemble.options.members == 1;
        let one = is_one.then(|| super::diagnostics::one_member(&self.infer.name));
        one.into_iter().chain(few_draws(self.infer)).collect()
    }

    fn iterates(&self, _: usize, _: &dyn Fn(&str) -> usize) -> usize {
        self.ensemble.options.members
    }

    fn members(&self, _: usize) -> usize {
        self.ensemble.options.members
    }

    fn held(&self, _: usize, _: usize) -> u64 {
        // The position of each member is in memory twice: once separately, and once among the
        // draws.
        memory::numbers(
            self.infer,
            &self.ensemble.moved,
            2 * self.ensemble.options.members,
        )
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Ensembles { infer, ensemble } = *self;
        let trains = (infer, &ensemble.train);
        let training = match ensemble.options.members {
            0 | 1 => training(trains, extent.schema, extent.rows, false),
            // Several members run at the same time. The restarts of a member run one after the other.
            _ => at_a_time(trains, extent.schema, extent.rows, at_once(ensemble)),
        };
        // The memory of a running member already includes the result of this member.
        let ended = ensemble.options.members.saturating_sub(at_once(ensemble));
        let meanwhile = memory::numbers(infer, &ensemble.moved, ended);
        meanwhile + training.max(self.held(extent.rows, extent.planned))
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        let Ensembles { infer, ensemble } = *self;
        let drawn = memory::numbers(infer, &ensemble.moved, ensemble.options.members);
        let draws = predictive_draws(infer, ensemble.options.members);
        predicting_draws(infer, extent, draws, (drawn, 0))
    }
}
