//! Tests of all warnings about chains: the conditions that trigger them, and their texts.
#![allow(clippy::unwrap_used)]

use bnnc_abi::manifest::OutputKind;
use bnnc_abi::methods::sampling::samplers::hmc::HmcOptions;
use bnnc_abi::methods::sampling::samplers::nuts::NutsOptions;
use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use bnnc_abi::methods::sampling::{Adaptation, MetricKind, Transition};
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_mcmc::diagnostics::advice::rows_not_left_out;
use bnnc_mcmc::diagnostics::{CODES, ChainFacts, QuantitySummary, advice};
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

#[test]
fn codes_are_sorted_and_have_explanations() {
    let ids: Vec<&str> = CODES.iter().map(|code| code.id).collect();
    assert_eq!(
        ids,
        [
            "E0520", "E0521", "E0522", "E0523", "E0524", "E0525", "E0526", "E0527", "E0528", "E0529"
        ]
    );
    assert!(
        CODES
            .iter()
            .all(|code| code.explain.contains("Wrong: `") && code.explain.contains("Right: `"))
    );
}

/// If an R-hat is only slightly above the limit, it is printed with enough digits to show that it is above.
#[test]
fn rhat_above_the_limit_is_printed_above_it() {
    for (rhat, shown) in [
        (1.3, "1.300"),
        (1.01049, "1.0105"),
        (1.010_000_4, "1.0100004"),
        (1.0106, "1.011"),
    ] {
        let quantities = quantities(|tau| tau.rhat = rhat);
        assert_says(
            &only(&good(&NUTS, &quantities), "E0521"),
            &[&format!("(worst: `tau`, {shown})")],
        );
    }
    let stuck = quantities(|tau| tau.rhat = f64::INFINITY);
    assert_says(
        &only(&good(&NUTS, &stuck), "E0521"),
        &["(worst: `tau`, whose chains never moved)"],
    );
}

#[test]
fn quantities_that_are_not_finite_are_named() {
    let wild = quantities(|tau| {
        (tau.mean, tau.rhat, tau.ess_bulk, tau.ess_tail) = (f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    });
    let text = only(&good(&NUTS, &wild), "E0529");
    assert_says(&text, &["draws of `tau`", "improper", "a proper prior"]);
    let many: Vec<_> = (0..9).map(|at| (format!("w[{at}]"), wild[1].1)).collect();
    let text = only(&good(&NUTS, &many), "E0529");
    assert_says(&text, &["`w[0]`, `w[1]`, `w[2]`, `w[3]`, `w[4]` and 4 more"]);
}

#[test]
fn chains_with_one_draw_are_too_short() {
    let quantities = quantities(|_| {});
    let facts = ChainFacts {
        iterations: 4,
        ..good(&NUTS, &quantities)
    };
    assert_says(&only(&facts, "E0522"), &["chains with 1 draw are too short"]);
}

#[test]
fn good_chains_get_no_advice() {
    let quantities = quantities(|_| {});
    assert_eq!(advice(&good(&NUTS, &quantities)), []);
    let none = ChainFacts {
        acceptance: &[],
        missing_information: &[],
        shapes: None,
        loss_variance: None,
        ..good(&NUTS, &[])
    };
    assert_eq!(advice(&none), []);
}

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

/// The warning about truncated trajectories states that the draws are correct only if the chains agree.
#[test]
fn draws_of_cut_trajectories_are_right_only_if_chains_agree() {
    let (same, apart) = (quantities(|_| {}), quantities(|tau| tau.rhat = 1.2));
    for (quantities, is_right) in [(&same, true), (&apart, false)] {
        let facts = ChainFacts {
            cut: 7,
            ..good(&NUTS, quantities)
        };
        let found = advice(&facts);
        let cut = found.iter().find(|found| found.code.id == "E0524").unwrap();
        assert_eq!(
            cut.notes[0].contains("the draws are right"),
            is_right,
            "{:?}",
            cut.notes
        );
    }
}

#[test]
fn chains_without_draws_are_reported() {
    let quantities = quantities(|_| {});
    let facts = ChainFacts {
        chains: 2,
        without_draws: &[1, 3],
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&facts, "E0528"),
        &["2 of 4 chains", "(chains 1, 3, counted from 0)", "`--resume`"],
    );
}

#[test]
fn disagreeing_chains_are_reported() {
    let slightly = quantities(|tau| tau.rhat = 1.0101);
    assert_says(
        &only(&good(&NUTS, &slightly), "E0521"),
        &[
            "R-hat exceeds 1.01 for 1 of 2 quantities",
            "`tau`, 1.0101",
            "more `warmup`",
        ],
    );
    let apart = quantities(|tau| tau.rhat = f64::INFINITY);
    assert_says(
        &only(&good(&NUTS, &apart), "E0521"),
        &[
            "exceeds 1.01 for 1 of 2 quantities",
            "`tau`, whose chains never moved",
        ],
    );
    let unknown = quantities(|tau| tau.rhat = f64::NAN);
    assert_eq!(advice(&good(&NUTS, &unknown)), []);
}

/// The warning mentions that hidden units can be exchanged only if the model has layers.
#[test]
fn predictions_are_checked_instead_of_weights_only_if_the_model_has_layers() {
    let apart = quantities(|tau| tau.rhat = 1.7);
    for has_layers in [false, true] {
        let facts = ChainFacts {
            has_layers,
            ..good(&NUTS, &apart)
        };
        let text = only(&facts, "E0521");
        assert_eq!(text.contains("hidden units"), has_layers, "{text}");
        assert!(!text.contains("if the model"), "{text}");
    }
}

#[test]
fn low_ess_is_reported() {
    let tail = quantities(|tau| tau.ess_tail = 120.0);
    assert_says(
        &only(&good(&NUTS, &tail), "E0522"),
        &[
            "ESS is below 400 (100 per chain) for 1 of 2 quantities",
            "the lowest is tail ESS 120 for `tau`",
            "4 times as many `draws`",
            "`metric = dense`",
        ],
    );
    let bulk = quantities(|tau| tau.ess_bulk = 3.0);
    let text = only(&good(&NUTS, &bulk), "E0522");
    assert_says(&text, &["the lowest is bulk ESS 3 for `tau`"]);
    assert!(!text.contains("times as many"), "nobody waits so long: {text}");
}

#[test]
fn constant_chains_are_reported() {
    let still = QuantitySummary {
        sd: 0.0,
        ess_bulk: f64::NAN,
        ess_tail: f64::NAN,
        rhat: f64::NAN,
        ..GOOD
    };
    let all = [("mu".to_string(), still), ("lp".to_string(), still)];
    assert_says(
        &only(&good(&NUTS, &all), "E0522"),
        &["did not move in 4000 iterations", "smaller steps"],
    );
    // A constant quantity among others does not cause a warning.
    let one = [("constant".to_string(), still), ("lp".to_string(), GOOD)];
    assert_eq!(advice(&good(&NUTS, &one)), []);
}

#[test]
fn low_bfmi_is_reported() {
    let quantities = quantities(|_| {});
    let facts = ChainFacts {
        missing_information: &[0.5, 0.12, 0.29, 0.3],
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&facts, "E0523"),
        &[
            "E-BFMI is below 0.3 in 2 of 4 chains",
            "the lowest is 0.12 in chain 2",
        ],
    );
}

#[test]
fn cut_trajectories_are_reported() {
    let quantities = quantities(|_| {});
    let facts = ChainFacts {
        cut: 7,
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&facts, "E0524"),
        &[
            "7 of 4000",
            "`max_depth = 10`",
            "`max_depth = 12`",
            "`metric = dense`",
        ],
    );
}

#[test]
fn acceptance_far_from_its_target_is_reported() {
    let quantities = quantities(|_| {});
    let low = ChainFacts {
        acceptance: &[0.8, 0.8, 0.33, 0.8],
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&low, "E0525"),
        &[
            "far from its target of 0.8",
            "in 1 of 4 chains",
            "0.330 in chain 3",
            "longer `warmup`",
        ],
    );
    let high = ChainFacts {
        acceptance: &[0.8, 0.99, 0.9, 0.8],
        ..low
    };
    assert_says(&only(&high, "E0525"), &["0.990 in chain 2"]);
    let given = Transition::RandomWalk(RandomWalkOptions(Adaptation {
        step_size: Some(0.1),
        ..ADAPTED
    }));
    let stuck = ChainFacts {
        transition: &given,
        acceptance: &[0.5, 0.02, 0.99, 1.0],
        ..low
    };
    assert_says(
        &only(&stuck, "E0525"),
        &[
            "fewer than 5 % of the proposals",
            "in 1 of 4 chains",
            "`step_size` smaller",
        ],
    );
}

#[test]
fn rows_with_large_pareto_shapes_are_reported() {
    let quantities = quantities(|_| {});
    let facts = ChainFacts {
        shapes: Some(Shapes {
            good: 95,
            bad: 3,
            very_bad: 2,
        }),
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&facts, "E0526"),
        &["5 of 100 rows", "2 of them with a Pareto k above 1"],
    );
}

#[test]
fn warnings_are_ordered_by_severity() {
    let quantities = quantities(|tau| (tau.rhat, tau.ess_bulk) = (1.3, 20.0));
    let facts = ChainFacts {
        divergences: 1,
        cut: 1,
        ..good(&NUTS, &quantities)
    };
    let ids: Vec<&str> = advice(&facts).iter().map(|found| found.code.id).collect();
    assert_eq!(ids, ["E0520", "E0521", "E0522", "E0524"]);
}

#[test]
fn noisy_loss_differences_are_reported() {
    let quantities = [("a".to_owned(), GOOD)];
    let of = |variance| ChainFacts {
        loss_variance: Some(variance),
        ..good(&NUTS, &quantities)
    };
    assert!(advice(&of(1.9)).is_empty());
    assert_says(
        &only(&of(9.64), "E0527"),
        &["is 9.6 on average", "more `batches`"],
    );
}

/// Chains with too few draws get a warning, because all their diagnostics are undefined.
#[test]
fn too_few_draws_are_reported() {
    let nothing = QuantitySummary {
        ess_bulk: f64::NAN,
        ess_tail: f64::NAN,
        rhat: f64::NAN,
        ..GOOD
    };
    let quantities = [("a".to_owned(), nothing)];
    let facts = ChainFacts {
        iterations: 12,
        ..good(&NUTS, &quantities)
    };
    assert_says(
        &only(&facts, "E0522"),
        &["chains with 3 draws", "at least 4 `draws`"],
    );
}

#[test]
fn fewer_parameters_are_advised_if_rows_are_few() {
    let shapes = Shapes {
        good: 10,
        bad: 20,
        very_bad: 0,
    };
    let of_kind = |parameters: usize, kind: OutputKind| {
        let found = rows_not_left_out("fit", shapes, (parameters, &[kind])).expect("a warning");
        format!("{:?} {:?}", found.notes, found.help)
    };
    let text = |parameters: usize| of_kind(parameters, OutputKind::Real);
    // If there are as many parameters as rows, the advice names this as the cause. If there are a tenth as many parameters as
    // rows, the advice recommends a likelihood with heavier tails.
    assert!(text(31).contains("31 parameters for 30 rows") && !text(31).contains("StudentT"));
    assert!(text(3).contains("StudentT") && !text(3).contains("parameters for"));
    // Heavier tails exist only for real outputs.
    let others = [
        (OutputKind::Count, "NegativeBinomial"),
        (OutputKind::Bool, "narrower priors"),
        (OutputKind::Classes(3), "narrower priors"),
    ];
    for (kind, advice) in others {
        let text = of_kind(3, kind);
        assert!(text.contains(advice) && !text.contains("StudentT"), "{text}");
    }
}

/// Only parts of the data that are not standardised yet are named. A count or a class cannot be
/// standardised.
#[test]
fn advice_to_standardise_names_only_what_is_not_standardised() {
    let few = quantities(|summary| summary.ess_bulk = 20.0);
    let advised = |raw: Option<&str>| {
        let facts = ChainFacts {
            raw,
            ..good(&NUTS, &few)
        };
        format!("{:?}", advice(&facts)[0].help)
    };
    assert!(advised(Some("standardise = [inputs, target]")).contains("`standardise = [inputs, target]`"));
    assert!(advised(Some("standardise = [inputs]")).contains("`standardise = [inputs]`"));
    assert!(!advised(None).contains("standardise"));
}
