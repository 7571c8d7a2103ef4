//! Tests warnings that depend on the rows of the data.

use crate::{GOOD, NUTS, assert_says, good, only, quantities};
use bnnc_abi::manifest::OutputKind;
use bnnc_mcmc::diagnostics::advice::rows_not_left_out;
use bnnc_mcmc::diagnostics::{ChainFacts, advice};
use bnnc_mcmc::loo::Shapes;

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
