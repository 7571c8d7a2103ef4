//! The inputs from which the parts of an objective are built, and the parameters that these parts share.

use super::likelihood::choice::Layers;
use super::plan::SitePlan;
use super::states;
pub use crate::diagnostics::RewriteError;
use crate::kl;
use crate::methods::plan::{state_name, state_type};
use crate::nodes::Scope;
use bnnc_abi::ports::PortName;
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape, Symbol};
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
    /// True if the norm of the gradient is limited. The limit is an input of the step.
    pub clips: bool,
    /// The log prior of some sites, `(states.., shared..) -> log_prior`, and the factor that multiplies it in
    /// the loss.
    pub scaled: Option<&'a (Function, f64)>,
    /// True if each row of a step is mixed with another row. The share of the row and the outputs of the other row are inputs of the step.
    pub mixes: bool,
    /// True if the method recomputes running means, because it predicts with weights that no training step used.
    pub means: bool,
    /// The largest number of optimised scalars for which a separate program for the gradient of the loss is built. If it is `None`, the
    /// program is never built.
    pub gradient: Option<usize>,
}

/// The inputs from which the parts of an objective are built.
pub(super) struct Task<'a> {
    pub(super) model: &'a Model,
    pub(super) plans: &'a [SitePlan<'a>],
    pub(super) settings: TrainingSettings<'a>,
}

/// Returns the number of nodes in the loss through which a gradient flows to an optimised
/// parameter.
pub(super) fn gradient_nodes(loss: &Function, plans: &[SitePlan<'_>]) -> usize {
    let moved = states::optimised(plans);
    let moved: Vec<Value> = moved.iter().filter_map(|(name, _)| loss.param(name)).collect();
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
    let mut inputs = model.inputs.iter().chain(&model.outputs);
    inputs.any(|input| *input.name == *name)
}

/// A function under construction, with the values of its parameters by name.
pub(super) struct Program {
    pub(super) builder: Builder,
    pub(super) scope: Scope,
}

impl Program {
    /// Begins a function without parameters.
    pub(super) fn new(name: &str) -> Program {
        Program {
            builder: Builder::new(name),
            scope: Scope::default(),
        }
    }

    /// Adds a parameter.
    pub(super) fn param(mut self, name: &str, ty: Type) -> Program {
        self.scope.param(&mut self.builder, name, ty);
        self
    }

    /// Adds one parameter for each state of the plans, under the name of the state.
    pub(super) fn states(self, plans: &[SitePlan<'_>]) -> Program {
        let all = plans
            .iter()
            .flat_map(|plan| plan.posterior.params.iter().map(move |param| (plan, param)));
        all.fold(self, |program, (plan, param)| {
            program.param(&state_name(plan, param), state_type(plan, param))
        })
    }

    /// Adds the stored running means and the shared inputs as parameters.
    pub(super) fn shared(self, model: &Model) -> Program {
        let means = model.running.iter().map(|mean| (&mean.name, &mean.ty));
        let inputs = model.shared.iter().map(|input| (&input.name, &input.ty));
        let params = means.chain(inputs);
        params.fold(self, |program, (name, ty)| program.param(name, ty.clone()))
    }

    /// Adds the running means and the data as parameters. Shared inputs keep their shapes; inputs
    /// and outputs get an axis of examples.
    pub(super) fn data(self, model: &Model) -> Program {
        let inputs = model.inputs.iter().chain(&model.outputs);
        inputs.fold(self.shared(model), |program, input| {
            let shape = input.ty.shape.prepend(Dim::Symbol(Symbol::Batch));
            program.param(&input.name, input.ty.with_shape(shape))
        })
    }

    /// Adds the running means, the shared inputs, and the inputs and outputs of one row as
    /// parameters.
    pub(super) fn row(self, model: &Model) -> Program {
        let inputs = model.inputs.iter().chain(&model.outputs);
        inputs.fold(self.shared(model), |program, input| {
            program.param(&input.name, input.ty.clone())
        })
    }

    /// Adds integer scalars as parameters.
    pub(super) fn integers(self, ports: &[PortName]) -> Program {
        let ty = Type::int(Shape::scalar());
        ports
            .iter()
            .fold(self, |program, port| program.param(port.text(), ty.clone()))
    }

    /// Adds real scalars as parameters.
    pub(super) fn reals(self, ports: &[PortName]) -> Program {
        ports
            .iter()
            .fold(self, |program, port| program.param(port.text(), Type::scalar()))
    }
}

/// Returns the coordinates `(draw, example, step)` of noise that all examples share.
pub(super) fn shared_coordinates(builder: &mut Builder, scope: &Scope) -> [Value; 3] {
    let all_examples = builder.int(0);
    let [draw, step] = [PortName::Draw, PortName::Step].map(|port| scope.get(port.text()));
    [draw, all_examples, step]
}

/// Binds `example` to the number of each row of a batch. The first row has the number `row0`.
pub(super) fn number_rows(builder: &mut Builder, scope: &mut Scope) {
    let rows = Dim::Symbol(Symbol::Batch);
    let offsets = builder.iota(rows);
    let first = builder.broadcast_leading(scope.get(PortName::FirstRow.text()), rows);
    scope.set(PortName::Example.text(), builder.add(first, offsets));
}
