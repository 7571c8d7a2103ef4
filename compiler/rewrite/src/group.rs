//! Replaces the sites that share a joint family by one site, so that later passes treat groups like
//! sites.
//!
//! The site of a group is a vector of reals. This vector holds the unconstrained coordinates of all
//! members, one member after another. The elements of a member are in row-major order. A bijection
//! transforms the coordinates of a constrained member onto its support. The prior of the group is
//! the density of these coordinates: the product of all priors of the members and all Jacobian
//! determinants of the bijections. Inside this density, the parameters of a member's prior may be
//! computed from the values of other members. For example, a scale and the weights that it scales
//! may share a family.

use crate::constrain::constrain;
use crate::density::{Densities, Prediction, SitePrior};
use crate::nodes::{self, Scope};
use crate::pipeline::StageFunctions;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::dist::{Instance, MeasureKind, Support, unconstrained};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{ApproximatePosterior, Model, Site, SitePosterior};
use bnnc_graph::types::Type;
use std::sync::Arc;

impl StageFunctions for (Densities, Model) {
    fn functions(&self) -> Vec<&Function> {
        self.0.functions()
    }
}

/// Returns `densities` and `model` with one site in place of each group in `posterior`. The
/// function of the model is not changed, because no later pass reads it.
pub fn group(densities: Densities, model: Model, posterior: &ApproximatePosterior) -> (Densities, Model) {
    let groups: Vec<&SitePosterior> = posterior
        .sites
        .iter()
        .filter(|site| !site.members.is_empty())
        .collect();
    if groups.is_empty() {
        return (densities, model);
    }
    let of_groups = |function: &Function| of_groups(function, &groups);
    let predictions = densities.predictions.iter().map(|prediction| Prediction {
        output: prediction.output.clone(),
        function: of_groups(&prediction.function),
    });
    let grouped = Densities {
        priors: priors(&densities.priors, &model, &groups),
        log_priors: of_groups(&densities.log_priors),
        log_prior: of_groups(&densities.log_prior),
        likelihood_arguments: of_groups(&densities.likelihood_arguments),
        row_log_likelihood: of_groups(&densities.row_log_likelihood),
        training_row: densities.training_row.as_ref().map(of_groups),
        predictions: predictions.collect(),
        derived: of_groups(&densities.derived),
        ..densities
    };
    let mut sites: Vec<Site> = Vec::new();
    for site in &model.sites {
        match groups.iter().find(|group| is_member(group, &site.name)) {
            None => sites.push(site.clone()),
            Some(group) if sites.iter().any(|found| found.name == group.site) => {}
            Some(group) => sites.push(site_of(group)),
        }
    }
    (grouped, Model { sites, ..model })
}

/// Computes the values of the sites in an approximation from one value of its family. Also returns
/// the log determinant of the bijections' Jacobian, or `None` if the sites do not need a bijection.
pub fn members(
    builder: &mut Builder,
    posterior: &SitePosterior,
    value: Value,
) -> (Vec<(Site, Value)>, Option<Value>) {
    let mut found = Vec::new();
    let mut log_jacobian: Option<Value> = None;
    let mut first = 0;
    for site in &posterior.members {
        let count = free_elements(site);
        let slice = builder.slice(value, Window::full(1).with(0, first, first + count));
        let free = builder.reshape(slice, &unconstrained(site.support, &site.ty).shape);
        first += count;
        let Some((own, log_slope)) = constrain(builder, site.support, free) else {
            unreachable!("an integer parameter cannot have a family on the reals")
        };
        if site.support != Support::Real {
            log_jacobian = nodes::sum(builder, log_jacobian, Some(log_slope));
        }
        builder.label(own, &site.name);
        found.push((site.clone(), own));
    }
    (found, log_jacobian)
}

/// Returns the number of free coordinates of a site.
pub(crate) fn free_elements(site: &Site) -> usize {
    unconstrained(site.support, &site.ty)
        .shape
        .count(&Sizes::default())
}

fn is_member(group: &SitePosterior, site: &str) -> bool {
    group.members.iter().any(|member| &*member.name == site)
}

/// Returns the site that replaces the members of a group.
fn site_of(group: &SitePosterior) -> Site {
    Site {
        name: group.site.clone(),
        ty: Type::real(Shape::fixed(&[group.members.iter().map(free_elements).sum()])),
        support: Support::Real,
        local: false,
        start: None,
    }
}

/// Binds the members of a group to their values. Returns the log determinant of the Jacobian of the
/// members' bijections.
fn bind(builder: &mut Builder, scope: &mut Scope, group: &SitePosterior, value: Value) -> Option<Value> {
    let (members, log_jacobian) = members(builder, group, value);
    for (site, value) in members {
        scope.set(&site.name, value);
    }
    log_jacobian
}

/// Rewrites a function of sites as a function of groups. Each group replaces its members, which are
/// identified by name.
fn of_groups(function: &Function, groups: &[&SitePosterior]) -> Function {
    let mut builder = Builder::new(&function.name);
    let mut scope = Scope::default();
    for group in groups {
        if nodes::named_params(function, |name| is_member(group, name)).contains(&true) {
            let value = builder.param(&group.site, site_of(group).ty);
            bind(&mut builder, &mut scope, group, value);
        }
    }
    for param in &function.params {
        let name = nodes::param_name(function, *param);
        if !groups.iter().any(|group| is_member(group, name)) {
            scope.param(&mut builder, name, function.ty(*param).clone());
        }
    }
    let results = scope.call(&mut builder, function);
    crate::rule::remove_dead(&builder.finish(results))
}

/// Returns the priors of a model. The prior of each group replaces the priors of its members.
fn priors(priors: &[SitePrior], model: &Model, groups: &[&SitePosterior]) -> Vec<SitePrior> {
    let mut found: Vec<SitePrior> = Vec::new();
    for prior in priors {
        match groups.iter().find(|group| is_member(group, &prior.site)) {
            // The parameters of a single site's prior may depend on members of a group.
            None => found.push(SitePrior {
                arguments: of_groups(&prior.arguments, groups),
                depends_on: prior.depends_on.as_ref().map(|site| {
                    let group = groups.iter().find(|group| is_member(group, site));
                    group.map_or_else(|| site.clone(), |group| group.site.clone())
                }),
                ..prior.clone()
            }),
            Some(group) if found.iter().any(|known| known.site == group.site) => {}
            Some(group) => found.push(prior_of(group, priors, model, groups)),
        }
    }
    found
}

/// Returns the prior of a group: the product of its members' priors. The parameters of this prior
/// are all other sites and shared inputs that the members' priors need.
fn prior_of(
    group: &SitePosterior,
    priors: &[SitePrior],
    model: &Model,
    groups: &[&SitePosterior],
) -> SitePrior {
    let own: Vec<&SitePrior> = group
        .members
        .iter()
        .filter_map(|site| priors.iter().find(|prior| prior.site == site.name))
        .collect();
    let others: Vec<&SitePosterior> = groups
        .iter()
        .copied()
        .filter(|other| other.site != group.site)
        .collect();
    let arguments: Vec<Function> = own
        .iter()
        .map(|prior| of_groups(&prior.arguments, &others))
        .collect();
    let mut needed: Vec<(Arc<str>, Type)> = Vec::new();
    for function in &arguments {
        for param in &function.params {
            let name = nodes::param_name(function, *param);
            if !is_member(group, name) && !needed.iter().any(|(known, _)| &**known == name) {
                needed.push((name.into(), function.ty(*param).clone()));
            }
        }
    }
    let is_site = |name: &str| {
        model.sites.iter().any(|site| &*site.name == name) || others.iter().any(|other| &*other.site == name)
    };
    let members = group.members.iter().zip(&own).zip(&arguments);
    let members = members.map(|((site, prior), arguments)| {
        let prior = SitePrior {
            arguments: arguments.clone(),
            ..(*prior).clone()
        };
        (site.clone(), prior)
    });
    SitePrior {
        members: members.collect(),
        site: group.site.clone(),
        depends_on: needed
            .iter()
            .map(|(name, _)| name.clone())
            .find(|name| is_site(name)),
        arguments: as_they_are(group, &needed),
        distribution: Arc::new(product(group, &own, &arguments, needed)),
    }
}

fn parameter(group: &SitePosterior, name: &str) -> String {
    format!("{}/{name}", group.site)
}

/// Returns a function that has the parameters `needed` and returns them unchanged.
fn as_they_are(group: &SitePosterior, needed: &[(Arc<str>, Type)]) -> Function {
    let mut builder = Builder::new("arguments");
    let results = needed
        .iter()
        .map(|(name, ty)| (parameter(group, name).into(), builder.param(name, ty.clone())))
        .collect();
    builder.finish(results)
}

/// Returns the product of all priors in a group.
fn product(
    group: &SitePosterior,
    own: &[&SitePrior],
    arguments: &[Function],
    needed: Vec<(Arc<str>, Type)>,
) -> Instance {
    let mut builder = Builder::new("log_density");
    let mut scope = Scope::default();
    let mut params = Vec::new();
    for (name, ty) in needed {
        let param = parameter(group, &name);
        scope.set(&name, builder.param(&param, ty.clone()));
        params.push((Arc::from(param), ty));
    }
    let ty = site_of(group).ty;
    let value = builder.param("x", ty.clone());
    let log_jacobian = bind(&mut builder, &mut scope, group, value);
    let mut sum = log_jacobian.unwrap_or_else(|| builder.real(0.0));
    for (prior, arguments) in own.iter().zip(arguments) {
        let mut args: Vec<Value> = scope
            .call(&mut builder, arguments)
            .into_iter()
            .map(|(_, value)| value)
            .collect();
        args.push(scope.get(&prior.site));
        let term = builder.inline(&prior.distribution.log_density, &args)[0];
        sum = builder.add(sum, term);
    }
    let mut names: Vec<&str> = own.iter().map(|prior| &*prior.distribution.name).collect();
    names.dedup();
    Instance {
        name: names.join("` and `").into(),
        measure: match own
            .iter()
            .any(|prior| prior.distribution.measure == MeasureKind::Improper)
        {
            true => MeasureKind::Improper,
            false => MeasureKind::Density,
        },
        // Each parameter is the value of a site or of an input. This value already lies in its own
        // support, so the support need not be declared here.
        supports: vec![Support::Real; params.len()],
        params,
        value: ty,
        support: Support::Real,
        reach: Vec::new(),
        elementwise: false,
        log_density: Arc::new(builder.finish(vec![(PortName::LogDensity.into(), sum)])),
        log_density_elements: None,
        draw: None,
        wider_draw: None,
        mean: None,
        variance: None,
        entropy: None,
        moment: None,
        log_mean: None,
        log_variance: None,
        probabilities: None,
    }
}
