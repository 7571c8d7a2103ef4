//! `sampled`: the functions that samplers evaluate at a position. Positions lie on the
//! unconstrained scale.
//!
//! A position has one tensor for each moving site (a site that is not fixed); fixed sites keep
//! their states. The log density is
//! `log prior + log Jacobian + scale * sum over rows of log p(row)`.

pub mod hoist;
mod jumps;
pub mod noncentre;

use super::plan::{self, InferenceProblem, SitePlan};
use super::task::{RewriteError, gradient_nodes, is_of_row};
use super::{plausible, predict, states};
use crate::batch::batch_named;
use crate::differentiate::differentiate;
use crate::methods::task::Program;
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::{constrain, diagnostics, kl, pipeline, pipelines};
use bnnc_abi::manifest::{PriorReport, SiteReport, State};
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::analysis::dataflow;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{FamilyStart, Model};
use bnnc_graph::types::Type;
use hoist::hoist;
use std::sync::Arc;

/// The programs of one sampling run. The programs have the ports that
/// `bnnc_abi::methods::sampling::Sampling` declares.
#[derive(Clone, Debug)]
pub struct SamplingPrograms {
    /// Computes the values in `density` and `rows` that stay constant during sampling. `None` if no
    /// such value is worth computing beforehand.
    pub prepare: Option<Function>,
    /// The log density and its gradient.
    pub density: Function,
    /// The log-likelihood of each row.
    pub rows: Function,
    /// Predictions for rows at many positions.
    pub predict: Function,
    /// The values of the sites at many positions, on the declared scale.
    pub sites: Function,
    /// The states, one per site.
    pub states: Vec<State>,
    /// The names of the moving states.
    pub moved: Vec<Arc<str>>,
    /// The reports, one per site.
    pub reports: Vec<SiteReport>,
    /// The indices in `reports` of the sites with a non-centred parameterisation.
    pub noncentred: Vec<usize>,
    /// The moving sites whose values affect a comparison or a rounding in the model.
    pub jumps: Vec<Arc<str>>,
    /// The sites that are sampled in the centred parameterisation, although they have a non-centred
    /// one and the scale of their prior is itself a parameter.
    pub centred: Vec<Arc<str>>,
    /// The number of nodes in the log density through which a gradient flows.
    pub gradient_nodes: usize,
    /// The number of scalars in all sites.
    pub parameters: usize,
    /// The dimension of a position.
    pub dimension: usize,
    /// The function `density` before it was prepared for lowering.
    whole: Function,
}

impl SamplingPrograms {
    /// Returns a program that computes the log density and its gradient at many positions in
    /// lockstep. Each moving state and each result has an additional first axis of draws.
    ///
    /// # Errors
    /// Fails only if a pass has a bug.
    pub fn lockstep(&self, context: &mut PassContext) -> Result<Function, Fault> {
        let function = pipeline::step(&pipelines::LOCKSTEP, context, |_| {
            Ok::<_, Fault>(predict::over_draws("density", &self.whole, &self.moved))
        })?;
        pipeline::run(&function, pipelines::BEFORE_LOWERING, context)
    }
}

/// Programs for positions that do not come from a sampler.
#[derive(Clone, Debug)]
pub struct PositionPrograms {
    /// Predictions for rows at many positions.
    pub predict: Function,
    /// The values of the sites at many positions, on the declared scale.
    pub sites: Function,
    /// The names of the moving states.
    pub moved: Vec<Arc<str>>,
    /// One report per site.
    pub reports: Vec<SiteReport>,
}

/// Returns the programs that compute predictions and sites of `model` at many positions. In
/// `posterior`, every site of the model is a point. Each position has its own running means.
///
/// # Errors
/// Fails if the values of a site cannot be transformed to the reals.
pub fn positions(
    problem: InferenceProblem<'_>,
    context: &mut PassContext,
) -> Result<PositionPrograms, RewriteError> {
    let plans = plan::plans(problem, kl::KlOptions::default(), context)?;
    let moved = states::optimised(&plans);
    let moved: Vec<Arc<str>> = moved.into_iter().map(|(name, _)| name).collect();
    let drawn = with_means(&moved, problem.model);
    let (predict, sites) = at_draws(problem, &plans, &drawn, context)?;
    Ok(PositionPrograms {
        predict,
        sites,
        moved,
        reports: Task {
            problem,
            plans: &plans,
            noncentred: &[],
        }
        .reports(),
    })
}

/// Returns the programs that sample the posterior of `model`. In `posterior`, every site of the
/// model is a point. The sampler either moves it or keeps it fixed. The sites in `noncentred` use
/// the non-centred parameterisation.
///
/// # Errors
/// Fails if an op does not have a derivative, or if a site in `noncentred` does not have a
/// non-centred parameterisation.
pub fn sampled(
    problem: InferenceProblem<'_>,
    noncentred: &[Arc<str>],
    context: &mut PassContext,
) -> Result<SamplingPrograms, RewriteError> {
    let plans = plan::plans(problem, kl::KlOptions::default(), context)?;
    let declined = context.declines(&pipelines::NONCENTRE);
    let noncentred = if declined { &[] } else { noncentred };
    check(&plans, noncentred)?;
    let task = Task {
        problem,
        plans: &plans,
        noncentred,
    };
    let (prepare, rows) = task.apart(context)?;
    let density = pipeline::step(&pipelines::LOG_DENSITY, context, |_| {
        Ok::<_, Fault>(density(&rows))
    })?;
    let density = pipeline::run(&density, pipelines::BEFORE_DERIVATIVE, context)?;
    let gradient_nodes = gradient_nodes(&density, &plans);
    let whole = pipeline::step(&pipelines::GRADIENT, context, |_| task.with_gradient(&density))?;
    let mut lowered = |function: &Function| pipeline::run(function, pipelines::BEFORE_LOWERING, context);
    let moved = states::optimised(&plans);
    let names: Vec<Arc<str>> = moved.iter().map(|(name, _)| name.clone()).collect();
    let count = |shape: &Shape| shape.count(&Sizes::default());
    let prepare = prepare.map(|prepare| lowered(&prepare)).transpose()?;
    let (lowered_density, rows) = (lowered(&whole)?, lowered(&rows)?);
    let (predict, sites) = task.at_draws(&names, context)?;
    Ok(SamplingPrograms {
        prepare,
        density: lowered_density,
        rows,
        predict,
        sites,
        states: states::parameters(&plans),
        dimension: moved.iter().map(|(_, shape)| count(shape)).sum(),
        moved: names,
        reports: task.reports(),
        noncentred: (0..plans.len())
            .filter(|at| task.is_noncentred(&plans[*at]))
            .collect(),
        jumps: plans
            .iter()
            .filter(|plan| moves(plan) && jumps::may_jump(problem.densities, &plan.site.name))
            .map(|plan| plan.site.name.clone())
            .collect(),
        centred: plans
            .iter()
            .filter(|plan| is_centred(plan, &plans) && !task.is_noncentred(plan))
            .map(|plan| plan.site.name.clone())
            .collect(),
        gradient_nodes,
        whole,
        parameters: problem.model.sites.iter().map(|site| count(&site.ty.shape)).sum(),
    })
}

/// Returns the names of the moving states, followed by those of the running means.
pub(super) fn with_means(moved: &[Arc<str>], model: &Model) -> Vec<Arc<str>> {
    let means = model.running.iter().map(|mean| &mean.name);
    moved.iter().chain(means).cloned().collect()
}

/// Returns two programs: the predictions for rows, and the values of the sites. The states in
/// `drawn` have one value per draw; all other states have one value for all draws. Both programs
/// are ready to be lowered.
///
/// # Errors
/// Fails only if a pass has a bug.
pub fn at_draws(
    problem: InferenceProblem<'_>,
    plans: &[SitePlan<'_>],
    drawn: &[Arc<str>],
    context: &mut PassContext,
) -> Result<(Function, Function), Fault> {
    let task = Task {
        problem,
        plans,
        noncentred: &[],
    };
    task.at_draws(drawn, context)
}

/// Checks that every name is a site that is not fixed and has a non-centred parameterisation.
fn check(plans: &[SitePlan<'_>], noncentred: &[Arc<str>]) -> Result<(), Vec<Diagnostic>> {
    let rejection = |name: &Arc<str>| {
        let plan = plans.iter().find(|plan| *plan.site.name == **name);
        match plan {
            Some(plan) => noncentre::rejection(plan.site, plan.prior, moves(plan)),
            None => {
                let sites = plans.iter().map(|plan| &*plan.site.name);
                Some(diagnostics::unknown_noise(name, sites))
            }
        }
    };
    let faults: Vec<Diagnostic> = noncentred.iter().filter_map(rejection).collect();
    diagnostics::unless(faults, ())
}

/// Returns whether a site has a non-centred parameterisation and its prior has a scale that depends
/// on a site that is not fixed.
fn is_centred(plan: &SitePlan<'_>, plans: &[SitePlan<'_>]) -> bool {
    if noncentre::rejection(plan.site, plan.prior, moves(plan)).is_some() {
        return false;
    }
    let Some(scale) = noncentre::scale(plan.prior) else {
        return false;
    };
    let needed = dataflow::reachable(&scale);
    let is_unknown = |other: &SitePlan<'_>| {
        let param = scale.param(&other.site.name);
        moves(other) && param.is_some_and(|param| needed.contains(&param))
    };
    plans.iter().any(is_unknown)
}

pub(super) fn moves(plan: &SitePlan<'_>) -> bool {
    let mut params = plan.posterior.params.iter();
    params.any(|param| matches!(param.start, FamilyStart::Optimise(_)))
}

/// Binds the name of every site to its value in the support. The sites in `noncentred` use the
/// non-centred parameterisation. Returns the log determinant of the Jacobian of each site. `scope`
/// holds the states and the shared inputs.
pub(super) fn bind_sites(
    builder: &mut Builder,
    plans: &[SitePlan<'_>],
    noncentred: &[Arc<str>],
    scope: &mut Scope,
) -> Vec<Value> {
    let mut jacobians = Vec::new();
    for plan in plans {
        let position = scope.get(&plan.state());
        let transformed = match noncentred.contains(&plan.site.name) {
            true => noncentre::value(builder, plan.prior, scope, position),
            false => constrain::constrain(builder, plan.site.support, position),
        };
        let Some((value, jacobian)) = transformed else {
            unreachable!("the plans refuse sites that no position stands for")
        };
        builder.label(value, &plan.site.name);
        scope.set(&plan.site.name, value);
        jacobians.push(jacobian);
    }
    jacobians
}

/// Returns the function `(states.., data.., scale) -> log_density`, built from the results of [`Task::rows`].
fn density(rows: &Function) -> Function {
    let mut builder = Builder::new("density");
    let params = nodes::params_of(&mut builder, rows);
    let scale = builder.param(PortName::Scale.text(), Type::scalar());
    let [prior, terms] = builder.inline(rows, &params)[..] else {
        unreachable!("rows have a prior and terms")
    };
    let sum = builder.reduce_sum(terms, &[0]);
    let scaled = builder.mul(scale, sum);
    let value = builder.add(prior, scaled);
    builder.finish(vec![(PortName::LogDensity.into(), value)])
}

struct Task<'a> {
    problem: InferenceProblem<'a>,
    plans: &'a [SitePlan<'a>],
    noncentred: &'a [Arc<str>],
}

impl Task<'_> {
    fn is_noncentred(&self, plan: &SitePlan<'_>) -> bool {
        self.noncentred.contains(&plan.site.name)
    }

    /// Binds every site to its value. Returns the log determinants of the Jacobians for the moving
    /// sites. `scope` holds the states and the shared inputs.
    fn bind_sites(&self, builder: &mut Builder, scope: &mut Scope) -> Vec<Value> {
        let jacobians = bind_sites(builder, self.plans, self.noncentred, scope);
        let pairs = self.plans.iter().zip(jacobians);
        let moving = pairs.filter(|(plan, _)| moves(plan));
        moving.map(|(_, jacobian)| jacobian).collect()
    }

    /// Returns two functions. The first computes the hoisted values; it is `None` if no value is
    /// hoisted. The second is `(states.., data.., hoisted..) -> log_prior, log_likelihood`.
    fn apart(&self, context: &mut PassContext) -> Result<(Option<Function>, Function), Fault> {
        let rows = pipeline::step(&pipelines::NONCENTRE, context, |_| Ok::<_, Fault>(self.rows()))?;
        let moved = states::optimised(self.plans);
        let params = hoist::Params {
            moves: &|name| moved.iter().any(|(state, _)| **state == *name),
            is_of_row: &|name| is_of_row(self.problem.model, name),
        };
        let simple = pipeline::run(&rows, pipelines::BEFORE_DERIVATIVE, context)?;
        let hoisted = pipeline::step(&pipelines::HOIST, context, |context| {
            Ok::<_, Fault>(hoist(&simple, &params, context))
        })?;
        Ok(match hoisted {
            Some(hoisted) => (Some(hoisted.prepare), hoisted.rest),
            None => (None, simple),
        })
    }

    /// Returns `(states.., data..) -> log_prior, log_likelihood`.
    fn rows(&self) -> Function {
        let Program {
            mut builder,
            mut scope,
        } = Program::new("rows").states(self.plans).data(self.problem.model);
        let prior = self.prior(&mut builder, &mut scope);
        let terms = self.terms(&mut builder, &scope);
        builder.finish(vec![
            (PortName::LogPrior.into(), prior),
            (PortName::LogLikelihood.into(), terms),
        ])
    }

    /// Binds the sites to their values. Returns the log prior plus the log determinants of the
    /// Jacobians.
    fn prior(&self, builder: &mut Builder, scope: &mut Scope) -> Value {
        let jacobians = self.bind_sites(builder, scope);
        let prior = scope.call(builder, &self.problem.densities.log_prior)[0].1;
        jacobians
            .into_iter()
            .fold(prior, |sum, jacobian| builder.add(sum, jacobian))
    }

    /// Returns the log-likelihood of each row.
    fn terms(&self, builder: &mut Builder, scope: &Scope) -> Value {
        let row = &self.problem.densities.row_log_likelihood;
        let rows = batch_named(row, Dim::Symbol(Symbol::Batch), |name| {
            is_of_row(self.problem.model, name)
        });
        scope.call(builder, &rows)[0].1
    }

    /// Returns the log density and `STATE/gradient` for each moving state.
    fn with_gradient(&self, density: &Function) -> Result<Function, Fault> {
        let (mut builder, params, values) = nodes::extended("density", density);
        let value = values[0];
        let moved = states::optimised(self.plans);
        // If the density does not depend on a state, the function does not have a parameter for
        // this state. The gradient of this state is zero.
        let wrt: Vec<Value> = moved
            .iter()
            .map(|(name, shape)| {
                let ty = || Type::real(shape.clone());
                nodes::param_or_new(&mut builder, (density, &params), name, ty)
            })
            .collect();
        let gradients = differentiate(&mut builder, value, &wrt)?;
        let mut results = vec![(PortName::LogDensity.into(), value)];
        let named = moved.iter().zip(gradients);
        results.extend(named.map(|((name, _), gradient)| (PortName::Gradient.of(name).into(), gradient)));
        Ok(builder.finish(results))
    }

    fn at_draws(&self, drawn: &[Arc<str>], context: &mut PassContext) -> Result<(Function, Function), Fault> {
        let predict = pipeline::step(&pipelines::PREDICT, context, |_| {
            Ok::<_, Fault>(self.predict(drawn))
        })?;
        let predict = pipeline::run(&predict, pipelines::BEFORE_LOWERING, context)?;
        let sites = pipeline::step(&pipelines::SITES, context, |_| Ok::<_, Fault>(self.sites(drawn)))?;
        let sites = pipeline::run(&sites, pipelines::BEFORE_LOWERING, context)?;
        Ok((predict, sites))
    }

    fn predict(&self, drawn: &[Arc<str>]) -> Function {
        let bind = |builder: &mut Builder, scope: &mut Scope| {
            self.bind_sites(builder, scope);
        };
        let per_draw = predict::per_draw(self.problem.densities, self.problem.model, self.plans, &bind);
        predict::over_draws("predict", &per_draw, drawn)
    }

    fn sites(&self, drawn: &[Arc<str>]) -> Function {
        let Program {
            mut builder,
            mut scope,
        } = Program::new("site_draws")
            .states(self.plans)
            .shared(self.problem.model);
        self.bind_sites(&mut builder, &mut scope);
        let sites = self.plans.iter().map(|plan| &plan.site.name);
        let mut results: Vec<_> = sites.map(|site| (site.clone(), scope.get(site))).collect();
        results.extend(scope.call(&mut builder, &self.problem.densities.derived));
        predict::over_draws("sites", &builder.finish(results), drawn)
    }

    /// Returns the reports on the sites, followed by the reports on the quantities that are computed from sites.
    fn reports(&self) -> Vec<SiteReport> {
        let derived = &self.problem.densities.derived;
        let computed = |(name, value): &(Arc<str>, Value)| SiteReport {
            kl: "computed from the parameters".to_owned(),
            ..report(
                name,
                &derived.ty(*value).shape,
                "derived",
                PriorReport::of(Support::Real),
            )
        };
        let sites = self.plans.iter().map(|plan| self.report(plan));
        sites.chain(derived.results.iter().map(computed)).collect()
    }

    fn report(&self, plan: &SitePlan<'_>) -> SiteReport {
        let shape = plan.position_type().shape;
        let scale = match plan.site.support {
            _ if self.is_noncentred(plan) => "in its non-centred parameterisation",
            Support::Real | Support::Integers(_) => "untransformed",
            Support::Interval(lo, hi) if lo.is_finite() && hi.is_finite() => "on the logit scale",
            Support::Interval(..) => "on the logarithmic scale",
            Support::Simplex => "as the log ratios of its elements to the last one",
            Support::Ordered => "as its first element and the logarithms of the gaps",
        };
        let is_fixed = !moves(plan);
        let (family, sentence) = match is_fixed {
            true => ("fixed", "keeps its value".to_owned()),
            false => ("sampled", format!("{scale}, {shape}")),
        };
        let prior = plausible::report(plan.site, plan.prior);
        SiteReport {
            is_fixed,
            kl: sentence,
            ..report(&plan.site.name, &plan.site.ty.shape, family, prior)
        }
    }
}

/// Returns the report on a quantity whose values are draws.
fn report(name: &str, shape: &Shape, family: &str, prior: PriorReport) -> SiteReport {
    SiteReport {
        name: name.to_owned(),
        shape: shape.clone(),
        family: family.to_owned(),
        is_fixed: false,
        is_point: false,
        has_deviation: false,
        is_factorised: false,
        kl: String::new(),
        likelihood: String::new(),
        prior,
    }
}
