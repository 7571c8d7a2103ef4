//! The inputs from which the parts of an objective are built, and the parameters that these parts share.

use super::likelihood::choice::Layers;
use super::plan::SitePlan;
use super::states;
pub use crate::diagnostics::Refusal;
use crate::kl;
use crate::nodes::Scope;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{ElaboratedOptimiser, Model};
use bnnc_graph::op::Vjp;
use bnnc_graph::types::Type;

/// The user's training options that affect the compiled program.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSettings<'a> {
    /// The optimiser of the parameters.
    pub optimiser: &'a ElaboratedOptimiser,
    /// The number of draws of the sites per step.
    pub samples: usize,
    /// The number of draws for KL divergences that need draws. If this number is 0, these divergences use the draws of the likelihood.
    pub kl_draws: usize,
    /// The options for the computation of KL divergences.
    pub kl: kl::KlOptions,
    /// The layers with a requested gradient estimator.
    pub layers: Layers<'a>,
    /// True if the objective includes the log determinants of the Jacobians of optimised points. The result is then the mode on the unconstrained
    /// scale.
    pub jacobians: bool,
    /// True if an evidence tunes the prior during training; see [`states::tuned`].
    pub online: bool,
    /// True if the gradient is shortened to a norm. This norm is an input of the step.
    pub clips: bool,
    /// The log prior of some sites, `(states.., shared..) -> log_prior`, and its factor in the loss.
    pub scaled: Option<&'a (Function, f64)>,
    /// True if each row of a step is mixed with another row. The share of the row and the outputs of the other row are inputs of the step.
    pub mixes: bool,
    /// True if the method recomputes running means, because it predicts with weights that no training step used.
    pub means: bool,
    /// If at most this number of scalars are optimised, a separate program for the gradient of the loss is built. If this limit is `None`, the
    /// program is never built.
    pub gradient: Option<usize>,
}

/// The data for building the parts of an objective.
pub(super) struct Task<'a> {
    pub(super) model: &'a Model,
    pub(super) plans: &'a [SitePlan<'a>],
    pub(super) settings: TrainingSettings<'a>,
}

/// Returns the number of nodes in the loss that a gradient flows through on its way to an optimised
/// parameter.
pub(super) fn gradient_nodes(loss: &Function, plans: &[SitePlan<'_>]) -> usize {
    let moved: Vec<Value> = states::optimised(plans)
        .iter()
        .filter_map(|(name, _)| loss.param(name))
        .collect();
    let flows = |value: Value| {
        let passes = |op: bnnc_graph::op::Op| !matches!(op.vjp, Vjp::Zero(_));
        loss.ty(value).dtype == DType::Real && loss.op(value).is_some_and(passes)
    };
    let mut reached = vec![false; loss.nodes.len()];
    for value in loss.nodes.ids() {
        let from_args = || loss.args(value).iter().any(|arg| reached[arg.index()]);
        reached[value.index()] = moved.contains(&value) || (flows(value) && from_args());
    }
    let mut needed = vec![false; loss.nodes.len()];
    loss.results
        .iter()
        .for_each(|(_, value)| needed[value.index()] = true);
    for value in loss.nodes.ids().rev() {
        if needed[value.index()] && flows(value) {
            loss.args(value).iter().for_each(|arg| needed[arg.index()] = true);
        }
    }
    let counts = |value: &Value| reached[value.index()] && needed[value.index()] && loss.op(*value).is_some();
    loss.nodes.ids().filter(counts).count()
}

/// Returns whether a parameter of a row function has a separate value for each example.
pub(super) fn is_of_row(model: &Model, name: &str) -> bool {
    model
        .inputs
        .iter()
        .chain(&model.outputs)
        .any(|input| &*input.name == name)
}

/// Adds the shared inputs and the stored running means as parameters.
pub(super) fn bind_shared(builder: &mut Builder, model: &Model, scope: &mut Scope) {
    for mean in &model.running {
        let value = builder.param(&mean.name, mean.ty.clone());
        scope.set(&mean.name, value);
    }
    for input in &model.shared {
        let value = builder.param(&input.name, input.ty.clone());
        scope.set(&input.name, value);
    }
}

/// Adds the data as parameters. Shared inputs keep their shapes; inputs and outputs get an axis of examples.
pub(super) fn bind_data(builder: &mut Builder, model: &Model, scope: &mut Scope) {
    bind_shared(builder, model, scope);
    for input in model.inputs.iter().chain(&model.outputs) {
        let shape = input.ty.shape.prepend(Dim::Symbol(Symbol::Batch));
        let value = builder.param(&input.name, input.ty.with_shape(shape));
        scope.set(&input.name, value);
    }
}

/// Adds scalar parameters.
pub(super) fn bind_scalars(builder: &mut Builder, scope: &mut Scope, ty: &Type, ports: &[PortName]) {
    for port in ports {
        let value = builder.param(port.text(), ty.clone());
        scope.set(port.text(), value);
    }
}
