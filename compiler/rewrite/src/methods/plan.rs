//! The plan for each site of a model. A plan describes how the site is drawn, and how its KL
//! divergence is computed.

use crate::constrain::{self, Scale};
use crate::density::{Densities, SitePrior, prefix_noise};
use crate::diagnostics::{self, RewriteError};
use crate::kl::closed::Closed;
use crate::kl::{self, NeedsDraws, Placement};
use crate::nodes::{self, Scope};
use crate::pass::PassContext;
use crate::pipelines;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Support, unconstrained};
use bnnc_graph::function::Value;
use bnnc_graph::model::{ApproximatePosterior, FamilyParam, Model, Site, SitePosterior};
use bnnc_graph::types::Type;

/// The plan for the approximation of one site.
#[derive(Clone, Debug)]
pub struct SitePlan<'a> {
    /// The site.
    pub site: &'a Site,
    /// The approximation of the site.
    pub posterior: &'a SitePosterior,
    /// The prior of the site.
    pub prior: &'a SitePrior,
    /// The place of the draws: in the support of the site, or on the reals.
    pub placement: Placement,
    /// The closed form of the KL divergence, or the reason why the divergence needs draws.
    pub way: NeedsDraws,
    /// The reason why the KL divergence is not known to be finite. `None` if the divergence is
    /// known to be finite.
    pub doubt: Option<String>,
}

impl SitePlan<'_> {
    /// Returns the sites that share the approximation: the members of a group, or the site itself.
    pub fn sites(&self) -> &[Site] {
        match &self.posterior.members[..] {
            [] => std::slice::from_ref(self.site),
            members => members,
        }
    }

    /// Returns the name of the state that holds the position of a point.
    pub fn state(&self) -> String {
        let param = self.posterior.params.first();
        param.map(|param| state_name(self, param)).unwrap_or_default()
    }

    /// Returns the type of the state that holds the position of a point.
    pub fn position_type(&self) -> Type {
        let param = self.posterior.params.first();
        param.map_or_else(Type::scalar, |param| state_type(self, param))
    }

    /// Returns the number of elements of the position of a point.
    pub fn elements(&self) -> usize {
        self.position_type().shape.count(&Sizes::default())
    }

    /// Returns a warning if the KL divergence is not known to be finite.
    pub fn warning(&self) -> Option<Diagnostic> {
        let why = self.doubt.as_ref()?;
        let (family, site) = (&self.posterior.family.name, &self.site.name);
        Some(diagnostics::unknown_kl(family, site, why))
    }
}

/// A model, its densities, and the approximation of its posterior.
#[derive(Clone, Copy, Debug)]
pub struct InferenceProblem<'a> {
    /// The density functions of the model.
    pub densities: &'a Densities,
    /// The model.
    pub model: &'a Model,
    /// The approximation of the posterior. It has one family for each site of the model.
    pub posterior: &'a ApproximatePosterior,
}

/// Returns one plan for each site. Fails if a site does not have a family, if a family lacks a
/// sampler or a density, or if a divergence is infinite.
pub fn plans<'a>(
    problem: InferenceProblem<'a>,
    options: kl::KlOptions,
    context: &PassContext,
) -> Result<Vec<SitePlan<'a>>, RewriteError> {
    let declined = context.declines(&pipelines::EXACT_KL);
    let sampled = declined || options.estimator != kl::Estimator::Best;
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for site in &problem.model.sites {
        match plan(problem, site, sampled) {
            Ok(plan) => found.push(plan),
            Err(Fault::Reported(diagnostic)) => faults.push(*diagnostic),
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(diagnostics::unless(faults, found)?)
}

fn plan<'a>(problem: InferenceProblem<'a>, site: &'a Site, sampled: bool) -> Result<SitePlan<'a>, Fault> {
    let InferenceProblem {
        densities, posterior, ..
    } = problem;
    let approximation = posterior
        .sites
        .iter()
        .find(|approximation| approximation.site == site.name);
    let prior = densities.priors.iter().find(|prior| prior.site == site.name);
    let (Some(posterior), Some(prior)) = (approximation, prior) else {
        let why = format!("`{}` has no family for `{}`", posterior.name, site.name);
        return Err(Fault::Bug(why));
    };
    if posterior.family.draw.is_none() && !kl::is_point(posterior) {
        return Err(diagnostics::no_sampler(&site.name, &posterior.family.name).into());
    }
    let placement = kl::placement(site, posterior)?;
    let doubt = match kl::is_point(posterior) {
        true => None,
        false => kl::finite::check(site, posterior, placement, prior).map_err(Fault::Reported)?,
    };
    let way = if kl::is_point(posterior) {
        NeedsDraws::Point
    } else if sampled {
        NeedsDraws::Draws(None)
    } else {
        kl::exact(posterior, placement, prior)?
            .map_or_else(|why| NeedsDraws::Draws(Some(why)), NeedsDraws::Closed)
    };
    if matches!(way, NeedsDraws::Draws(_)) && !has_density(posterior) {
        return Err(diagnostics::no_entropy(&site.name, &posterior.family.name).into());
    }
    Ok(SitePlan {
        site,
        posterior,
        prior,
        placement,
        way,
        doubt,
    })
}

/// Returns whether the expectation of the family's log density under the family itself can be
/// computed. The log density of a family without a density is replaced by a constant.
fn has_density(posterior: &SitePosterior) -> bool {
    let log_density = &posterior.family.log_density;
    let results: Vec<Value> = log_density.results.iter().map(|(_, value)| *value).collect();
    let needed = needed_by(log_density, &results);
    let depends = log_density
        .params
        .last()
        .is_some_and(|value| needed.contains(value));
    posterior.family.entropy.is_some() || depends
}

/// Returns the bijection between a parameter of a family and the state that holds the parameter.
/// The only parameter of a point is the value of the site itself.
pub fn scale_of(plan: &SitePlan<'_>, param: &FamilyParam) -> Scale {
    match (kl::is_point(plan.posterior), param.support) {
        (true, Support::Real) => Scale::Site(plan.site.support),
        (true, support) => Scale::Site(support),
        (false, support) => Scale::Parameter(support),
    }
}

/// Returns the name of the state that holds a parameter, such as `hidden.w/scale`.
pub fn state_name(plan: &SitePlan<'_>, param: &FamilyParam) -> String {
    match param.name.contains('/') {
        // If a parameter belongs to a member of a group, its name already begins with the name of
        // the member.
        true => param.name.to_string(),
        false => format!("{}/{}", plan.site.name, param.name),
    }
}

/// Returns the type of the state that holds a parameter.
pub fn state_type(plan: &SitePlan<'_>, param: &FamilyParam) -> Type {
    unconstrained(scale_of(plan, param).support(), &param.ty)
}

impl SitePlan<'_> {
    /// Returns the parameters of the family on their declared scale.
    pub fn family_params(&self, builder: &mut Builder, scope: &Scope) -> Vec<Value> {
        let params = self.posterior.params.iter();
        let one = |param: &FamilyParam| {
            let state = scope.get(&state_name(self, param));
            scale_of(self, param)
                .value(builder, state)
                .unwrap_or_else(|| unreachable!("a variational parameter is never an integer"))
        };
        params.map(one).collect()
    }

    /// Returns a draw at the coordinates `(draw, example, step)`. The draw lies in the support of
    /// the site.
    pub fn draw(&self, builder: &mut Builder, scope: &Scope, coordinates: [Value; 3]) -> Value {
        let params = self.family_params(builder, scope);
        let unconstrained = match &self.posterior.family.draw {
            Some(sampler) => {
                let args: Vec<Value> = params.into_iter().chain(coordinates).collect();
                builder.inline(&prefix_noise(sampler, &self.site.name), &args)[0]
            }
            None => params[0],
        };
        let transformed = (self.placement == Placement::Transformed)
            .then(|| constrain::constrain(builder, self.site.support, unconstrained));
        let value = transformed.flatten().map_or(unconstrained, |(value, _)| value);
        builder.label(value, &self.site.name);
        value
    }

    /// Returns the part of the KL divergence that is computed without draws. Returns `None` if the
    /// whole divergence needs draws. `scope` holds the states and the shared inputs.
    pub fn fixed_divergence(&self, builder: &mut Builder, scope: &Scope) -> Option<Value> {
        match &self.way {
            NeedsDraws::Closed(closed) if self.prior.depends_on.is_none() => {
                Some(self.closed_divergence(builder, scope, closed))
            }
            NeedsDraws::Draws(_) => {
                let entropy = self.posterior.family.entropy.as_ref()?;
                let params = self.family_params(builder, scope);
                let entropy = builder.inline(entropy, &params)[0];
                Some(builder.neg(entropy))
            }
            NeedsDraws::Closed(_) | NeedsDraws::Point => None,
        }
    }

    /// Returns the closed form of the KL divergence of this site. `scope` holds the states, the
    /// shared inputs, and the sites on which the prior depends.
    pub fn closed_divergence(&self, builder: &mut Builder, scope: &Scope, closed: &Closed) -> Value {
        let mut args = self.family_params(builder, scope);
        let rest = closed.function.params.iter().skip(args.len());
        args.extend(rest.map(|param| scope.get(nodes::param_name(&closed.function, *param))));
        builder.inline(&closed.function, &args)[0]
    }
}
