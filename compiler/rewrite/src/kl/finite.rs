//! Detects infinite KL divergences by comparing the ends of the supports and the tails that the
//! distributions declare.
//!
//! Note \[Tails\]. `KL(q || p)` is infinite where q has probability but the density of p is zero.
//! The divergence is also infinite if `-log p` grows too fast towards an end of the support. If
//! `-log p` grows like a power of the distance, the divergence is infinite unless q has a moment of
//! that order. If `-log p` grows like an exponential, it is infinite unless that exponential has a
//! finite mean under q. Power and log-normal tails of p never make the divergence
//! infinite. The reason is that the mean of the squared logarithm exists under every declared tail.
//! At a finite end, the inverse of the distance from that end is used instead of the distance.
//! Every entropy of the library is finite.
//!
//! The check uses the starting values of optimised parameters. If a shape parameter decides whether
//! the divergence is finite, the divergence must be finite at the starting value of this parameter.
//! Numbers that depend on other sites are unknown, but they rarely affect the result.

mod decide;
mod ends;

use super::{Placement, start};
use crate::density::SitePrior;
use crate::rule::remove_dead;
use crate::{diagnostics, group, nodes};
use bnnc_abi::manifest::Init;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_graph::analysis::dataflow::needed_by;
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::{FamilyParam, FamilyStart, Site, SitePosterior};
use bnnc_graph::tensor::Tensor;
use ends::{Known, SupportInterval};
use std::collections::HashSet;
use std::ops::Range;

/// The result of checking whether a KL divergence is finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finiteness {
    /// The divergence is finite.
    Finite,
    /// The check cannot show that the divergence is finite. The text is the reason.
    Unknown(String),
    /// The divergence is infinite. The text is the reason.
    Infinite(String),
}

impl Finiteness {
    /// Returns the worse of two results.
    fn and(self, other: Finiteness) -> Finiteness {
        match (&self, &other) {
            (Finiteness::Infinite(_), _) | (_, Finiteness::Finite) => self,
            (_, Finiteness::Infinite(_)) | (Finiteness::Finite, _) => other,
            (Finiteness::Unknown(_), Finiteness::Unknown(_)) => self,
        }
    }
}

/// Rejects an infinite divergence. If the divergence is not known to be finite, returns the reason.
///
/// # Errors
/// Returns a diagnostic if the divergence is infinite.
pub fn check(
    site: &Site,
    posterior: &SitePosterior,
    placement: Placement,
    prior: &SitePrior,
) -> Result<Option<String>, Box<Diagnostic>> {
    let why = match finiteness(site, posterior, placement, prior) {
        Finiteness::Finite => return Ok(None),
        Finiteness::Unknown(why) => return Ok(Some(why)),
        Finiteness::Infinite(why) => why,
    };
    let (family, name) = (&posterior.family.name, &prior.distribution.name);
    Err(Box::new(diagnostics::infinite_kl(family, &site.name, name, &why)))
}

/// Returns whether the divergence of a site is finite.
pub fn finiteness(
    site: &Site,
    posterior: &SitePosterior,
    placement: Placement,
    prior: &SitePrior,
) -> Finiteness {
    let family = &posterior.family;
    let starts: Vec<Option<Known>> = posterior.params.iter().map(started).collect();
    let q = ends::elements(family, &starts);
    if prior.members.is_empty() {
        return against(&family.name, &q, (site.support, placement), prior);
    }
    let mut found = Finiteness::Finite;
    let mut first = 0;
    for (member, prior) in &prior.members {
        let placement = match member.support {
            Support::Real => Placement::Inside,
            _ => Placement::Transformed,
        };
        let count = group::free_elements(member);
        let own = of_member(&q, first..first + count);
        found = found.and(against(&family.name, &own, (member.support, placement), prior));
        first += count;
    }
    found
}

/// Returns the intervals for the elements of a member of a joint family. If all elements of the
/// family have the same numbers, the result has one interval for all of them. If the elements of
/// the member cannot be identified, the numbers in the result are unknown.
fn of_member(q: &[Vec<SupportInterval>], range: Range<usize>) -> Vec<Vec<SupportInterval>> {
    match q {
        [only] => vec![only.clone()],
        _ => match q.get(range) {
            Some(own) => own.to_vec(),
            None => q
                .first()
                .map(|first| without_numbers(first))
                .into_iter()
                .collect(),
        },
    }
}

fn without_numbers(parts: &[SupportInterval]) -> Vec<SupportInterval> {
    parts.iter().map(SupportInterval::without_numbers).collect()
}

fn against(
    family: &str,
    q: &[Vec<SupportInterval>],
    (support, placement): (Support, Placement),
    prior: &SitePrior,
) -> Finiteness {
    let distribution = &prior.distribution;
    let arguments: Vec<Option<Known>> = (0..prior.arguments.results.len())
        .map(|at| argument(&prior.arguments, at))
        .collect();
    let mut p = ends::elements(distribution, &arguments);
    if placement == Placement::Transformed {
        for part in p.iter_mut().flatten() {
            *part = ends::free(*part, support);
        }
    }
    let names = decide::DistNames {
        family,
        prior: &distribution.name,
    };
    let count = q.len().max(p.len());
    let element = |of: &[Vec<SupportInterval>], at: usize| match of.len() {
        1 => of[0].clone(),
        length if length == count => of[at].clone(),
        _ => without_numbers(&of[0]),
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
        // Most elements are equal to the previous element.
        if last.as_ref() != Some(&pair) {
            found = found.and(decide::of_element(&pair.0, &pair.1, &names));
            last = Some(pair);
        }
    }
    found
}

/// Returns the starting value of a parameter of a family. Returns `None` if the value comes from
/// another inference run.
fn started(param: &FamilyParam) -> Option<Known> {
    let sizes = param.ty.shape.resolve(&Sizes::default());
    match &param.start {
        FamilyStart::Optimise(Init::Values(values)) | FamilyStart::Fixed(values)
            if values.len() > 1 && values.len() == sizes.iter().product::<usize>() =>
        {
            Some(Known::Elements(Tensor::new(sizes, values.clone())))
        }
        _ => start::start(param).map(Known::Number),
    }
}

/// Returns an argument of a prior. Returns `None` if the argument depends on a site or on data.
fn argument(arguments: &Function, at: usize) -> Option<Known> {
    let result = arguments.results[at].clone();
    let needed = needed_by(arguments, &[result.1]);
    if arguments.params.iter().any(|param| needed.contains(param)) {
        return None;
    }
    let sizes = arguments.ty(result.1).shape.resolve(&Sizes::default());
    let alone = Function {
        results: vec![result],
        ..arguments.clone()
    };
    let alone = nodes::with_params(&remove_dead(&alone), &HashSet::new());
    if let Some(one) = start::along(&alone, 1) {
        let value = evaluate(&one, &[], &Sizes::default()).pop()?;
        return value.data.first().copied().map(Known::Number);
    }
    let all = ends::is_small(&sizes).then(|| evaluate(&alone, &[], &Sizes::default()).pop());
    all.flatten().map(Known::Elements)
}
