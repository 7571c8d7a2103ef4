//! `objective`: the training step of variational inference and of `map`, and the functions that use what it finds.
//!
//! The loss is the negative evidence lower bound of all rows, estimated from the rows of one step:
//! `kl_weight * KL - scale * mean over draws of the sum over rows of log p(row | draw)`.

use super::elements::map_elements;
use super::plan::{self, Plan};
use super::predict;
use super::states;
use crate::batch::{batch, inline_batched};
use crate::density::Densities;
use crate::differentiate::differentiate;
use crate::nodes::{self, Scope};
use crate::pass::Context;
use crate::{pipeline, pipelines, report};
use bnnc_abi::manifest::{SiteReport, State};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::analysis::dataflow::{dependents, needed_by};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{Input, Model, Optimiser, Posterior};
use bnnc_graph::types::Type;
use std::sync::Arc;

/// What a user chooses about training that changes the compiled program.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Moves the parameters.
    pub optimiser: &'a Optimiser,
    /// Draws of the sites per step.
    pub samples: usize,
    /// Draws of the divergences that need draws; 0 takes those of the likelihood.
    pub kl_draws: usize,
    /// Whether every divergence is estimated by draws, even where there is a closed form.
    pub sampled_kl: bool,
}

/// The programs of one infer, ready to be lowered, and what to say about them.
#[derive(Clone, Debug)]
pub struct Objective {
    /// One step; ports as in `bnnc_abi::manifest::Infer`.
    pub train: Function,
    /// Predictions for rows.
    pub predict: Function,
    /// Draws of the sites.
    pub sites: Function,
    /// Parameters and optimiser states.
    pub states: Vec<State>,
    /// How each site is approximated.
    pub reports: Vec<SiteReport>,
    /// Nodes of the loss that a gradient flows through.
    pub gradient_nodes: usize,
    /// Scalars among the sites.
    pub parameters: usize,
    /// Scalars that the optimiser moves.
    pub variational_parameters: usize,
}

/// Why there is no objective.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The program asks for what cannot be.
    Program(Vec<Diagnostic>),
    /// A limit or a bug of ours.
    Fault(Fault),
}

impl From<Vec<Diagnostic>> for Refusal {
    fn from(diagnostics: Vec<Diagnostic>) -> Refusal {
        Refusal::Program(diagnostics)
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        match fault {
            Fault::Limit(why) => Refusal::Program(vec![report::error(&report::NO_DERIVATIVE, why)]),
            Fault::Bug(_) => Refusal::Fault(fault),
        }
    }
}

/// The functions of variational inference with `posterior`, and of `map` where its families are points.
pub fn objective(
    densities: &Densities,
    model: &Model,
    posterior: &Posterior,
    settings: Settings<'_>,
    context: &mut Context,
) -> Result<Objective, Refusal> {
    let sampled = settings.sampled_kl || context.without.iter().any(|name| name == pipelines::EXACT_KL);
    let plans = plan::plans(densities, model, posterior, sampled)?;
    let task = Task {
        densities,
        model,
        plans: &plans,
        settings,
    };
    let loss = pipeline::run(&task.loss(context)?, pipelines::BEFORE_DERIVATIVE, context)?;
    let gradient_nodes = gradient_nodes(&loss, &plans);
    let train = pipeline::run(&task.step(&loss)?, pipelines::BEFORE_LOWERING, context)?;
    let predict = predict::predict(densities, model, &plans);
    let sites = predict::sites(&plans);
    Ok(Objective {
        train,
        predict: pipeline::run(&predict, pipelines::BEFORE_LOWERING, context)?,
        sites: pipeline::run(&sites, pipelines::BEFORE_LOWERING, context)?,
        states: states::states(&plans, settings.optimiser),
        reports: states::reports(&plans),
        gradient_nodes,
        parameters: model.sites.iter().map(|site| count(&site.ty.shape)).sum(),
        variational_parameters: states::optimised(&plans)
            .iter()
            .map(|(_, shape)| count(shape))
            .sum(),
    })
}

fn count(shape: &Shape) -> usize {
    shape.count(&bnnc_base::shape::Sizes::default())
}

/// How many nodes of the loss lie on a path from a parameter that moves.
fn gradient_nodes(loss: &Function, plans: &[Plan<'_>]) -> usize {
    let moved: Vec<Value> = states::optimised(plans)
        .iter()
        .filter_map(|(name, _)| loss.param(name))
        .collect();
    let results: Vec<Value> = loss.results.iter().map(|(_, value)| *value).collect();
    let needed = needed_by(loss, &results);
    dependents(loss, &moved)
        .into_iter()
        .filter(|value| needed.contains(value) && loss.op(*value).is_some())
        .count()
}

/// Whether a parameter of a row function belongs to the example.
pub(super) fn is_of_row(model: &Model, name: &str) -> bool {
    model
        .inputs
        .iter()
        .chain(&model.outputs)
        .any(|input| &*input.name == name)
}

/// Adds the data ports: shared inputs as they are, inputs and outputs of many examples.
pub(super) fn bind_data(builder: &mut Builder, model: &Model, scope: &mut Scope) {
    let mut bind = |input: &Input, ty: Type| {
        let value = builder.param(&input.name, ty);
        scope.set(&input.name, value);
    };
    for input in &model.shared {
        bind(input, input.ty.clone());
    }
    for input in model.inputs.iter().chain(&model.outputs) {
        bind(
            input,
            input
                .ty
                .with_shape(input.ty.shape.prepend(Dim::Symbol(Symbol::Batch))),
        );
    }
}

/// Adds scalar ports.
pub(super) fn bind_scalars(builder: &mut Builder, scope: &mut Scope, ty: &Type, names: &[&str]) {
    for name in names {
        let value = builder.param(name, ty.clone());
        scope.set(name, value);
    }
}

/// What the parts of an objective are made from.
struct Task<'a> {
    densities: &'a Densities,
    model: &'a Model,
    plans: &'a [Plan<'a>],
    settings: Settings<'a>,
}

impl Task<'_> {
    /// `(states.., data.., step, scale, kl_weight) -> loss`.
    fn loss(&self, context: &mut Context) -> Result<Function, Fault> {
        let mut builder = Builder::new("loss");
        let mut scope = Scope::default();
        plan::bind_states(&mut builder, self.plans, &mut scope);
        bind_data(&mut builder, self.model, &mut scope);
        bind_scalars(&mut builder, &mut scope, &Type::int(Shape::scalar()), &["step"]);
        bind_scalars(&mut builder, &mut scope, &Type::scalar(), &["scale", "kl_weight"]);
        let own_draws = self.settings.kl_draws > 0;
        let per_draw = self.per_draw(!own_draws, context)?;
        let mut terms = self.mean_over(
            &mut builder,
            &per_draw,
            &mut scope,
            Symbol::Draws,
            self.settings.samples,
        );
        if own_draws {
            let per_draw = self.divergence_per_draw();
            let kl_draws = self.settings.kl_draws;
            terms.extend(self.mean_over(&mut builder, &per_draw, &mut scope, Symbol::KlDraws, kl_draws));
        }
        let mut divergence = self.fixed_divergence(&mut builder, &scope);
        let mut log_likelihood = builder.real(0.0);
        for (name, value) in terms {
            match &*name {
                "log_likelihood" => log_likelihood = value,
                _ => divergence = builder.add(divergence, value),
            }
        }
        let weighted = builder.mul(scope.get("kl_weight"), divergence);
        let scaled = builder.mul(scope.get("scale"), log_likelihood);
        let loss = builder.sub(weighted, scaled);
        Ok(builder.finish(vec![("loss".into(), loss)]))
    }

    /// Calls a function of one draw for `count` draws and takes the means of its results. One draw needs no axis, and
    /// neither does a result that is the same for all.
    fn mean_over(
        &self,
        builder: &mut Builder,
        per_draw: &Function,
        scope: &mut Scope,
        symbol: Symbol,
        count: usize,
    ) -> Vec<(Arc<str>, Value)> {
        if count <= 1 {
            let first = builder.int(0);
            scope.set("draw", first);
            return scope.call(builder, per_draw);
        }
        let dim = Dim::Symbol(symbol);
        let draws = builder.iota(dim);
        scope.set("draw", draws);
        let is_draw = |param: &Value| nodes::param_name(per_draw, *param) == "draw";
        let mapped: Vec<bool> = per_draw.params.iter().map(is_draw).collect();
        let results = inline_batched(builder, per_draw, &scope.arguments(per_draw), &mapped, dim);
        let means: Vec<Value> = results
            .into_iter()
            .map(|(value, is_mapped)| {
                if is_mapped {
                    nodes::mean_leading(builder, value)
                } else {
                    value
                }
            })
            .collect();
        nodes::named(per_draw, &means)
    }

    /// `(states.., data.., draw, step) -> log_likelihood` of the rows, and `kl` where it is taken from the same draws.
    fn per_draw(&self, with_divergence: bool, context: &mut Context) -> Result<Function, Fault> {
        let (mut builder, mut scope) = self.start_draw();
        bind_data(&mut builder, self.model, &mut scope);
        let drawn = self.draw_sites(&mut builder, &mut scope, "");
        let row = &self.densities.row_log_likelihood;
        // The graph of one example is simplified before it is repeated, while it is small.
        let row = pipeline::run(row, pipelines::BEFORE_DERIVATIVE, context)?;
        let mapped: Vec<bool> = row
            .params
            .iter()
            .map(|param| is_of_row(self.model, nodes::param_name(&row, *param)))
            .collect();
        let rows = batch(&row, &mapped, Dim::Symbol(Symbol::Batch));
        let terms = scope.call(&mut builder, &rows)[0].1;
        let mut results = vec![("log_likelihood".into(), builder.reduce_sum(terms, &[0]))];
        if with_divergence {
            results.extend(
                self.drawn_divergence(&mut builder, &scope, &drawn)
                    .map(|kl| ("kl".into(), kl)),
            );
        }
        Ok(builder.finish(results))
    }

    /// `(states.., shared.., draw, step) -> kl`, with draws of its own.
    fn divergence_per_draw(&self) -> Function {
        let (mut builder, mut scope) = self.start_draw();
        bind_data(&mut builder, self.model, &mut scope);
        let drawn = self.draw_sites(&mut builder, &mut scope, "kl/");
        let divergence = self.drawn_divergence(&mut builder, &scope, &drawn);
        builder.finish(divergence.map(|kl| ("kl".into(), kl)).into_iter().collect())
    }

    fn start_draw(&self) -> (Builder, Scope) {
        let mut builder = Builder::new("draw");
        let mut scope = Scope::default();
        plan::bind_states(&mut builder, self.plans, &mut scope);
        bind_scalars(
            &mut builder,
            &mut scope,
            &Type::int(Shape::scalar()),
            &["draw", "step"],
        );
        (builder, scope)
    }

    /// Draws every site and binds it by name.
    fn draw_sites(&self, builder: &mut Builder, scope: &mut Scope, stream: &str) -> Vec<plan::Drawn> {
        let all_examples = builder.int(0);
        let coordinates = [scope.get("draw"), all_examples, scope.get("step")];
        let drawn: Vec<plan::Drawn> = self
            .plans
            .iter()
            .map(|plan| plan.draw(builder, scope, coordinates, stream))
            .collect();
        for site in &drawn {
            scope.set(&site.site, site.value);
        }
        drawn
    }

    fn drawn_divergence(&self, builder: &mut Builder, scope: &Scope, drawn: &[plan::Drawn]) -> Option<Value> {
        let mut log_priors = Scope::default();
        log_priors.extend(scope.call(builder, &self.densities.log_priors));
        let mut sum = None;
        for (plan, drawn) in self.plans.iter().zip(drawn) {
            let log_prior = log_priors.get(&plan.site.name);
            let Some(term) = plan.drawn_divergence(builder, scope, drawn, log_prior) else {
                continue;
            };
            sum = Some(sum.map_or(term, |sum| builder.add(sum, term)));
        }
        sum
    }

    /// What of the divergence needs no draw. Prior parameters that depend on sites are not used by exact terms, so the
    /// sites that they name may stand for anything.
    fn fixed_divergence(&self, builder: &mut Builder, scope: &Scope) -> Value {
        let function = &self.densities.prior_arguments;
        let mut with_sites = scope.clone();
        for param in &function.params {
            if self
                .model
                .sites
                .iter()
                .any(|site| &*site.name == nodes::param_name(function, *param))
            {
                let placeholder = builder.constant(function.ty(*param), f64::NAN);
                with_sites.set(nodes::param_name(function, *param), placeholder);
            }
        }
        let mut arguments = Scope::default();
        arguments.extend(with_sites.call(builder, function));
        let mut sum = builder.real(0.0);
        for plan in self.plans {
            if let Some(term) = plan.fixed_divergence(builder, scope, &arguments) {
                sum = builder.add(sum, term);
            }
        }
        sum
    }

    /// The loss, its gradient and the optimiser's update of every state that moves.
    fn step(&self, loss: &Function) -> Result<Function, Fault> {
        let mut builder = Builder::new("train");
        let mut scope = Scope::default();
        plan::bind_states(&mut builder, self.plans, &mut scope);
        let moved = states::optimised(self.plans);
        let optimiser = self.settings.optimiser;
        for (name, shape) in &moved {
            for (state, _) in &optimiser.states {
                let name = format!("{name}/{state}");
                let value = builder.param(&name, Type::real(shape.clone()));
                scope.set(&name, value);
            }
        }
        bind_data(&mut builder, self.model, &mut scope);
        bind_scalars(
            &mut builder,
            &mut scope,
            &Type::int(Shape::scalar()),
            &["iteration", "step"],
        );
        bind_scalars(
            &mut builder,
            &mut scope,
            &Type::scalar(),
            &["rate", "scale", "kl_weight"],
        );
        let value = scope.call(&mut builder, loss)[0].1;
        let wrt: Vec<Value> = moved.iter().map(|(name, _)| scope.get(name)).collect();
        let gradients = differentiate(&mut builder, value, &wrt)?;
        let mut results = vec![("loss".into(), value)];
        for ((name, shape), gradient) in moved.iter().zip(gradients) {
            results.extend(update(&mut builder, optimiser, &scope, (name, shape), gradient));
        }
        Ok(builder.finish(results))
    }
}

/// The next values of one parameter and of its optimiser states, under their names.
fn update(
    builder: &mut Builder,
    optimiser: &Optimiser,
    scope: &Scope,
    (name, shape): (&str, &Shape),
    gradient: Value,
) -> Vec<(Arc<str>, Value)> {
    let is_state = |param: &str| optimiser.states.iter().any(|(state, _)| &**state == param);
    let function = &optimiser.update;
    let per_element = |param: &Value| {
        let param = nodes::param_name(function, *param);
        matches!(param, "gradient" | "parameter") || is_state(param)
    };
    let mapped: Vec<bool> = function.params.iter().map(per_element).collect();
    let for_shape = map_elements(function, &mapped, shape);
    let mut arguments = Scope::default();
    arguments.set("gradient", gradient);
    arguments.set("parameter", scope.get(name));
    arguments.set("rate", scope.get("rate"));
    let iteration = builder.to_real(scope.get("iteration"));
    arguments.set("iteration", iteration);
    for (state, _) in &optimiser.states {
        arguments.set(state, scope.get(&format!("{name}/{state}")));
    }
    let parameter = scope.get(name);
    let mut next = Vec::new();
    for (result, value) in arguments.call(builder, &for_shape) {
        next.push(match &*result {
            "step" => (name.into(), builder.add(parameter, value)),
            state => (format!("{name}/{state}").into(), value),
        });
    }
    next
}
