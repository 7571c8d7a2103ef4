//! The warning about divergent iterations, with advice that depends on their cause if it is known.

use super::{ChainFacts, SLOW, agree, named, target, warning};
use crate::diagnostics::codes::DIVERGENCES;
use bnnc_base::diagnostic::Diagnostic;

/// If the chains agree, divergences are reported only if more than one iteration in this number diverged.
const RARE: usize = 10_000;

/// Adds advice about discontinuities if the likelihood may be discontinuous in some parameters.
pub(super) fn smooth(diagnostic: Diagnostic, facts: &ChainFacts<'_>) -> Diagnostic {
    let Some(first) = facts.jumps.first() else {
        return diagnostic;
    };
    diagnostic
        .note(format!(
            "the likely cause: the model compares or rounds {}, and the gradient does not show where the likelihood jumps",
            named(facts.jumps)
        ))
        .help(format!("use a smooth switch: `sigmoid((t - {first}) / width)` instead of `if t < {first}`; or use `random_walk`, which needs no gradient"))
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
    let percent = 100.0 * facts.divergences as f64 / facts.iterations as f64;
    let text = format!(
        "{} of {} iterations diverged ({percent:.2} %)",
        facts.divergences, facts.iterations
    );
    let diagnostic = warning(&DIVERGENCES, facts, text)
        .note("the draws miss the part of the posterior where iterations diverge: estimates may be wrong");
    if has_funnel(facts) {
        let diagnostic = as_noise(diagnostic, facts);
        return Some(diagnostic.help("or give scales a prior that keeps them away from zero"));
    }
    let diagnostic = diagnostic.help(match target(facts.transition) {
        Some(target) if target < LARGEST_TARGET => {
            format!(
                "raise `target_acceptance` from {target} towards {LARGEST_TARGET}: it makes the steps smaller"
            )
        }
        Some(_) => {
            "narrow the priors, or use a non-centred parameterisation: the steps are small already".to_owned()
        }
        None => "make `step_size` smaller, or leave it out: the warm-up finds one".to_owned(),
    });
    if !facts.jumps.is_empty() {
        return Some(smooth(diagnostic, facts));
    }
    let diagnostic = match facts.noncentred {
        [] => diagnostic,
        names => diagnostic.help(format!(
            "{} in `non_centered`: remove the parameters that many rows determine",
            match names {
                [_] => format!("{} is", named(names)),
                _ => format!("{} are", named(names)),
            }
        )),
    };
    Some(match facts.centred.is_empty() {
        true => diagnostic,
        false => as_noise(diagnostic, facts),
    })
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
pub(super) fn as_noise(diagnostic: Diagnostic, facts: &ChainFacts<'_>) -> Diagnostic {
    if facts.centred.is_empty() {
        return diagnostic;
    }
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
    diagnostic.help(format!(
        "{condition}use a non-centred parameterisation for {}, whose prior has an unknown scale: `non_centered = [{}]{target}`",
        named(facts.centred),
        all.join(", ")
    ))
}
