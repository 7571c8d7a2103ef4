//! Tests warnings about chains that disagree, are too short, or explore too slowly.

use crate::{ADAPTED, GOOD, NUTS, assert_says, good, only, quantities};
use bnnc_abi::methods::sampling::samplers::random_walk::RandomWalkOptions;
use bnnc_abi::methods::sampling::{Adaptation, Transition};
use bnnc_mcmc::diagnostics::{ChainFacts, QuantitySummary, advice};

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
