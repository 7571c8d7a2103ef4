//! The log prior of the weights, and its derivatives.

use super::super::plan;
use super::super::task::RewriteError;
use super::outputs::LaplaceParts;
use crate::density::dependences;
use crate::differentiate::{differentiate, pull_back};
use crate::methods::sample::bind_sites;
use crate::methods::task::Program;
use crate::nodes::{self};
use crate::rule;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use std::sync::Arc;

/// Returns `(states.., shared..) -> log_prior`: the log prior of the weights, plus the log
/// determinants of the Jacobians of their bijections.
pub fn log_prior(parts: &LaplaceParts<'_>) -> Function {
    let Program {
        mut builder,
        mut scope,
    } = Program::new("log_prior")
        .states(parts.plans)
        .shared(parts.problem.model);
    let jacobians = bind_sites(&mut builder, parts.plans, &[], &mut scope);
    let priors = scope.call(&mut builder, &parts.problem.densities.log_priors);
    let mut sum = builder.real(0.0);
    for (plan, jacobian) in parts.plans.iter().zip(jacobians) {
        if !parts
            .weights
            .iter()
            .any(|weight| weight.site.name == plan.site.name)
        {
            continue;
        }
        let prior = nodes::find(&priors, &plan.site.name);
        for term in prior.into_iter().chain([jacobian]) {
            sum = builder.add(sum, term);
        }
    }
    rule::remove_dead(&builder.finish(vec![(PortName::LogPrior.into(), sum)]))
}

/// Returns `(states.., shared..) -> log_prior, STATE/slope.., STATE/precision..`. The slope is the
/// gradient. The precision is minus the second derivative times a vector of ones. For moving states
/// that are not weights, `STATE/slope` is the slope of `log_prior_of_all`, the log prior of all
/// sites.
pub fn prior(parts: &LaplaceParts<'_>) -> Result<Function, RewriteError> {
    let slope = slope(parts)?;
    let (mut builder, params, values) = nodes::extended("prior", &slope);
    let wrt = weights(&mut builder, parts, &slope, &params);
    let mut seeds = Vec::new();
    for value in &values[1..] {
        seeds.push((*value, builder.like(1.0, *value)));
    }
    let sums = pull_back(&mut builder, &seeds, &wrt)?;
    let mut results = nodes::named(&slope, &values);
    for (weight, sum) in parts.weights.iter().zip(sums) {
        let name: Arc<str> = PortName::Precision.of(&weight.state()).into();
        results.push((name, builder.neg(sum)));
    }
    let others = others(parts)?;
    let mut arguments = Vec::new();
    for param in &others.params {
        let ty = || others.ty(*param).clone();
        let name = nodes::param_name(&others, *param);
        arguments.push(nodes::param_or_new(&mut builder, (&slope, &params), name, ty));
    }
    let values = builder.inline(&others, &arguments);
    results.extend(nodes::named(&others, &values));
    Ok(builder.finish(results))
}

/// Returns `(states.., shared..) -> log_prior, STATE/slope..`.
pub fn slope(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let log_prior = log_prior(parts);
    let (mut builder, params, values) = nodes::extended("slope", &log_prior);
    let value = values[0];
    let wrt = weights(&mut builder, parts, &log_prior, &params);
    let slopes = differentiate(&mut builder, value, &wrt)?;
    let mut results: Vec<(Arc<str>, Value)> = vec![(PortName::LogPrior.into(), value)];
    for (weight, slope) in parts.weights.iter().zip(slopes) {
        results.push((PortName::Slope.of(&weight.state()).into(), slope));
    }
    Ok(builder.finish(results))
}

/// Returns those of `params` that hold the weights. `params` are the copies of a function's
/// parameters.
pub fn weights(
    builder: &mut Builder,
    parts: &LaplaceParts<'_>,
    function: &Function,
    params: &[Value],
) -> Vec<Value> {
    states(builder, &parts.weights, function, params)
}

/// Returns those of `params` that hold the positions of the given sites. `params` are the
/// copies of a function's parameters.
pub fn states(
    builder: &mut Builder,
    plans: &[&plan::SitePlan<'_>],
    function: &Function,
    params: &[Value],
) -> Vec<Value> {
    let mut of = |plan: &&plan::SitePlan<'_>| {
        let ty = || plan.position_type();
        nodes::param_or_new(builder, (function, params), &plan.state(), ty)
    };
    plans.iter().map(&mut of).collect()
}

/// Returns `(states.., shared..) -> log_prior_of_all, STATE/slope..`: the log prior of all sites,
/// and its derivatives for the moving states that are not weights.
fn others(parts: &LaplaceParts<'_>) -> Result<Function, Fault> {
    let Program {
        mut builder,
        mut scope,
    } = Program::new("others")
        .states(parts.plans)
        .shared(parts.problem.model);
    let jacobians = bind_sites(&mut builder, parts.plans, &[], &mut scope);
    let prior = scope.call(&mut builder, &parts.problem.densities.log_prior)[0].1;
    let sum = jacobians
        .into_iter()
        .fold(prior, |sum, jacobian| builder.add(sum, jacobian));
    let others = parts.others();
    let wrt: Vec<Value> = others.iter().map(|plan| scope.get(&plan.state())).collect();
    let slopes = differentiate(&mut builder, sum, &wrt)?;
    let named = others.iter().zip(slopes);
    let slopes = named.map(|(plan, slope)| (PortName::Slope.of(&plan.state()).into(), slope));
    let results = std::iter::once((PortName::LogPriorOfAll.into(), sum)).chain(slopes);
    Ok(rule::remove_dead(&builder.finish(results.collect())))
}

/// Returns a moving site that is linked to a weight by a prior but is not a weight itself. Either
/// the prior of the weight depends on the site, or the prior of the site depends on
/// the weight.
pub fn tied(parts: &LaplaceParts<'_>) -> Option<Arc<str>> {
    let depends = |plan: &plan::SitePlan<'_>, on: &plan::SitePlan<'_>| {
        let arguments = &plan.prior.arguments;
        let mut names = arguments.results.iter().map(|(name, _)| name);
        names.any(|name| dependences(arguments, name).contains(&on.site.name))
    };
    let is_tied = |other: &&plan::SitePlan<'_>| {
        let mut weights = parts.weights.iter();
        weights.any(|weight| depends(weight, other) || depends(other, weight))
    };
    let found = parts.others().into_iter().find(is_tied)?;
    Some(found.site.name.clone())
}

/// Returns whether the elements of the weights are independent under the prior, given the other sites.
pub fn independent(parts: &LaplaceParts<'_>) -> bool {
    let names: Vec<&Arc<str>> = parts.weights.iter().map(|weight| &weight.site.name).collect();
    parts.weights.iter().all(|weight| {
        let arguments = &weight.prior.arguments;
        let on_others = arguments
            .results
            .iter()
            .flat_map(|(name, _)| dependences(arguments, name))
            .any(|on| names.contains(&&on));
        weight.prior.distribution.elementwise && !weight.site.support.is_of_vectors() && !on_others
    })
}
