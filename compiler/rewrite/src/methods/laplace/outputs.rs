//! The outputs `f` of a row as a function of the states, and the weights that affect these outputs.

use super::super::plan::{InferenceProblem, SitePlan};
use super::super::states;
use super::super::task::RewriteError;
use super::known;
use crate::density::{Densities, dependences};
use crate::methods::sample::bind_sites;
use crate::methods::task::Program;
use crate::{constrain, diagnostics, nodes, rule, unroll};
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::dist::{Support, unconstrained};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// An argument of an observed distribution that is part of `f`.
#[derive(Clone, Debug)]
pub struct OutputPiece {
    /// The name of the argument in the likelihood, such as `0/loc`.
    pub name: Arc<str>,
    /// The support of the argument.
    support: Support,
    /// The type of the argument's unconstrained value.
    pub free: Type,
    /// The index of the argument's first element in `f`.
    at: usize,
}

impl OutputPiece {
    /// Returns the number of elements of `f` that belong to the argument.
    pub fn len(&self) -> usize {
        self.free.shape.count(&Sizes::default())
    }

    /// Returns the name of the argument, and its value in the support. The value is computed from
    /// the unconstrained value `free`.
    pub fn constrained(&self, builder: &mut Builder, free: Value) -> (Arc<str>, Value) {
        let constrained = constrain::constrain(builder, self.support, free);
        (self.name.clone(), constrained.map_or(free, |(value, _)| value))
    }
}

/// The data that all programs of an approximation share.
#[derive(Clone)]
pub struct LaplaceParts<'a> {
    /// The model, its densities, and the approximation of its posterior.
    pub problem: InferenceProblem<'a>,
    /// The plan of each site.
    pub plans: &'a [SitePlan<'a>],
    /// The plans of the sites in the approximation.
    pub weights: Vec<&'a SitePlan<'a>>,
    /// `(states.., shared.., inputs.., outputs..) -> arguments..`: the arguments of the observed
    /// distributions, for one row.
    pub arguments: Function,
    /// The arguments that are part of `f`, in order.
    pub pieces: Vec<OutputPiece>,
    /// The number of elements of `f`.
    pub size: usize,
    /// `(states.., shared.., inputs.., outputs..) -> outputs`: the vector `f` for one row.
    pub outputs: Function,
}

impl<'a> LaplaceParts<'a> {
    /// Finds the outputs `f` and the sites that affect these outputs. Fails if an observation lies
    /// inside a loop, if an argument cannot be transformed onto the reals, or if no moving site
    /// affects `f`.
    pub fn new(
        problem: InferenceProblem<'a>,
        plans: &'a [SitePlan<'a>],
    ) -> Result<LaplaceParts<'a>, RewriteError> {
        let InferenceProblem { densities, model, .. } = problem;
        let arguments = arguments(densities, model, plans);
        let chosen = chosen(&arguments, model, plans);
        let looped = chosen.iter().any(|name| name.starts_with("looped/"));
        if looped {
            let why = format!("`{}` observes inside a loop", model.name);
            return Err(RewriteError::Fault(Fault::Bug(why)));
        }
        let mut pieces = Vec::new();
        let mut size = 0;
        for name in chosen {
            let piece = piece(densities, &arguments, name, size)?;
            size += piece.len();
            pieces.push(piece);
        }
        if pieces.is_empty() {
            return Err(vec![diagnostics::nothing_moves(&model.name)].into());
        }
        let names = pieces.iter().map(|piece| (&*piece.name, piece.support));
        let outputs = joined_arguments("outputs", &arguments, names);
        let moves: Vec<Arc<str>> = dependences(&outputs, PortName::Outputs.text());
        let moved = moved(plans);
        let is_weight = |plan: &&SitePlan<'_>| {
            let state = plan.state();
            moved.iter().any(|name| **name == *state) && moves.iter().any(|name| **name == *state)
        };
        let weights: Vec<&SitePlan<'_>> = plans.iter().filter(is_weight).collect();
        if weights.is_empty() {
            return Err(vec![diagnostics::nothing_moves(&model.name)].into());
        }
        Ok(LaplaceParts {
            problem,
            plans,
            weights,
            arguments,
            pieces,
            size,
            outputs,
        })
    }

    /// Returns the moving sites that are not among the weights.
    pub fn others(&self) -> Vec<&'a SitePlan<'a>> {
        let moved = moved(self.plans);
        let is_other = |plan: &&SitePlan<'_>| {
            let state = plan.state();
            let is_weight = self.weights.iter().any(|weight| weight.state() == state);
            moved.iter().any(|name| **name == *state) && !is_weight
        };
        self.plans.iter().filter(is_other).collect()
    }

    /// Returns the names of those arguments in `f` that the weight affects.
    pub fn moved_by(&self, weight: &SitePlan<'_>) -> Vec<Arc<str>> {
        let state = weight.state();
        let names = self.pieces.iter().map(|piece| &piece.name);
        let is_moved = |name: &&Arc<str>| {
            let depends = dependences(&self.arguments, name);
            depends.iter().any(|on| **on == *state)
        };
        names.filter(is_moved).cloned().collect()
    }

    /// Returns the form of the likelihood.
    pub fn likelihood(&self) -> Likelihood {
        let ([observation], [_]) = (
            &self.problem.densities.observations[..],
            &self.problem.model.outputs[..],
        ) else {
            return Likelihood::Other;
        };
        let [piece] = &self.pieces[..] else {
            return Likelihood::Other;
        };
        let is_first = observation
            .params
            .first()
            .is_some_and(|(name, _)| *piece.name == format!("0/{name}"));
        match is_first && !self.problem.densities.predictive.results.is_empty() {
            true => known::likelihood(observation),
            false => Likelihood::Other,
        }
    }

    /// Splits `f` into its arguments, and transforms each argument onto its support.
    pub fn split(&self, builder: &mut Builder, f: Value) -> Vec<(Arc<str>, Value)> {
        let one = |piece: &OutputPiece| {
            let window = Window::full(1).with(0, piece.at, piece.at + piece.len());
            let part = builder.slice(f, window);
            let part = builder.reshape(part, &piece.free.shape);
            piece.constrained(builder, part)
        };
        self.pieces.iter().map(one).collect()
    }
}

/// Returns the names of the optimised states.
pub fn moved(plans: &[SitePlan<'_>]) -> Vec<Arc<str>> {
    states::optimised(plans)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

/// Begins a function whose parameters are the states, the shared inputs, and the inputs and outputs
/// of one row. Binds the names of these parameters and of the sites.
pub fn of_row(name: &str, model: &Model, plans: &[SitePlan<'_>]) -> Program {
    with_row(Program::new(name), model, plans)
}

/// Adds the parameters of [`of_row`] to a function, and binds the sites.
pub fn with_row(program: Program, model: &Model, plans: &[SitePlan<'_>]) -> Program {
    let mut program = program.states(plans).row(model);
    bind_sites(&mut program.builder, plans, &[], &mut program.scope);
    program
}

fn arguments(densities: &Densities, model: &Model, plans: &[SitePlan<'_>]) -> Function {
    let Program { mut builder, scope } = of_row("arguments", model, plans);
    let results = scope.call(&mut builder, &densities.likelihood_arguments);
    // The function of a loop takes all values in scope as operands, even if it does not use them.
    rule::remove_dead(&unroll::expand_loops(&builder.finish(results)))
}

/// Returns the names of the arguments that are part of `f`, in their order: the arguments that depend
/// on the row and on a moving site, and every other argument that shares a moving site with one of
/// these. The curvature through such a shared site would be incomplete without the other argument.
/// If no argument depends on the row, all arguments that depend on a moving site are part of `f`.
fn chosen(arguments: &Function, model: &Model, plans: &[SitePlan<'_>]) -> Vec<Arc<str>> {
    let moved = moved(plans);
    let of_row = |on: &[Arc<str>]| {
        let mut inputs = model.inputs.iter().chain(&model.outputs);
        inputs.any(|input| on.contains(&input.name))
    };
    let with_dependences = |(name, _): &(Arc<str>, Value)| (name.clone(), dependences(arguments, name));
    let all = arguments.results.iter().map(with_dependences);
    let all = all.filter(|(_, on)| on.iter().any(|on| moved.contains(on)));
    let (mut chosen, mut rest): (Vec<_>, Vec<_>) = all.partition(|(_, on)| of_row(on));
    if chosen.is_empty() {
        return rest.into_iter().map(|(name, _)| name).collect();
    }
    // An argument that joins can bring further sites with it.
    loop {
        let is_shared =
            |on: &Arc<str>| moved.contains(on) && chosen.iter().any(|(_, of_chosen)| of_chosen.contains(on));
        let (shared, apart): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, on)| on.iter().any(is_shared));
        if shared.is_empty() {
            break;
        }
        chosen.extend(shared);
        rest = apart;
    }
    let is_chosen = |name: &Arc<str>| chosen.iter().any(|(found, _)| found == name);
    let names = arguments.results.iter().map(|(name, _)| name);
    names.filter(|name| is_chosen(name)).cloned().collect()
}

fn piece(
    densities: &Densities,
    arguments: &Function,
    name: Arc<str>,
    at: usize,
) -> Result<OutputPiece, Vec<Diagnostic>> {
    let parts = name.split_once('/').and_then(|(number, param)| {
        let observation = densities.observations.get(number.parse::<usize>().ok()?)?;
        Some((observation, param))
    });
    let support = parts.and_then(|(observation, param)| {
        let place = observation
            .params
            .iter()
            .position(|(known, _)| **known == *param)?;
        observation.supports.get(place).copied()
    });
    let Some(value) = arguments.result(&name) else {
        unreachable!("names are those of the results")
    };
    let ty = arguments.ty(value).clone();
    let support = match support.unwrap_or(Support::Real) {
        support @ (Support::Real | Support::Interval(..) | Support::Simplex) => support,
        Support::Ordered | Support::Integers(_) => {
            let param = parts.map_or(&*name, |(_, param)| param);
            return Err(vec![diagnostics::not_linear(
                param,
                support == Some(Support::Ordered),
            )]);
        }
    };
    let free = unconstrained(support, &ty);
    Ok(OutputPiece {
        name,
        support,
        free,
        at,
    })
}

/// Returns the function whose result is one vector of some arguments. Each argument has a name and
/// a support, and is transformed onto the reals.
pub fn joined_arguments<'n>(
    name: &str,
    arguments: &Function,
    chosen: impl Iterator<Item = (&'n str, Support)>,
) -> Function {
    let (mut builder, _, results) = nodes::extended(name, arguments);
    let named = nodes::named(arguments, &results);
    let mut parts = Vec::new();
    for (name, support) in chosen {
        let value = nodes::find(&named, name).unwrap_or(Value(0));
        let free = constrain::free(&mut builder, support, value).unwrap_or(value);
        let size = builder.ty(free).shape.count(&Sizes::default());
        parts.push(builder.reshape(free, &Shape::fixed(&[size])));
    }
    let all = joined(&mut builder, &parts);
    rule::remove_dead(&builder.finish(vec![(PortName::Outputs.into(), all)]))
}

/// Joins vectors.
pub fn joined(builder: &mut Builder, parts: &[Value]) -> Value {
    match parts {
        [only] => *only,
        parts => builder.concat(parts, 0),
    }
}
