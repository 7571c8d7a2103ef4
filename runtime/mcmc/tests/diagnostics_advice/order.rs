//! Tests the codes, the order of warnings, and chains without warnings.

use crate::{NUTS, good, quantities};
use bnnc_mcmc::diagnostics::{CODES, ChainFacts, advice};

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
