//! Chooses the gradient estimator of each layer in the likelihood.

use super::symmetry;
use crate::diagnostics::{self, RewriteError};
use crate::kl::{self, Placement};
use crate::methods::plan::SitePlan;
use bnnc_abi::methods::variational::ViOptions;
use bnnc_abi::names::layer_of;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// The gradient estimators that the user requested for the layers of a model. A name stands for one
/// site, or for all weights of a layer and of the layers inside it.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The layers with local reparameterisation.
    pub local: &'a [Arc<str>],
    /// The layers with Flipout.
    pub flipout: &'a [Arc<str>],
    /// The layers for whose weights the expectation is computed in closed form.
    pub integrate: &'a [Arc<str>],
    /// The order of the series that replaces a logistic log-likelihood if layers are in
    /// `integrate`.
    pub series: usize,
}

impl Default for Layers<'_> {
    fn default() -> Self {
        Layers {
            local: &[],
            flipout: &[],
            integrate: &[],
            series: 4,
        }
    }
}

/// How the expectation of the likelihood over one site is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// All examples share one draw of the site.
    Shared,
    /// The outputs of the layer are drawn separately for every example.
    Local,
    /// All examples share one draw of the site, but the signs of its elements differ between
    /// examples.
    Flipout,
    /// The expectation is computed in closed form, without draws.
    Integrated,
}

impl Expectation {
    /// Returns the name of the option that requests this computation.
    pub fn option(self) -> &'static str {
        match self {
            Expectation::Shared => "",
            Expectation::Local => ViOptions::local().as_str(),
            Expectation::Flipout => ViOptions::flipout().as_str(),
            Expectation::Integrated => ViOptions::integrate().as_str(),
        }
    }
}

/// Returns, for each plan, how the expectation over its site is computed. Fails if a name is
/// unknown, if two options name the same site, or if a family does not support the estimator.
pub fn ways(plans: &[SitePlan<'_>], layers: &Layers<'_>) -> Result<Vec<Expectation>, RewriteError> {
    let mut ways = vec![Expectation::Shared; plans.len()];
    let mut faults = Vec::new();
    let lists = [
        (Expectation::Local, layers.local),
        (Expectation::Flipout, layers.flipout),
        (Expectation::Integrated, layers.integrate),
    ];
    for (way, name) in lists
        .iter()
        .flat_map(|(way, names)| names.iter().map(|name| (*way, name)))
    {
        let mut found = false;
        for (plan, slot) in plans.iter().zip(&mut ways) {
            let Some(named) = plan.sites().iter().find(|site| covers(name, &site.name)) else {
                continue;
            };
            found = true;
            // The approximation is a point and does not have noise, so every estimator gives the
            // same result.
            if kl::is_point(plan.posterior) || *slot == way {
                continue;
            }
            match (*slot, unfit(plan, way)?) {
                (Expectation::Shared, None) => *slot = way,
                (Expectation::Shared, Some(why)) => {
                    faults.push(diagnostics::no_estimator(way.option(), &named.name, &why))
                }
                (other, _) => {
                    let why = format!("`{}` also names it", other.option());
                    faults.push(diagnostics::no_estimator(way.option(), &named.name, &why));
                }
            }
        }
        if !found {
            faults.push(unknown(way, name, plans));
        }
    }
    Ok(diagnostics::unless(faults, ways)?)
}

/// Returns whether a name covers a site: it is either the name of the site or the name of a layer
/// that contains the site.
pub fn covers(name: &str, site: &str) -> bool {
    let name = name.strip_suffix(".*").unwrap_or(name);
    let below = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    site.strip_prefix(name).is_some_and(below)
}

/// If the approximation of a site does not support an estimator, returns the reason.
fn unfit(plan: &SitePlan<'_>, way: Expectation) -> Result<Option<String>, Fault> {
    let family = &plan.posterior.family;
    if plan.placement == Placement::Transformed {
        return Ok(Some(format!(
            "a bijection transforms `{}` from the reals to the support of the site",
            family.name
        )));
    }
    let (symmetric, normal) = match &family.draw {
        Some(sampler) => symmetry::kind(sampler)?,
        None => (false, false),
    };
    Ok(match way {
        Expectation::Flipout if !symmetric => Some(format!(
            "the `draw` of `{}` does not show that draws are symmetric around a centre, element by element",
            family.name
        )),
        Expectation::Local | Expectation::Integrated if !normal => Some(format!(
            "the elements of a draw of `{}` are not independent normal variates",
            family.name
        )),
        Expectation::Shared | Expectation::Local | Expectation::Flipout | Expectation::Integrated => None,
    })
}

fn unknown(way: Expectation, name: &str, plans: &[SitePlan<'_>]) -> Diagnostic {
    let mut known: Vec<&str> = Vec::new();
    for plan in plans {
        for site in plan.sites() {
            known.push(&site.name);
            known.extend(layer_of(&site.name));
        }
    }
    diagnostics::unknown_layer(way.option(), name, known)
}
