//! Tests options and methods that normalised networks do not support.

use crate::{BODY, program};
use bnnc_abi::method::Finds;
use bnnc_base::dtype::Precision;
use bnnc_tests::compile;

/// With a momentum of zero, the stored means would never leave their start.
#[test]
fn a_momentum_of_zero_is_rejected() {
    let body = BODY.replace("momentum = 0.3", "momentum = 0");
    let (path, text) = program("momentum", &body, "infer f = map(M, d)");
    assert!(compile::rejected(&path, &text).message.contains("momentum"));
}

#[test]
fn gradient_estimators_of_single_rows_are_rejected() {
    for infer in ["vi(Q, d) { flipout = [w] }", "vi(Q, d) { local = [w] }"] {
        let (path, text) = program("rejected", BODY, &format!("infer f = {infer}"));
        assert_eq!(compile::rejected(&path, &text).code.id, "E0324", "{infer}");
    }
}

/// Markov chains reject running means, and the message lists exactly the methods that compile.
#[test]
fn chains_are_rejected_and_all_other_methods_are_listed() {
    for method in bnnc_abi::method::ALL.iter() {
        let target = if method.name == "vi" { "Q" } else { "M" };
        let over = if method.name == "collapsed" {
            " { over = [out] }"
        } else {
            ""
        };
        let (path, text) = program(
            "method",
            BODY,
            &format!("infer f = {}({target}, d){over}", method.name),
        );
        let Finds::Chains(_) = method.finds else {
            compile::text(&path, &text, &compile::options("reference", Some(Precision::F64)));
            continue;
        };
        let found = compile::rejected(&path, &text);
        assert_eq!(found.code.id, "E0324", "{}", method.name);
        let others = bnnc_abi::method::ALL
            .iter()
            .filter(|other| !matches!(other.finds, Finds::Chains(_)));
        let others: Vec<String> = others.map(|other| format!("`{}`", other.name)).collect();
        assert!(
            compile::rendered(&found).contains(&others.join(", ")),
            "{found:?}"
        );
    }
}
