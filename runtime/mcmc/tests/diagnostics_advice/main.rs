//! Tests of all warnings about chains: the conditions that trigger them, and their texts.

#![allow(clippy::unwrap_used)]

mod convergence;
mod divergences;
mod order;
mod rows;

use bnnc_abi::manifest::OutputKind;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_mcmc::diagnostics::{ChainFacts, QuantitySummary, advice};
use bnnc_mcmc::loo::Shapes;

const ADAPTED: Adaptation = Adaptation {
    step_size: None,
    target_acceptance: 0.8,
    metric: MetricKind::Diagonal,
};

const NUTS: Transition = Transition::Nuts(NutsOptions {
    max_depth: 10,
    adaptation: ADAPTED,
});

const GOOD: QuantitySummary = QuantitySummary {
    mean: 0.0,
    sd: 1.0,
    median: 0.0,
    mad: 1.0,
    q05: -1.6,
    q95: 1.6,
    mcse_mean: 0.02,
    mcse_sd: 0.02,
    ess_bulk: 2000.0,
    ess_tail: 1800.0,
    rhat: 1.001,
};

/// Returns the facts about chains that do not cause any warning.
fn good<'a>(transition: &'a Transition, quantities: &'a [(String, QuantitySummary)]) -> ChainFacts<'a> {
    ChainFacts {
        infer: "fit",
        transition,
        chains: 4,
        without_draws: &[],
        iterations: 4000,
        divergences: 0,
        cut: 0,
        acceptance: &[0.82, 0.79, 0.91, 0.86],
        missing_information: &[0.9, 1.1, 0.8, 1.0],
        quantities,
        shapes: Some(Shapes {
            good: 50,
            bad: 0,
            very_bad: 0,
        }),
        loss_variance: None,
        noncentred: &[],
        jumps: &[],
        centred: &[],
        swapped: None,
        parameters: 3,
        has_layers: false,
        outputs: &[OutputKind::Real],
        raw: Some("standardise = [inputs, target]"),
    }
}

fn quantities(change: impl Fn(&mut QuantitySummary)) -> Vec<(String, QuantitySummary)> {
    let mut tau = GOOD;
    change(&mut tau);
    vec![("mu".to_string(), GOOD), ("tau".to_string(), tau)]
}

/// Returns the text of the warning. Panics if the number of warnings is not one, or if the warning
/// has another code.
#[track_caller]
fn only(facts: &ChainFacts<'_>, id: &str) -> String {
    let found = advice(facts);
    let [
        Diagnostic {
            code,
            severity,
            message,
            notes,
            help,
            ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((code.id, *severity), (id, Severity::Warning));
    assert!(message.starts_with("`fit`: "), "{message}");
    assert!(!help.is_empty());
    format!("{message}\n{}\n{}", notes.join("\n"), help.join("\n"))
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}
