//! Tests warnings about divergences.

use crate::{ADAPTED, NUTS, assert_says, good, only, quantities};
use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::{Adaptation, Transition};
use bnnc_mcmc::diagnostics::{ChainFacts, advice};

#[test]
fn divergences_are_reported_with_advice_for_their_cause() {
    let quantities = quantities(|_| {});
    let centred = ["theta".to_string()];
    let facts = ChainFacts {
        divergences: 12,
        centred: &centred,
        ..good(&NUTS, &quantities)
    };
    let text = only(&facts, "E0520");
    assert_says(
        &text,
        &[
            "12 of 4000",
            "(0.30 %)",
            "from 0.8 towards 0.99",
            "if few rows inform each element",
            "`non_centered = [theta], target_acceptance = 0.95`",
        ],
    );
    // If the energy changes slowly and a prior scale is unknown, the posterior is assumed to have a funnel. In a funnel,
    // smaller steps do not help.
    let found = advice(&ChainFacts {
        missing_information: &[0.9, 0.2, 0.8, 1.0],
        ..facts
    });
    assert_eq!(found[0].code.id, "E0520");
    let help = &found[0].help;
    assert!(
        help[0].starts_with("use a non-centred parameterisation for `theta`"),
        "{help:?}"
    );
    assert!(help[1].contains("give scales a prior"), "{help:?}");
    assert!(help.iter().all(|line| !line.contains("raise")), "{help:?}");
    // If steps are small already, the advice does not recommend smaller steps.
    let target = Transition::Nuts(NutsOptions {
        max_depth: 10,
        adaptation: Adaptation {
            target_acceptance: 0.99,
            ..ADAPTED
        },
    });
    let text = only(
        &ChainFacts {
            transition: &target,
            acceptance: &[0.99; 4],
            divergences: 12,
            ..good(&NUTS, &quantities)
        },
        "E0520",
    );
    assert!(
        text.contains("narrow the priors") && !text.contains("step_size"),
        "{text}"
    );
    // If no parameter has an unknown prior scale, the advice does not recommend a non-centred parameterisation.
    let text = only(
        &ChainFacts {
            centred: &[],
            ..facts
        },
        "E0520",
    );
    assert!(
        !text.contains("non_centered") && !text.contains("scales"),
        "{text}"
    );
    let given = Transition::Hmc(HmcOptions {
        steps: 8,
        adaptation: Adaptation {
            step_size: Some(0.1),
            ..ADAPTED
        },
    });
    let facts = ChainFacts {
        transition: &given,
        ..facts
    };
    assert_says(&only(&facts, "E0520"), &["make `step_size` smaller"]);
}

#[test]
fn rare_divergences_of_agreeing_chains_are_not_reported() {
    let quantities = quantities(|_| {});
    for (divergences, iterations, is_reported) in [
        (1, 80_000, false),
        (8, 80_000, false),
        (9, 80_000, true),
        (1, 10_000, false),
        (1, 4000, true),
    ] {
        let facts = ChainFacts {
            divergences,
            iterations,
            ..good(&NUTS, &quantities)
        };
        let found = advice(&facts);
        assert_eq!(
            !found.is_empty(),
            is_reported,
            "{divergences} of {iterations}: {found:?}"
        );
    }
    let apart = self::quantities(|tau| tau.rhat = 1.2);
    let facts = ChainFacts {
        divergences: 1,
        iterations: 80_000,
        ..good(&NUTS, &apart)
    };
    let ids: Vec<&str> = advice(&facts).iter().map(|found| found.code.id).collect();
    assert_eq!(ids, ["E0520", "E0521"]);
}

#[test]
fn non_centred_parameters_are_not_advised_again() {
    let quantities = quantities(|_| {});
    let noncentred = ["theta".to_string()];
    let facts = ChainFacts {
        divergences: 12,
        noncentred: &noncentred,
        ..good(&NUTS, &quantities)
    };
    let text = only(&facts, "E0520");
    assert_says(&text, &["`theta` is in `non_centered`"]);
    assert!(!text.contains("non_centered = ["), "{text}");
}

#[test]
fn discontinuous_likelihoods_are_named_as_the_cause() {
    let jumps = ["tau".to_string()];
    let same = quantities(|_| {});
    let facts = ChainFacts {
        divergences: 12,
        jumps: &jumps,
        ..good(&NUTS, &same)
    };
    let text = only(&facts, "E0520");
    assert_says(
        &text,
        &["compares or rounds `tau`", "`sigmoid((t - tau) / width)`"],
    );
    assert!(!text.contains("non_centered"), "{text}");
    let apart = quantities(|tau| tau.rhat = 1.2);
    let facts = ChainFacts {
        jumps: &jumps,
        ..good(&NUTS, &apart)
    };
    assert_says(&only(&facts, "E0521"), &["compares or rounds `tau`"]);
}
