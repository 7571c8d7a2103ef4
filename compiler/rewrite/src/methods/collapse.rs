//! `collapse`: analyses how an observation depends on the weights that are integrated out.
//!
//! The location of an observation (the mean of a Normal distribution, or logits) is a function of
//! one row and of the weights. If the location is affine in the chosen weights, or affine between
//! kinks, integrals over a box of these weights have exact forms. The module `pieces` proves either
//! property, and needs only the derivative.

mod local;
mod maxima;
pub(crate) mod pieces;

use super::laplace::choice::{self, OverWeights};
use super::laplace::outputs::LaplaceParts;
use super::laplace::{known, weights};
use super::plan::{self, InferenceProblem, SitePlan};
use super::sample;
use super::task::RewriteError;
use crate::density::dependences;
use crate::diagnostics::NoExactIntegral;
use crate::methods::laplace::outputs::{joined_arguments, moved};
use crate::pass::PassContext;
use crate::pipeline::StageFunctions;
use crate::{kl, pipeline, pipelines};
use bnnc_abi::methods::collapsed::LocationForm;
use bnnc_abi::methods::laplace::{Likelihood, Weights};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Sizes;
use bnnc_graph::dist::Support;
use bnnc_graph::function::Function;
use bnnc_graph::model::Input;
use pieces::KinkedFunction;
use std::sync::Arc;

/// The programs of one collapsed inference run. The programs have the ports that
/// `bnnc_abi::methods::collapsed::Collapsed` declares.
#[derive(Clone, Debug)]
pub struct Collapse {
    /// The sites whose elements may be collapsed.
    pub weights: Vec<Weights>,
    /// The number of elements of the location.
    pub outputs: usize,
    /// The distribution of the observation, given its location.
    pub likelihood: Likelihood,
    /// How the location depends on the elements of `weights`.
    pub form: LocationForm,
    /// True if the scale of a Normal distribution depends on the elements of `weights` too.
    pub held: bool,
    /// A program for the location and its derivatives, if the form is exact.
    pub local: Option<Function>,
    /// A program for the location without its derivatives, if the location has kinks.
    pub plain: Option<Function>,
    /// A program that predicts rows at many positions of the states.
    pub predict: Function,
    /// A program that computes the sites at many positions of the states.
    pub sites: Function,
    /// The states that are optimised.
    pub moved: Vec<Arc<str>>,
}

/// An observation with a known location.
struct Observed<'a> {
    likelihood: Likelihood,
    /// `(states.., shared.., inputs.., outputs..) -> outputs`: the location of one row.
    location: Function,
    size: usize,
    /// For a Normal distribution, the name of the scale argument of the likelihood, and the
    /// observed output.
    normal: Option<(Arc<str>, &'a Input)>,
}

impl StageFunctions for Result<KinkedFunction, NoExactIntegral> {
    fn functions(&self) -> Vec<&Function> {
        self.iter().map(|found| &found.all).collect()
    }
}

/// Returns the programs that collapse weights of `model`. In `posterior`, every site of the model
/// is a point. The point is either optimised or fixed.
///
/// # Errors
/// Fails if an observation lies inside a loop, if a name is unknown, if an op does not have a
/// derivative, or if none of the sites affects the outputs.
pub fn collapse(
    problem: InferenceProblem<'_>,
    over: OverWeights<'_>,
    context: &mut PassContext,
) -> Result<Collapse, RewriteError> {
    let plans = plan::plans(problem, kl::KlOptions::default(), context)?;
    let all = LaplaceParts::new(problem, &plans)?;
    let moved = moved(&plans);
    let drawn = sample::with_means(&moved, problem.model);
    let (predict, sites) = sample::at_draws(problem, &plans, &drawn, context)?;
    let sampled = |weights: &[&SitePlan<'_>], outputs: usize, reason: NoExactIntegral| Collapse {
        weights: weights.iter().map(|plan| self::weights(plan)).collect(),
        outputs,
        likelihood: Likelihood::Other,
        form: LocationForm::Sampled(reason.to_string()),
        held: false,
        local: None,
        plain: None,
        predict: predict.clone(),
        sites: sites.clone(),
        moved: moved.clone(),
    };
    let observed = match observed(&all) {
        Ok(observed) => observed,
        Err(reason) => return Ok(sampled(&choice::chosen(&all, over)?, all.size, reason)),
    };
    let parts = located(&all, &observed, over);
    let chosen = choice::chosen(&parts, over)?;
    let held = chosen.iter().any(|plan| moves_scale(&all, &observed, plan));
    let names: Vec<String> = chosen.iter().map(|plan| plan.state()).collect();
    let found = pipeline::step(&pipelines::KINKS, context, |context| {
        pieces::pieces(&observed.location, &names, context)
    })?;
    let found = match found {
        Ok(found) => found,
        Err(reason) => return Ok(sampled(&chosen, observed.size, reason)),
    };
    let form = match found.kinks {
        0 => LocationForm::Affine,
        kinks => LocationForm::Piecewise {
            kinks,
            direct: found.direct,
        },
    };
    let parts = LaplaceParts {
        weights: chosen,
        ..parts
    };
    let (local, plain) = pipeline::step(&pipelines::COLLAPSE, context, |_| {
        let local = local::local(&parts, &observed, &found)?;
        let plain = (found.kinks > 0).then(|| local::plain(&local));
        Ok::<_, RewriteError>((local, plain))
    })?;
    let mut lowered = |function: &Function| pipeline::run(function, pipelines::BEFORE_LOWERING, context);
    Ok(Collapse {
        weights: parts.weights.iter().map(|plan| weights(plan)).collect(),
        outputs: observed.size,
        likelihood: observed.likelihood,
        form,
        held,
        local: Some(lowered(&local)?),
        plain: plain.map(|plain| lowered(&plain)).transpose()?,
        predict,
        sites,
        moved,
    })
}

/// Returns the only observation of a model, if its location is known. The error gives the reason if
/// the model does not have such an observation.
fn observed<'a>(all: &LaplaceParts<'a>) -> Result<Observed<'a>, NoExactIntegral> {
    let [observation] = &all.problem.densities.observations[..] else {
        return Err(NoExactIntegral::Observations);
    };
    let [output] = &all.problem.model.outputs[..] else {
        return Err(NoExactIntegral::Outputs);
    };
    if all.problem.densities.predictive.results.is_empty() {
        return Err(NoExactIntegral::PartialOutput);
    }
    let likelihood = known::likelihood(observation);
    let first = match (likelihood, observation.params.first()) {
        (Likelihood::Other, _) | (_, None) => {
            return Err(NoExactIntegral::Distribution(observation.name.to_string()));
        }
        (_, Some((name, _))) => format!("0/{name}"),
    };
    let is_location = |name: &str| name == first;
    if !all.pieces.iter().any(|piece| is_location(&piece.name)) {
        return Err(NoExactIntegral::NotByRow(first[2..].to_owned()));
    }
    let Some(value) = all.arguments.result(&first) else {
        return Err(NoExactIntegral::Unknown(first[2..].to_owned()));
    };
    let size = all.arguments.ty(value).shape.count(&Sizes::default());
    let normal = observation
        .params
        .get(1)
        .filter(|_| likelihood == Likelihood::Normal);
    Ok(Observed {
        likelihood,
        location: joined_arguments("location", &all.arguments, [(&*first, Support::Real)].into_iter()),
        size,
        normal: normal.map(|(name, _)| (format!("0/{name}").into(), output)),
    })
}

/// Returns the parts of a model whose only output is the location, with the weights that affect the
/// location. If the user chose the last layer, weights that also affect the scale are left out,
/// unless all weights affect it. This is because a network with a separate output layer for its
/// noise has two last layers.
fn located<'a>(all: &LaplaceParts<'a>, observed: &Observed<'_>, over: OverWeights<'_>) -> LaplaceParts<'a> {
    let moving = dependences(&observed.location, PortName::Outputs.text());
    let moves = |plan: &&&SitePlan<'_>| moving.iter().any(|name| **name == *plan.state());
    let movers: Vec<&SitePlan<'_>> = all.weights.iter().filter(moves).copied().collect();
    let alone = |plan: &&&SitePlan<'_>| !moves_scale(all, observed, plan);
    let alone: Vec<&SitePlan<'_>> = movers.iter().filter(alone).copied().collect();
    let weights = match over {
        OverWeights::LastLayer if !alone.is_empty() => alone,
        OverWeights::LastLayer | OverWeights::All | OverWeights::Names(_) | OverWeights::Network => movers,
    };
    LaplaceParts {
        problem: all.problem,
        plans: all.plans,
        weights,
        arguments: all.arguments.clone(),
        pieces: all.pieces.clone(),
        size: observed.size,
        outputs: observed.location.clone(),
    }
}

/// Returns whether a site affects the scale of a Normal distribution.
fn moves_scale(all: &LaplaceParts<'_>, observed: &Observed<'_>, plan: &SitePlan<'_>) -> bool {
    observed.normal.as_ref().is_some_and(|(scale, _)| {
        let moving = dependences(&all.arguments, scale);
        moving.iter().any(|name| **name == *plan.state())
    })
}

/// Returns the states of the sites that may be collapsed. Each name is paired with the number of elements of
/// the state.
fn columns(parts: &LaplaceParts<'_>) -> Vec<(String, usize)> {
    let weights = parts.weights.iter();
    weights.map(|plan| (plan.state(), plan.elements())).collect()
}
