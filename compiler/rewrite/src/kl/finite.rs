//! Divergences that are infinite, from what distributions declare of the ends of their values: where they are and how the density falls there.
//!
//! Note \[Tails\]. `KL(q || p)` is infinite where q has probability and p has none, and where `-log p` grows faster towards an end than q lets it:
//! like a power of the distance, and q has no moment of that order, or like an exponential, and its mean under q does not exist. A power law and a
//! log-normal tail of p ask for nothing, because the mean of the squared logarithm exists under every declared tail. At a finite end the
//! distance is that from the end, inverted. Every entropy of the library is finite.
//!
//! Parameters that are optimised are taken where they start: a family whose shape decides has to start where the divergence is
//! finite. Numbers that depend on other sites are not known; mostly they do not decide.

mod decide;
mod ends;

use super::Placement;
use super::start;
use crate::density::Prior;
use crate::report;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::{Site, SitePosterior};
use bnnc_graph::tensor::Tensor;
use ends::Part;

/// Whether a divergence is finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finiteness {
    /// It is.
    Finite,
    /// It is not known, with the reason.
    Unknown(String),
    /// It is infinite, with the reason.
    Infinite(String),
}

impl Finiteness {
    /// The worse of two.
    fn and(self, other: Finiteness) -> Finiteness {
        match (&self, &other) {
            (Finiteness::Infinite(_), _) | (_, Finiteness::Finite) => self,
            (_, Finiteness::Infinite(_)) | (Finiteness::Finite, _) => other,
            (Finiteness::Unknown(_), Finiteness::Unknown(_)) => self,
        }
    }
}

/// Refuses a divergence that is infinite; returns why it is not known to be finite, if it is not.
///
/// # Errors
/// An infinite divergence.
pub fn check(
    site: &Site,
    posterior: &SitePosterior,
    placement: Placement,
    prior: &Prior,
) -> Result<Option<String>, Box<Diagnostic>> {
    let why = match finiteness(site, posterior, placement, prior) {
        Finiteness::Finite => return Ok(None),
        Finiteness::Unknown(why) => return Ok(Some(why)),
        Finiteness::Infinite(why) => why,
    };
    let (family, name) = (&posterior.family.name, &prior.distribution.name);
    let message = format!(
        "the KL from `{family}` to the prior of `{}` is infinite: {why}",
        site.name
    );
    let help = format!("choose a family inside the support of `{name}` with lighter tails, or another prior");
    Err(Box::new(report::error(&report::INFINITE_KL, message).help(help)))
}

/// Whether the divergence of a site is finite.
pub fn finiteness(site: &Site, posterior: &SitePosterior, placement: Placement, prior: &Prior) -> Finiteness {
    let family = &posterior.family;
    let starts: Vec<Option<Tensor>> = posterior.params.iter().map(start::values).collect();
    let q = ends::elements(family, &starts);
    if prior.members.is_empty() {
        return against(&family.name, &q, (site.support, placement), prior);
    }
    // Which element of the family belongs to which member is left open: one that decides by its own number is not known.
    prior
        .members
        .iter()
        .fold(Finiteness::Finite, |found, (member, prior)| {
            let placement = match member.support {
                Support::Real => Placement::Inside,
                _ => Placement::Carried,
            };
            found.and(against(&family.name, &q, (member.support, placement), prior))
        })
}

fn against(
    family: &str,
    q: &[Vec<Part>],
    (support, placement): (Support, Placement),
    prior: &Prior,
) -> Finiteness {
    let distribution = &prior.distribution;
    let arguments: Vec<Option<Tensor>> = (0..prior.arguments.results.len())
        .map(|at| argument(&prior.arguments, at))
        .collect();
    let mut p = ends::elements(distribution, &arguments);
    if placement == Placement::Carried {
        for part in p.iter_mut().flatten() {
            *part = ends::free(*part, support);
        }
    }
    let names = decide::Names {
        family,
        prior: &distribution.name,
    };
    let count = q.len().max(p.len());
    let element = |of: &[Vec<Part>], at: usize| match of.len() {
        1 => of[0].clone(),
        length if length == count => of[at].clone(),
        _ => of[0].iter().map(Part::without_numbers).collect(),
    };
    if q.iter().chain(&p).any(Vec::is_empty) {
        let name = if p.iter().any(Vec::is_empty) {
            &*distribution.name
        } else {
            family
        };
        return decide::undeclared(name);
    }
    let mut found = Finiteness::Finite;
    let mut last = None;
    for at in 0..count {
        let pair = (element(q, at), element(&p, at));
        // Most elements are alike.
        if last.as_ref() != Some(&pair) {
            found = found.and(decide::of_element(&pair.0, &pair.1, &names));
            last = Some(pair);
        }
    }
    found
}

/// An argument of a prior, where it depends on no site and no data.
fn argument(arguments: &Function, at: usize) -> Option<Tensor> {
    let result = arguments.results[at].clone();
    let needed = needed_by(arguments, &[result.1]);
    if arguments.params.iter().any(|param| needed.contains(param)) {
        return None;
    }
    let inputs: Vec<Tensor> = arguments
        .params
        .iter()
        .map(|param| Tensor::from_fn(arguments.ty(*param).shape.resolve(&Sizes::default()), |_| 0.0))
        .collect();
    let alone = Function {
        results: vec![result],
        ..arguments.clone()
    };
    evaluate(&alone, &inputs, &Sizes::default()).pop()
}
