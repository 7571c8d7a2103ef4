//! The expected log-likelihood of the rows in one training step, given one draw of the sites.

pub mod choice;
mod gaussian;
pub mod integrate;
pub mod per_example;
pub mod symmetry;
mod usage;

use super::mix;
use super::plan::SitePlan;
use super::task::{RewriteError, Task, is_of_row};
use crate::batch::batch_named;
use crate::density::{Densities, prefix_noise};
use crate::methods::task::{Program, shared_coordinates};
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::pipeline::StageFunctions;
use crate::{pipeline, pipelines};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::Model;
use choice::{Expectation, Layers};
use std::sync::Arc;

/// The log-likelihood of one row, rewritten for the gradient estimator of each site.
#[derive(Clone, Debug)]
pub(super) struct Likelihood {
    /// The function `Densities::training_row` if the model has one, and otherwise `Densities::row_log_likelihood`. The parameters
    /// [`per_example::centre`] and [`per_example::spread`] replace each site that is drawn separately for each example. `draw`, `example` and
    /// `step` are the coordinates of the noise.
    row: Function,
    /// Returns the number of positions in a row that lie outside their axes. `None` if all
    /// positions are known to lie inside, or if some site is drawn separately for each example.
    pub(super) outside: Option<Function>,
    /// For each plan, the method of computing the expectation over its site.
    ways: Vec<Expectation>,
    /// For each plan, a sentence for the report.
    pub(super) sentences: Vec<String>,
}

impl Likelihood {
    /// Mixes the log-likelihoods of two sets of outputs, as in [`mix::mixed`].
    pub(super) fn mix(&mut self, model: &Model) {
        self.row = mix::mixed(&self.row, model);
    }
}

impl StageFunctions for Likelihood {
    fn functions(&self) -> Vec<&Function> {
        vec![&self.row]
    }
}

/// Returns the log-likelihood of one row, with the gradient estimators that `layers` requests.
/// `outside` returns the number of positions in a row that lie outside their axes.
///
/// # Errors
/// Fails if a name is not a layer, or if a layer does not support the requested estimator.
pub(super) fn likelihood(
    densities: &Densities,
    plans: &[SitePlan<'_>],
    (layers, outside): (Layers<'_>, Option<Function>),
    context: &mut PassContext,
) -> Result<Likelihood, RewriteError> {
    let ways = choice::ways(plans, &layers)?;
    // The graph of one example is simplified before it is repeated for all examples, while it is still small. The search for layers runs after
    // simplification, because simplification moves transpositions into products.
    let row = densities
        .training_row
        .as_ref()
        .unwrap_or(&densities.row_log_likelihood);
    let row = pipeline::run(row, pipelines::BEFORE_DERIVATIVE, context)?;
    let of = |wanted: &[Expectation]| -> Vec<(Arc<str>, Expectation)> {
        let all = plans.iter().zip(&ways);
        let found = all.filter(|(_, way)| wanted.contains(way));
        found.map(|(plan, way)| (plan.site.name.clone(), *way)).collect()
    };
    let mut sentences = vec!["shared draw".to_owned(); plans.len()];
    let noisy = of(&[Expectation::Local, Expectation::Flipout]);
    let mut row = row;
    if !noisy.is_empty() {
        let rewritten = per_example::rewrite(&row, &noisy)?;
        row = pipeline::run(&rewritten.row, pipelines::BEFORE_DERIVATIVE, context)?;
        note(plans, &mut sentences, rewritten.sentences);
    }
    let integrated: Vec<Arc<str>> = of(&[Expectation::Integrated])
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    if !integrated.is_empty() {
        let rewritten = integrate::rewrite(&row, &integrated, layers.series)?;
        row = pipeline::run(&rewritten.row, pipelines::BEFORE_DERIVATIVE, context)?;
        note(plans, &mut sentences, rewritten.sentences);
    }
    let is_shared = ways.iter().all(|way| *way == Expectation::Shared);
    Ok(Likelihood {
        row,
        outside: outside.filter(|_| is_shared),
        ways,
        sentences,
    })
}

fn note(plans: &[SitePlan<'_>], sentences: &mut [String], found: Vec<(Arc<str>, String)>) {
    for (name, sentence) in found {
        let at = plans.iter().position(|plan| plan.site.name == name);
        if let Some(slot) = at.and_then(|at| sentences.get_mut(at)) {
            *slot = sentence;
        }
    }
}

impl Task<'_> {
    /// Returns `(states.., data.., draw, step) -> log_likelihood`: the log-likelihood of the rows. If positions outside their axes are counted, their
    /// number `outside` is another result. The means over the rows of the step follow as the last results.
    pub(super) fn likelihood_per_draw(&self, likelihood: &Likelihood) -> Result<Function, Fault> {
        let Program {
            mut builder,
            mut scope,
        } = self.start_draw().data(self.model);
        let coordinates = shared_coordinates(&mut builder, &scope);
        for (plan, way) in self.plans.iter().zip(&likelihood.ways) {
            bind_site(&mut builder, &mut scope, plan, *way, coordinates)?;
        }
        let rows = Dim::Symbol(Symbol::Batch);
        let examples = builder.iota(rows);
        scope.set(PortName::Example.text(), examples);
        let mut over_rows = |row: &Function| {
            let of_rows = batch_named(row, rows, |name| {
                name == PortName::Example.text() || is_of_row(self.model, name)
            });
            let mut terms = scope.call(&mut builder, &of_rows).into_iter();
            let sum = terms.next().map(|(_, term)| builder.reduce_sum(term, &[0]));
            let means = terms.map(|(name, value)| (name, nodes::mean_leading(&mut builder, value)));
            (sum, means.collect::<Vec<_>>())
        };
        let (log_likelihood, means) = over_rows(&likelihood.row);
        let outside = likelihood
            .outside
            .as_ref()
            .and_then(|outside| over_rows(outside).0);
        let mut results = Vec::new();
        results.extend(log_likelihood.map(|sum| (PortName::LogLikelihood.into(), sum)));
        results.extend(outside.map(|sum| (PortName::Outside.into(), sum)));
        results.extend(means);
        Ok(builder.finish(results))
    }
}

/// Binds a site to a draw. If the site is split into a centre and a spread, both are bound to their
/// parts of the draw.
fn bind_site(
    builder: &mut Builder,
    scope: &mut Scope,
    plan: &SitePlan<'_>,
    way: Expectation,
    coordinates: [Value; 3],
) -> Result<(), Fault> {
    let site = &plan.site.name;
    let sampler = plan
        .posterior
        .family
        .draw
        .as_ref()
        .filter(|_| way != Expectation::Shared);
    let Some(sampler) = sampler else {
        let drawn = plan.draw(builder, scope, coordinates);
        scope.set(site, drawn);
        return Ok(());
    };
    let args: Vec<Value> = plan
        .family_params(builder, scope)
        .into_iter()
        .chain(coordinates)
        .collect();
    let parts = symmetry::parts(builder, &prefix_noise(sampler, site), &args)?;
    let Some(parts) = parts else {
        unreachable!("the choice of `{site}` looked at its sampler")
    };
    let spread = match way {
        Expectation::Flipout => parts.odd,
        Expectation::Local | Expectation::Shared | Expectation::Integrated => {
            parts.deviation.unwrap_or(parts.odd)
        }
    };
    let centre = parts.even.unwrap_or_else(|| builder.zeros_like(spread));
    scope.set(&per_example::centre(site), centre);
    scope.set(&per_example::spread(site), spread);
    Ok(())
}
