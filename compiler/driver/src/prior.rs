//! Derives the predictions of a model from its prior, before any row is observed.

use crate::compilation::Compilation;
use bnnc_abi::manifest::NoPrior;
use bnnc_base::fault::Fault;
use bnnc_graph::function::Function;
use bnnc_graph::model::Model;
use bnnc_hir::elaborate::bind::DataBindings;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::prior::{self, ValueOrigin};
use bnnc_rewrite::pipelines;

/// Moves an input to the shared inputs if it has the same value for all rows, even if the model
/// declares it as an input of one example.
pub(crate) fn shared_apart(model: &mut Model, bound: &DataBindings) {
    let inputs = std::mem::take(&mut model.inputs);
    let (shared, inputs): (Vec<_>, Vec<_>) =
        inputs.into_iter().partition(|input| bound.is_shared(&input.name));
    model.shared.extend(shared);
    model.inputs = inputs;
}

impl Compilation<'_> {
    /// Derives the predictions from the prior. The inner error is the reason why the model cannot
    /// predict from its prior.
    pub(crate) fn prior(
        &mut self,
        densities: &Densities,
        model: &Model,
    ) -> Result<Result<Function, NoPrior>, Fault> {
        match prior::predict(densities, model, &|_| ValueOrigin::Prior) {
            Ok(function) => self.untraced(&pipelines::PRIOR, function).map(Ok),
            Err(why) => Ok(Err(NoPrior(why.to_string()))),
        }
    }
}
