//! `pruning`: predictions with some weights set to zero, and the moments from which the weights are
//! ranked by their signal-to-noise ratio.

use super::{RewriteError, TrainingSettings};
use crate::methods::plan::{self, InferenceProblem, SitePlan};
use crate::methods::predict;
use crate::methods::task::Program;
use crate::pass::PassContext;
use crate::{kl, pipeline, pipelines};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_graph::dist::Support;
use bnnc_graph::function::Function;
use bnnc_graph::model::Site;
use std::sync::Arc;

/// The functions for a pruning table, ready to be lowered.
#[derive(Clone, Debug)]
pub struct PruningFunctions {
    /// The sites whose elements may be removed.
    pub sites: Vec<Arc<str>>,
    /// The sites whose elements are not removed, each with the reason.
    pub untouched: Vec<(Arc<str>, String)>,
    /// `(states..) -> SITE/mean, SITE/variance` for `sites`.
    pub moments: Function,
    /// The program `(states.., data.., draw0, row0, step, SITE/mask..)`. The program has the
    /// results of [`predict::predict`].
    pub predict: Function,
}

/// Builds the functions for a pruning table of `posterior`.
///
/// # Errors
/// Returns the errors of `objective`.
pub fn pruning(
    problem: InferenceProblem<'_>,
    settings: TrainingSettings<'_>,
    context: &mut PassContext,
) -> Result<PruningFunctions, RewriteError> {
    let plans = plan::plans(problem, settings.kl, context)?;
    let (mut weights, mut untouched) = (Vec::new(), Vec::new());
    for plan in &plans {
        match stays(plan) {
            Some(why) => untouched.push((plan.site.name.clone(), why)),
            None => weights.push(plan.site.name.clone()),
        }
    }
    let (moments, predict) = pipeline::step(&pipelines::PRUNE, context, |_| {
        let predict = predict::predict_masked(problem.densities, problem.model, &plans, &weights);
        Ok::<_, Fault>((moments(&plans, &weights), predict))
    })?;
    Ok(PruningFunctions {
        sites: weights,
        untouched,
        moments: pipeline::run(&moments, pipelines::BEFORE_LOWERING, context)?,
        predict: pipeline::run(&predict, pipelines::BEFORE_LOWERING, context)?,
    })
}

/// If the elements of a site cannot be removed, returns the reason.
fn stays(plan: &SitePlan<'_>) -> Option<String> {
    let family = &plan.posterior.family;
    let is_real = |site: &Site| site.support == Support::Real;
    if !is_real(plan.site) || !plan.posterior.members.iter().all(is_real) {
        return Some("a constrained parameter cannot be zero".to_owned());
    }
    if kl::is_point(plan.posterior) {
        return Some("a fixed value has no standard deviation".to_owned());
    }
    if family.mean.is_none() || family.variance.is_none() {
        return Some(format!("`{}` does not define a mean and a variance", family.name));
    }
    None
}

/// Returns `(states..) -> SITE/mean, SITE/variance`.
fn moments(plans: &[SitePlan<'_>], sites: &[Arc<str>]) -> Function {
    let Program { mut builder, scope } = Program::new("moments").states(plans);
    let mut results = Vec::new();
    for plan in plans.iter().filter(|plan| sites.contains(&plan.site.name)) {
        let family = &plan.posterior.family;
        let params = plan.family_params(&mut builder, &scope);
        let parts = [
            (PortName::Mean, &family.mean),
            (PortName::Variance, &family.variance),
        ];
        for (port, function) in parts {
            if let Some(function) = function {
                let value = builder.inline(function, &params)[0];
                results.push((port.of(&plan.site.name).into(), value));
            }
        }
    }
    builder.finish(results)
}
