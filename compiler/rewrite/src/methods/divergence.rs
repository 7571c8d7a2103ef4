//! `divergence`: the KL divergence from the posterior to the priors, alone or as a term of the loss.

mod parts;

use super::plan::{self, InferenceProblem, SitePlan};
use super::states;
use super::task::{RewriteError, Task, TrainingSettings, gradient_nodes};
use crate::differentiate::differentiate;
use crate::kl::algebra::{Algebra, SeparatedForm};
use crate::kl::estimate::{self, DrawnForm, KlEstimate};
use crate::kl::law::{self, NoiseMean};
use crate::kl::{Estimator, KlChoice, NeedsDraws, Placement, Statistics, closed, start, taylor};
use crate::methods::task::{Program, shared_coordinates};
use crate::nodes::Scope;
use crate::pass::PassContext;
use crate::pipeline::StageFunctions;
use crate::rule::Firing;
use crate::simplify::simplify;
use crate::{diagnostics, nodes, pipeline, pipelines};
use bnnc_abi::manifest::{SiteReport, State};
use bnnc_abi::ports::PortName;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Symbol;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use parts::{Found, Parts};
use std::sync::Arc;

/// The KL divergence of a posterior, ready to be lowered. If means of noise are drawn from their
/// distribution, the number of draws, `TrainingSettings::kl_draws`, is a constant in the functions.
/// The size that is later chosen for the axis of draws must then equal this number.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// `(states.., shared inputs.., step: int) -> kl` before lowering, in a form that is easy to
    /// read.
    pub density: Function,
    /// `(states.., shared inputs.., step: int) -> kl`. Draws lie along `Symbol::KlDraws`, or along `Symbol::Draws` if
    /// `TrainingSettings::kl_draws` is 0.
    pub value: Function,
    /// A function with the parameters of `value`. The results of this function are `kl` and, for
    /// each optimised state, the gradient under the name of the state.
    pub gradient: Function,
    /// The states with their starting values. A state holds a parameter on the unconstrained scale.
    pub states: Vec<State>,
    /// For each site, a description of how its KL divergence is computed.
    pub reports: Vec<SiteReport>,
    /// The number of nodes of `value` through which a gradient flows.
    pub gradient_nodes: usize,
}

/// Returns the KL divergence from `posterior` to the priors of `model`.
///
/// # Errors
/// Fails if a divergence is infinite, if a family does not have a sampler, or if an op does not have a derivative.
pub fn divergence(
    problem: InferenceProblem<'_>,
    settings: TrainingSettings<'_>,
    context: &mut PassContext,
) -> Result<Divergence, RewriteError> {
    let plans = plan::plans(problem, settings.kl, context)?;
    let task = Task {
        model: problem.model,
        plans: &plans,
        settings,
    };
    let per_draw = task.announced_divergence(context)?;
    let value = pipeline::step(&pipelines::KL, context, |_| {
        Ok::<_, Fault>(task.divergence_alone(&per_draw))
    })?;
    let value = pipeline::run(&value, pipelines::BEFORE_DERIVATIVE, context)?;
    let gradient = pipeline::step(&pipelines::GRADIENT, context, |_| {
        task.divergence_gradient(&value)
    })?;
    Ok(Divergence {
        gradient: pipeline::run(&gradient, pipelines::BEFORE_LOWERING, context)?,
        gradient_nodes: gradient_nodes(&value, &plans),
        value: pipeline::run(&value, pipelines::BEFORE_LOWERING, context)?,
        density: value,
        states: states::states(&plans, settings.optimiser, false),
        reports: states::reports(&plans, &per_draw.choices, &[])?,
    })
}

/// Adds the warnings to the context, and the choices to its trace, if there is one.
fn announce(plans: &[SitePlan<'_>], per_draw: &PerDraw, context: &mut PassContext) {
    context.warnings.extend(per_draw.warnings.iter().cloned());
    let Some(trace) = &mut context.trace else {
        return;
    };
    trace.extend(plans.iter().zip(&per_draw.choices).map(|(plan, choice)| {
        let (family, prior) = (&plan.posterior.family.name, &plan.prior.distribution.name);
        Firing {
            rule: "divergence",
            before: format!("KL({family} || {prior}) of `{}`", plan.site.name),
            after: choice.sentence(),
        }
    }));
}

impl StageFunctions for PerDraw {
    fn functions(&self) -> Vec<&Function> {
        vec![&self.function]
    }
}

impl Task<'_> {
    /// Builds the divergence at one draw and reports its warnings and choices.
    pub(super) fn announced_divergence(&self, context: &mut PassContext) -> Result<PerDraw, Fault> {
        let per_draw = pipeline::step(&pipelines::EXACT_KL, context, |_| self.divergence_per_draw())?;
        announce(self.plans, &per_draw, context);
        Ok(per_draw)
    }

    /// Adds the divergence to a graph. `scope` holds the states, the shared inputs and `step`.
    pub(super) fn divergence_term(
        &self,
        builder: &mut Builder,
        scope: &mut Scope,
        per_draw: &PerDraw,
    ) -> Value {
        let (symbol, count) = match self.settings.kl_draws {
            0 => (Symbol::Draws, self.settings.samples),
            draws => (Symbol::KlDraws, draws),
        };
        let mut sum = self.fixed_divergence(builder, scope);
        let means = self.mean_over(builder, &per_draw.function, scope, symbol, count);
        let mean_of = |name: &str| nodes::find(&means, name);
        for scalar in [FIXED, DIRECT].into_iter().filter_map(mean_of) {
            sum = builder.add(sum, scalar);
        }
        for (at, law) in per_draw.laws.iter().enumerate() {
            let mean = match law {
                Some(law) => Some(law.mean(builder, count, scope.get(PortName::Step.text()))),
                None => mean_of(&noise(at)),
            };
            if let (Some(coefficient), Some(mean)) = (mean_of(&coefficient(at)), mean) {
                let mean = builder.stop_gradient(mean);
                let product = builder.mul(coefficient, mean);
                let total = builder.reduce_sum_all(product);
                sum = builder.add(sum, total);
            }
        }
        sum
    }

    /// Returns `(states.., shared inputs.., step) -> kl`.
    fn divergence_alone(&self, per_draw: &PerDraw) -> Function {
        let Program {
            mut builder,
            mut scope,
        } = self.inputs("divergence");
        let kl = self.divergence_term(&mut builder, &mut scope, per_draw);
        builder.finish(vec![(PortName::Kl.into(), kl)])
    }

    fn divergence_gradient(&self, value: &Function) -> Result<Function, Fault> {
        let Program { mut builder, scope } = self.inputs("gradient");
        let kl = scope.call(&mut builder, value)[0].1;
        let moved = states::optimised(self.plans);
        let wrt: Vec<Value> = moved.iter().map(|(name, _)| scope.get(name)).collect();
        let gradients = differentiate(&mut builder, kl, &wrt)?;
        let named = moved
            .iter()
            .zip(gradients)
            .map(|((name, _), gradient)| (name.clone(), gradient));
        let results = std::iter::once((PortName::Kl.into(), kl)).chain(named).collect();
        Ok(builder.finish(results))
    }

    /// Begins a function of the states, the shared inputs and `step`.
    fn inputs(&self, name: &str) -> Program {
        Program::new(name)
            .states(self.plans)
            .shared(self.model)
            .integers(&[PortName::Step])
    }

    /// Starts a function of one draw. The parameters of this function are the states and the
    /// integers `draw` and `step`.
    pub(super) fn start_draw(&self) -> Program {
        Program::new("draw")
            .states(self.plans)
            .integers(&[PortName::Draw, PortName::Step])
    }

    /// Builds the part of the divergence that is estimated from draws, at one draw.
    pub(super) fn divergence_per_draw(&self) -> Result<PerDraw, Fault> {
        let Program {
            mut builder,
            mut scope,
        } = self.start_draw().shared(self.model);
        let moved = states::optimised(self.plans);
        let moving: Vec<Value> = moved.iter().map(|(name, _)| scope.get(name)).collect();
        let params: Vec<Vec<Value>> = self
            .plans
            .iter()
            .map(|plan| plan.family_params(&mut builder, &scope))
            .collect();
        let draw = scope.get(PortName::Draw.text());
        let mut algebra = Algebra::new(&mut builder, [draw], moving);
        let drawn = self.drawn_forms(&mut algebra, &scope, &params)?;
        for (plan, drawn) in self.plans.iter().zip(&drawn) {
            scope.set(&plan.site.name, drawn.value.value);
        }
        let mut parts = Parts::default();
        for (plan, drawn_here) in self.plans.iter().zip(&drawn) {
            let others: Vec<(&str, &SeparatedForm)> = self
                .plans
                .iter()
                .zip(&drawn)
                .map(|(plan, drawn)| (&*plan.site.name, &drawn.value))
                .collect();
            let arguments = estimate::named_forms(&mut algebra, &plan.prior.arguments, &scope, &others);
            let site = SiteDraw {
                plan,
                drawn: drawn_here,
                arguments: &arguments,
            };
            self.add_site(&mut algebra, &scope, &mut parts, &site)?;
        }
        self.finish_per_draw(builder, parts)
    }

    fn drawn_forms(
        &self,
        algebra: &mut Algebra<'_>,
        scope: &Scope,
        params: &[Vec<Value>],
    ) -> Result<Vec<DrawnForm>, Fault> {
        let prefix = if self.settings.kl_draws > 0 {
            OWN_STREAM
        } else {
            ""
        };
        let coordinates = shared_coordinates(algebra.builder, scope);
        let of = |(plan, params): (&SitePlan<'_>, &Vec<Value>)| {
            let path = format!("{prefix}{}", plan.site.name);
            let transformed = (plan.placement == Placement::Transformed).then_some(plan.site.support);
            estimate::draw(algebra, plan.posterior, params, coordinates, (&path, transformed))
        };
        self.plans.iter().zip(params).map(of).collect()
    }

    /// Adds the contribution of one site at one draw.
    fn add_site(
        &self,
        algebra: &mut Algebra<'_>,
        scope: &Scope,
        parts: &mut Parts,
        site: &SiteDraw<'_>,
    ) -> Result<(), Fault> {
        let plan = site.plan;
        let choice = match &plan.way {
            NeedsDraws::Closed(closed) => {
                if plan.prior.depends_on.is_some() {
                    let kl = plan.closed_divergence(algebra.builder, scope, closed);
                    estimate::add_to(algebra.builder, &mut parts.direct, kl);
                }
                let given = plan.prior.depends_on.as_ref();
                let given = given.map_or_else(String::new, |other| format!(", given each draw of `{other}`"));
                KlChoice::Exact(format!("{}{given}", closed.because))
            }
            NeedsDraws::Point => {
                let log_prior = closed::log_prior(plan.prior)?;
                let log_prior = estimate::log_prior(algebra, &log_prior, site.drawn, site.arguments);
                let term = algebra.builder.neg(log_prior.value);
                estimate::add_to(algebra.builder, &mut parts.direct, term);
                KlChoice::Point
            }
            NeedsDraws::Draws(Some(because)) => self.sampled(algebra, parts, site, &because.to_string())?,
            NeedsDraws::Draws(None) => self.sampled(algebra, parts, site, "the options choose draws")?,
        };
        parts.choices.push(choice);
        let before = parts.products_of.last().map_or(0, |products| products.end);
        parts.products_of.push(before..parts.products.len());
        Ok(())
    }

    /// Adds a divergence that needs draws. If the divergence factorises, means of noise are enough.
    /// If it does not factorise, a Taylor series replaces the log prior. This happens only if the
    /// user requested a series, and if the divergence factorises with it. Otherwise, the whole
    /// divergence is averaged over draws. Factorising a part of it would not help, because the rest
    /// has to be averaged over draws with gradients anyway.
    fn sampled(
        &self,
        algebra: &mut Algebra<'_>,
        parts: &mut Parts,
        site: &SiteDraw<'_>,
        because: &str,
    ) -> Result<KlChoice, Fault> {
        let plan = site.plan;
        algebra.detached = site.drawn.detached;
        let log_prior = closed::log_prior(plan.prior)?;
        let form = estimate::integrand(algebra, plan.posterior, &log_prior, site.drawn, site.arguments)?;
        let why = if self.settings.kl.estimator == Estimator::Direct {
            "the options choose the plain mean over draws".to_owned()
        } else {
            match estimate::estimate(algebra, &form) {
                Ok(found) => return Ok(parts.add(algebra, found, because)),
                Err(op) => {
                    if let Some((found, series)) = self.series(algebra, site)? {
                        return Ok(parts.add_series(algebra, found, &series, because));
                    }
                    let series = match self.settings.kl.taylor {
                        0 => String::new(),
                        order if order > MOST_ORDER => {
                            format!("; no series: only orders up to {MOST_ORDER} are available")
                        }
                        _ => "; no series: none is known, or the draw does not separate".to_owned(),
                    };
                    let what = op.map_or("a parameter", |op| op.0.name);
                    format!("`{what}` mixes parameters and noise{series}; no closed form: {because}")
                }
            }
        };
        estimate::add_to(algebra.builder, &mut parts.direct, form.value);
        Ok(KlChoice::Direct(why))
    }

    /// Returns the estimate after a Taylor polynomial has replaced the log density of the prior.
    /// Returns `None` if no series was requested, or if the estimate with the series does not
    /// factorise.
    fn series(
        &self,
        algebra: &mut Algebra<'_>,
        site: &SiteDraw<'_>,
    ) -> Result<Option<(KlEstimate, Found)>, Fault> {
        let order = self.settings.kl.taylor;
        if order == 0 || order > MOST_ORDER || site.plan.placement == Placement::Transformed {
            return Ok(None);
        }
        let Some((mean, sd)) = start::start_of(site.plan.posterior) else {
            return Ok(None);
        };
        let Some(series) = taylor::series(&closed::log_prior(site.plan.prior)?, mean, order) else {
            return Ok(None);
        };
        algebra.detached = site.drawn.detached;
        let form = estimate::integrand(
            algebra,
            site.plan.posterior,
            &series.polynomial,
            site.drawn,
            site.arguments,
        )?;
        let Ok(estimate) = estimate::estimate(algebra, &form) else {
            return Ok(None);
        };
        let warning = (2.0 * sd > series.radius).then(|| {
            diagnostics::outside_series(
                &site.plan.site.name,
                rounded(2.0 * sd),
                rounded(mean),
                &site.plan.prior.distribution.name,
                rounded(series.radius),
            )
        });
        let found = Found {
            order,
            series,
            warning,
        };
        Ok(Some((estimate, found)))
    }

    fn finish_per_draw(&self, builder: Builder, mut parts: Parts) -> Result<PerDraw, Fault> {
        let by_law = self.settings.kl.statistics == Statistics::Law && self.settings.kl_draws > 1;
        let laws = match by_law {
            true => law::laws(&builder, &parts.products, parts.direct.as_slice()),
            false => vec![None; parts.products.len()],
        };
        for (choice, products) in parts.choices.iter_mut().zip(&parts.products_of) {
            let by_law = laws[products.clone()].iter().all(Option::is_some);
            match choice {
                KlChoice::Separated(separation) => separation.by_law = by_law,
                KlChoice::Series(approximation) => approximation.separation.by_law = by_law,
                KlChoice::Exact(_) | KlChoice::Direct(_) | KlChoice::Point => {}
            }
        }
        let mut results: Vec<(Arc<str>, Value)> = Vec::new();
        results.extend(parts.fixed.map(|value| (FIXED.into(), value)));
        results.extend(parts.direct.map(|value| (DIRECT.into(), value)));
        for (at, (product, law)) in parts.products.iter().zip(&laws).enumerate() {
            results.push((coefficient(at).into(), product.coefficient));
            if law.is_none() {
                results.push((noise(at).into(), product.noise));
            }
        }
        Ok(PerDraw {
            function: simplify(&builder.finish(results))?,
            laws,
            choices: parts.choices,
            warnings: parts.warnings,
        })
    }

    /// Returns the part of the divergence that is computed without draws.
    fn fixed_divergence(&self, builder: &mut Builder, scope: &Scope) -> Value {
        let mut sum = builder.real(0.0);
        for plan in self.plans {
            if let Some(term) = plan.fixed_divergence(builder, scope) {
                sum = builder.add(sum, term);
            }
        }
        sum
    }
}

/// The prefix of the noise streams that only divergences use.
const OWN_STREAM: &str = "kl/";

/// The largest order of a Taylor series. If the user requests a higher order, no series is used.
const MOST_ORDER: usize = 16;

const FIXED: &str = "fixed";
const DIRECT: &str = "direct";

fn coefficient(at: usize) -> String {
    format!("coefficient/{at}")
}

fn noise(at: usize) -> String {
    format!("noise/{at}")
}

/// A function that computes the KL divergence at one draw, and its properties.
#[derive(Clone, Debug)]
pub(super) struct PerDraw {
    /// `(states.., shared.., draw, step) -> fixed, direct, coefficient/i, noise/i`. Results that
    /// are not needed are absent.
    function: Function,
    /// For each product, the distribution from which the mean of its noise is drawn as one number.
    /// `None` if the mean is computed from draws of the noise.
    laws: Vec<Option<NoiseMean>>,
    /// The chosen computations, one per plan.
    pub(super) choices: Vec<KlChoice>,
    /// Warnings for the user.
    pub(super) warnings: Vec<Diagnostic>,
}

/// One site at one draw.
struct SiteDraw<'a> {
    plan: &'a SitePlan<'a>,
    drawn: &'a DrawnForm,
    /// The values of `SitePrior::arguments`, as forms.
    arguments: &'a [SeparatedForm],
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}
