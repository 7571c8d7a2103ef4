//! `objective`: the training step of variational inference and of `map`, and the functions that use the trained states.
//!
//! The loss is the negative evidence lower bound of all rows. It is estimated from the rows of one step:
//! `kl_weight * KL - scale * E`, where `E` is the sum of `log p(row | draw)` over the rows, averaged over the draws.

mod elements;
pub mod prune;
mod update;

use super::divergence::PerDraw;
use super::likelihood::{Likelihood, likelihood};
use super::plan::{self, InferenceProblem, SitePlan};
use super::task::{RewriteError, Task, TrainingSettings, gradient_nodes};
use super::{mix, positions, predict, states};
use crate::batch::inline_batched;
use crate::differentiate::differentiate;
use crate::methods::task::Program;
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::rule::remove_dead;
use crate::{constrain, kl, parallel, pipeline, pipelines};
use bnnc_abi::manifest::{SiteReport, State};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_graph::analysis::dataflow;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use std::collections::HashSet;
use std::sync::Arc;
use update::{clip, update};

/// The programs of one inference run, ready to be lowered, with the reports on its sites.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The program of one training step. It has the ports that `bnnc_abi::manifest::InferenceBlock` declares.
    pub train: Function,
    /// The program of the loss and its gradient, if requested. It has the ports that `bnnc_abi::manifest::Train` declares.
    pub gradient: Option<Function>,
    /// The program `(states.., data.., step) -> NAME/mean..`, if it was requested and the model has running means. It computes the means over
    /// the rows of one call, which replace the stored running means `NAME`.
    pub means: Option<Function>,
    /// True if the loss for the same rows varies from step to step, because it uses posterior draws or random masks.
    pub has_noise: bool,
    /// Predictions for rows.
    pub predict: Function,
    /// Draws of the sites.
    pub sites: Function,
    /// Parameters and optimiser states.
    pub states: Vec<State>,
    /// A report on the approximation of each site.
    pub reports: Vec<SiteReport>,
    /// The number of nodes in the loss through which a gradient flows.
    pub gradient_nodes: usize,
    /// The number of scalars in all sites.
    pub parameters: usize,
    /// The number of scalars that the optimiser updates.
    pub variational_parameters: usize,
}

/// Builds the programs that train `posterior` by variational inference, or by `map` if its families are points.
pub fn objective(
    problem: InferenceProblem<'_>,
    settings: TrainingSettings<'_>,
    context: &mut PassContext,
) -> Result<Objective, RewriteError> {
    let InferenceProblem {
        densities,
        model,
        posterior,
    } = problem;
    let plans = plan::plans(problem, settings.kl, context)?;
    context
        .warnings
        .extend(plans.iter().filter_map(SitePlan::warning));
    let mixed = settings.mixes.then(|| mix::model(model));
    let task = Task {
        model: mixed.as_ref().unwrap_or(model),
        plans: &plans,
        settings,
    };
    let mut likelihood = pipeline::step(&pipelines::ESTIMATORS, context, |context| {
        let outside = positions::outside_of_row(densities, model);
        likelihood(densities, &plans, (settings.layers, outside), context)
    })?;
    if settings.mixes {
        likelihood.mix(model);
    }
    let divergence = task.announced_divergence(context)?;
    let loss = pipeline::step(&pipelines::LOSS, context, |_| task.loss(&likelihood, &divergence))?;
    let loss = pipeline::run(&loss, pipelines::BEFORE_DERIVATIVE, context)?;
    let gradient_nodes = gradient_nodes(&loss, &plans);
    let variational_parameters = states::optimised(&plans)
        .iter()
        .map(|(_, shape)| count(shape))
        .sum();
    let (train, further) = parallel::both(
        context,
        |context| {
            let train = pipeline::step(&pipelines::UPDATE, context, |_| task.step(&loss))?;
            Ok(pipeline::run(&train, pipelines::BEFORE_LOWERING, context)?)
        },
        |context| {
            let sources = Sources {
                problem,
                likelihood: &likelihood,
                loss: &loss,
                variational_parameters,
            };
            let mut further = task.further(&sources, context)?;
            further.reports = task.reports(&divergence, &likelihood)?;
            Ok::<_, RewriteError>(further)
        },
    )?;
    Ok(Objective {
        train,
        gradient: further.gradient,
        means: further.means,
        has_noise: has_noise(&loss),
        predict: further.predict,
        sites: further.sites,
        states: states::states(&plans, settings.optimiser, settings.online)
            .into_iter()
            .chain(states::running(model, posterior))
            .collect(),
        reports: further.reports,
        gradient_nodes,
        parameters: model.sites.iter().map(|site| count(&site.ty.shape)).sum(),
        variational_parameters,
    })
}

/// The inputs of the functions that do not train.
struct Sources<'a> {
    problem: InferenceProblem<'a>,
    likelihood: &'a Likelihood,
    loss: &'a Function,
    variational_parameters: usize,
}

/// The functions of an objective except the training step, and the reports.
struct Further {
    gradient: Option<Function>,
    means: Option<Function>,
    predict: Function,
    sites: Function,
    reports: Vec<SiteReport>,
}

fn count(shape: &Shape) -> usize {
    shape.count(&bnnc_base::shape::Sizes::default())
}

/// Returns whether a loss depends on the number of the step. Only noise uses this number.
fn has_noise(loss: &Function) -> bool {
    let step = loss.param(PortName::Step.text()).into_iter().collect::<Vec<_>>();
    let noisy = dataflow::dependents(loss, &step);
    loss.results.iter().any(|(_, value)| noisy.contains(value))
}

impl Task<'_> {
    /// Returns the functions that use the trained states, without reports.
    fn further(&self, sources: &Sources<'_>, context: &mut PassContext) -> Result<Further, RewriteError> {
        // A descent evaluates the rows in blocks, so running means would be computed separately for
        // each block.
        let has_means = !sources.problem.model.running.is_empty();
        let most = self.settings.gradient.filter(|_| !has_means);
        let gradient = match most.is_some_and(|most| sources.variational_parameters <= most) {
            true => {
                let gradient =
                    pipeline::step(&pipelines::GRADIENT, context, |_| self.gradient(sources.loss))?;
                Some(pipeline::run(&gradient, pipelines::BEFORE_LOWERING, context)?)
            }
            false => None,
        };
        let means = match self.settings.means && has_means {
            true => {
                let means = |_: &mut PassContext| self.means(sources.likelihood);
                let means = pipeline::step(&pipelines::RUNNING_MEANS, context, means)?;
                Some(pipeline::run(&means, pipelines::BEFORE_LOWERING, context)?)
            }
            false => None,
        };
        let predict = pipeline::step(&pipelines::PREDICT, context, |_| {
            Ok::<_, Fault>(predict::predict(
                sources.problem.densities,
                sources.problem.model,
                self.plans,
            ))
        })?;
        let sites = pipeline::step(&pipelines::SITES, context, |_| {
            Ok::<_, Fault>(predict::sites(self.plans))
        })?;
        Ok(Further {
            gradient,
            means,
            predict: pipeline::run(&predict, pipelines::BEFORE_LOWERING, context)?,
            sites: pipeline::run(&sites, pipelines::BEFORE_LOWERING, context)?,
            reports: Vec::new(),
        })
    }

    /// Returns a report on the approximation of each site.
    fn reports(&self, divergence: &PerDraw, likelihood: &Likelihood) -> Result<Vec<SiteReport>, Fault> {
        let mut reports = states::reports(self.plans, &divergence.choices, &likelihood.sentences)?;
        if !self.model.running.is_empty() {
            let together = "; the rows of a step share their means, so they are not independent";
            reports
                .iter_mut()
                .for_each(|report| report.likelihood += together);
        }
        Ok(reports)
    }

    /// Returns `(states.., data.., step, scale, kl_weight) -> loss`. If the prior is tuned, the weighted divergence term is another result,
    /// `divergence`. If positions are counted, the number of positions outside their axes is a result, `outside`. The means over the rows of the step
    /// are the last results.
    fn loss(&self, likelihood: &Likelihood, divergence: &PerDraw) -> Result<Function, Fault> {
        let Program {
            mut builder,
            mut scope,
        } = Program::new("loss")
            .states(self.plans)
            .data(self.model)
            .integers(&[PortName::Step])
            .reals(&[PortName::Scale, PortName::KlWeight]);
        let per_draw = self.likelihood_per_draw(likelihood)?;
        let samples = self.settings.samples;
        let terms = self.mean_over(&mut builder, &per_draw, &mut scope, Symbol::Draws, samples);
        let log_likelihood = terms[0].1;
        let mut divergence = self.divergence_term(&mut builder, &mut scope, divergence);
        if self.settings.jacobians {
            divergence = self.less_jacobians(&mut builder, &scope, divergence);
        }
        if let Some((log_prior, factor)) = self.settings.scaled {
            let own = scope.call(&mut builder, log_prior)[0].1;
            let excess = builder.like(*factor - 1.0, own);
            let excess = builder.mul(excess, own);
            divergence = builder.sub(divergence, excess);
        }
        let weighted = builder.mul(scope.get(PortName::KlWeight.text()), divergence);
        let scaled = builder.mul(scope.get(PortName::Scale.text()), log_likelihood);
        let loss = builder.sub(weighted, scaled);
        let mut results = vec![(PortName::Loss.into(), loss)];
        if self.settings.online {
            results.push((PortName::Divergence.into(), weighted));
        }
        results.extend(terms.into_iter().skip(1));
        Ok(builder.finish(results))
    }

    /// Returns `(states.., data.., step) -> NAME/mean..`: for each running mean, the mean over the rows of one
    /// call.
    fn means(&self, likelihood: &Likelihood) -> Result<Function, Fault> {
        let mut per_draw = self.likelihood_per_draw(likelihood)?;
        let names: Vec<String> = (self.model.running.iter())
            .map(|mean| PortName::Mean.of(&mean.name))
            .collect();
        per_draw
            .results
            .retain(|(name, _)| names.iter().any(|own| **own == **name));
        let Program {
            mut builder,
            mut scope,
        } = Program::new("means")
            .states(self.plans)
            .data(self.model)
            .integers(&[PortName::Step]);
        let samples = self.settings.samples;
        let results = self.mean_over(&mut builder, &per_draw, &mut scope, Symbol::Draws, samples);
        let means = remove_dead(&builder.finish(results));
        Ok(nodes::with_params(&means, &HashSet::new()))
    }

    /// Returns `divergence` minus the log determinants of the Jacobians of the optimised points.
    fn less_jacobians(&self, builder: &mut Builder, scope: &Scope, mut divergence: Value) -> Value {
        let moved = states::optimised(self.plans);
        for plan in self.plans.iter().filter(|plan| kl::is_point(plan.posterior)) {
            let state = plan.state();
            if !moved.iter().any(|(name, _)| **name == *state) {
                continue;
            }
            if let Some((_, jacobian)) = constrain::constrain(builder, plan.site.support, scope.get(&state)) {
                divergence = builder.sub(divergence, jacobian);
            }
        }
        divergence
    }

    /// Calls a function of one draw for `count` draws, and returns the mean of each result. If only one draw is needed, or if a result is the same
    /// for all draws, no axis of draws is added.
    pub(super) fn mean_over(
        &self,
        builder: &mut Builder,
        per_draw: &Function,
        scope: &mut Scope,
        symbol: Symbol,
        count: usize,
    ) -> Vec<(Arc<str>, Value)> {
        if count <= 1 {
            let first = builder.int(0);
            scope.set(PortName::Draw.text(), first);
            return scope.call(builder, per_draw);
        }
        let dim = Dim::Symbol(symbol);
        let draws = builder.iota(dim);
        scope.set(PortName::Draw.text(), draws);
        let mapped = nodes::named_params(per_draw, |name| name == PortName::Draw.text());
        let results = inline_batched(builder, per_draw, &scope.arguments(per_draw), &mapped, dim);
        let means: Vec<Value> = results.into_iter().map(|result| result.mean(builder)).collect();
        nodes::named(per_draw, &means)
    }

    /// Returns `(states.., data.., step, scale, kl_weight) -> loss, STATE/gradient..`, with a gradient for every optimised state.
    fn gradient(&self, loss: &Function) -> Result<Function, Fault> {
        let (mut builder, _, values) = nodes::extended("gradient", loss);
        let value = values[0];
        let moved = states::optimised(self.plans);
        // The results contain a gradient only for states that are parameters of the loss.
        let moved: Vec<(Arc<str>, Value)> = moved
            .into_iter()
            .filter_map(|(name, _)| Some((name.clone(), builder.function().param(&name)?)))
            .collect();
        let wrt: Vec<Value> = moved.iter().map(|(_, value)| *value).collect();
        let gradients = differentiate(&mut builder, value, &wrt)?;
        let named = moved.iter().zip(gradients);
        let named = named.map(|((name, _), gradient)| (PortName::Gradient.of(name).into(), gradient));
        let results = std::iter::once((PortName::Loss.into(), value))
            .chain(named)
            .collect();
        Ok(builder.finish(results))
    }

    /// Returns the loss, the update of every optimised state and of every running mean and, if positions are counted, the number `outside`.
    fn step(&self, loss: &Function) -> Result<Function, Fault> {
        let moved = states::optimised(self.plans);
        let optimiser = self.settings.optimiser;
        let mut program = Program::new("train").states(self.plans);
        for (name, shape) in &moved {
            let own = optimiser
                .states
                .iter()
                .map(|(state, _)| format!("{name}/{state}"));
            let tuned = self.settings.online.then(|| states::tuned(name));
            for name in own.chain(tuned.into_iter().flatten()) {
                program = program.param(&name, Type::real(shape.clone()));
            }
        }
        let Program { mut builder, scope } = program
            .data(self.model)
            .integers(&[PortName::Iteration, PortName::Step])
            .reals(&[PortName::Rate, PortName::Scale, PortName::KlWeight]);
        let terms = scope.call(&mut builder, loss);
        let value = terms[0].1;
        let wrt: Vec<Value> = moved.iter().map(|(name, _)| scope.get(name)).collect();
        let mut gradients = differentiate(&mut builder, value, &wrt)?;
        let of_name = |name: &str| nodes::find(&terms, name);
        if let Some(divergence) = of_name(PortName::Divergence.text()) {
            let of_prior = differentiate(&mut builder, divergence, &wrt)?;
            let names = moved.iter().map(|(name, _)| name);
            for ((name, gradient), own) in names.zip(&mut gradients).zip(of_prior) {
                let [factor, slope] = states::tuned(name).map(|name| scope.get(&name));
                let one = builder.like(1.0, factor);
                let excess = builder.sub(factor, one);
                let excess = builder.mul(excess, own);
                let changed = builder.add(*gradient, excess);
                // The evidence is added to the objective. The loss is minus the objective, so the slope of the evidence is subtracted.
                *gradient = builder.sub(changed, slope);
            }
        }
        if self.settings.clips {
            let most = builder.param(PortName::Clip.text(), Type::scalar());
            clip(&mut builder, &mut gradients, most);
        }
        let mut results = vec![(PortName::Loss.into(), value)];
        results.extend(of_name(PortName::Outside.text()).map(|outside| (PortName::Outside.into(), outside)));
        for ((name, shape), gradient) in moved.iter().zip(gradients) {
            results.extend(update(&mut builder, optimiser, &scope, (name, shape), gradient));
        }
        for running in &self.model.running {
            if let Some(mean) = of_name(&PortName::Mean.of(&running.name)) {
                let stored = scope.get(&running.name);
                let change = builder.sub(mean, stored);
                let change = builder.scale(change, running.momentum);
                results.push((running.name.clone(), builder.add(stored, change)));
            }
        }
        Ok(builder.finish(results))
    }
}
