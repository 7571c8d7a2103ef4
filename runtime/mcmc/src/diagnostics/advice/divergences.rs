//! The warning about divergent iterations, with advice that depends on their cause if it is known.

use super::{ChainFacts, SLOW, agree, named, target};
use crate::diagnostics::codes::DIVERGENCES;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::reports;

/// If the chains agree, divergences are reported only if more than one iteration in this number diverged.
const RARE: usize = 10_000;

/// Returns the likely cause and the advice if the likelihood may be discontinuous in some parameters.
pub(super) fn jumps(facts: &ChainFacts<'_>) -> Option<[String; 2]> {
    let first = facts.jumps.first()?;
    Some([
        format!(
            "the likely cause: the model compares or rounds {}, and the gradient does not show where the likelihood jumps",
            named(facts.jumps)
        ),
        format!(
            "use a smooth switch: `sigmoid((t - {first}) / width)` instead of `if t < {first}`; or use `random_walk`, which needs no gradient"
        ),
    ])
}

/// Returns the warning about divergent iterations, with advice for the most likely cause.
pub(super) fn divergences(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    // A sampler without trajectories handles a point whose density cannot be computed like any other rejected proposal, so its chains do not miss
    // a part of the posterior.
    let part = facts.transition.part();
    let follows = part.has_trajectories() || !part.has_acceptance_step();
    let are_few = facts.divergences.saturating_mul(RARE) <= facts.iterations && agree(facts);
    if facts.divergences == 0 || are_few || !follows {
        return None;
    }
    let jumps = jumps(facts);
    let diagnostic = diverged(facts).notes(jumps.as_ref().map(|[cause, _]| cause));
    Some(
        diagnostic.helps(
            match jumps {
                _ if has_funnel(facts) => {
                    let scales = "or give scales a prior that keeps them away from zero".to_owned();
                    vec![as_noise(facts), Some(scales)]
                }
                Some([_, help]) => vec![Some(smaller_steps(facts)), Some(help)],
                None => vec![
                    Some(smaller_steps(facts)),
                    other_parameterisation(facts),
                    as_noise(facts),
                ],
            }
            .into_iter()
            .flatten(),
        ),
    )
}

reports! {
    /// The warning about divergent iterations, without advice.
    fn diverged(facts: &ChainFacts<'_>)
        let ChainFacts { infer, divergences, iterations, .. } = facts;
        let percent = 100.0 * *divergences as f64 / *iterations as f64;
        = program_warning(DIVERGENCES, "`{infer}`: {divergences} of {iterations} iterations diverged ({percent:.2} %)")
        .note("the draws miss the part of the posterior where iterations diverge: estimates may be wrong");
}

/// Returns the advice to take smaller steps.
fn smaller_steps(facts: &ChainFacts<'_>) -> String {
    match target(facts.transition) {
        Some(target) if target < LARGEST_TARGET => {
            format!(
                "raise `target_acceptance` from {target} towards {LARGEST_TARGET}: it makes the steps smaller"
            )
        }
        Some(_) => {
            "narrow the priors, or use a non-centred parameterisation: the steps are small already".to_owned()
        }
        None => "make `step_size` smaller, or leave it out: the warm-up finds one".to_owned(),
    }
}

/// Returns the advice to use the centred parameterisation for parameters that are non-centred, if there are any.
fn other_parameterisation(facts: &ChainFacts<'_>) -> Option<String> {
    let verb = match facts.noncentred {
        [] => return None,
        [_] => "is",
        _ => "are",
    };
    let names = named(facts.noncentred);
    Some(format!(
        "{names} {verb} in `non_centered`: remove the parameters that many rows determine"
    ))
}

/// The advice never recommends a target acceptance rate above this value. Higher rates need very small steps.
const LARGEST_TARGET: f64 = 0.99;

/// Returns whether a funnel is likely. It is likely if the prior scale of a parameter is itself unknown, and either the energy changes slowly or
/// the chains disagree. In a funnel, smaller steps do not help, because the energy changes slowly with every step size. If many rows inform a
/// parameter, its posterior does not have a funnel. The centred parameterisation then samples it better.
fn has_funnel(facts: &ChainFacts<'_>) -> bool {
    let is_slow = facts.missing_information.iter().any(|part| *part < SLOW);
    facts.jumps.is_empty() && !facts.centred.is_empty() && (is_slow || !agree(facts))
}

/// The target acceptance rate that the advice recommends together with the non-centred parameterisation. On the eight-schools model, this
/// parameterisation has divergences at a target of 0.8 but not at 0.95.
const NON_CENTRED_TARGET: f64 = 0.95;

/// Advises the non-centred parameterisation for the parameters whose prior scale is unknown, if there are any.
pub(super) fn as_noise(facts: &ChainFacts<'_>) -> Option<String> {
    let all: Vec<&str> = facts
        .noncentred
        .iter()
        .chain(facts.centred)
        .map(String::as_str)
        .collect();
    let target = match target(facts.transition) {
        Some(target) if target < NON_CENTRED_TARGET => format!(", target_acceptance = {NON_CENTRED_TARGET}"),
        Some(_) | None => String::new(),
    };
    let condition = match has_funnel(facts) {
        true => "",
        false => "if few rows inform each element, ",
    };
    (!facts.centred.is_empty()).then(|| format!(
        "{condition}use a non-centred parameterisation for {}, whose prior has an unknown scale: `non_centered = [{}]{target}`",
        named(facts.centred),
        all.join(", ")
    ))
}
