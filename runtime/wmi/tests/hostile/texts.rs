//! Tests texts that are not problems.

use crate::{assert_rejected, instance, rejected, solved};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::solve::solve;

#[test]
fn broken_texts_are_rejected_at_their_place() {
    assert_rejected("", "E0702", (1, 1), "found nothing");
    assert_rejected("{", "E0701", (1, 2), "the end of the file");
    assert_rejected(
        "{\"formula\": [\"<=\", \"x\", \"1\"}",
        "E0701",
        (1, 28),
        "expected `,` or `]`",
    );
    assert_rejected("{\"formula\": true,}", "E0701", (1, 18), "a key in quotes");
    assert_rejected("{\"a\": 1, \"a\": 2}", "E0701", (1, 10), "twice");
    assert_rejected("{\"a\": \"\\q\"}", "E0701", (1, 8), "escape");
    assert_rejected("{\"a\": \"\\ud800\"}", "E0701", (1, 8), "escape");
    assert_rejected("{\"a\": \"x", "E0701", (1, 7), "not closed");
    assert_rejected("{\"a\": x}", "E0701", (1, 7), "names stand in quotes");
    assert_rejected("{} {}", "E0701", (1, 4), "the end of the file");
    assert_rejected("(assert true", "E0701", (1, 1), "not closed");
    assert_rejected("(assert true))\n", "E0701", (1, 14), "closes nothing");
    assert_rejected("(declare-fun |x () Real)", "E0701", (1, 14), "not closed");
}

#[test]
fn texts_that_are_not_problems_are_rejected() {
    assert_rejected("{}", "E0702", (1, 1), "one of these sets of keys: `instances`");
    assert_rejected("[1, 2]", "E0702", (1, 1), "found a list");
    assert_rejected("{\"instances\": 3}", "E0702", (1, 15), "a list of instances");
    assert_rejected(
        "{\"format\": \"other/2\", \"instances\": []}",
        "E0702",
        (1, 12),
        "wmi-instances/1",
    );
    assert_rejected("{\"instances\": [3]}", "E0702", (1, 16), "an instance");
    assert_rejected("{\"reals\": []}", "E0702", (1, 1), "the key `formula`");
    assert_rejected(
        "{\"reals\": [[\"x\"]], \"formula\": true}",
        "E0702",
        (1, 12),
        "a real `[name, lower, upper]`",
    );
    assert_rejected(
        "{\"reals\": [[\"x\", \"0\", \"one\"]], \"formula\": true}",
        "E0702",
        (1, 23),
        "`1/3`",
    );
    assert_rejected(
        "{\"reals\": [[\"x\", \"0\", \"1/0\"]], \"formula\": true}",
        "E0702",
        (1, 23),
        "found `1/0`",
    );
    assert_rejected(
        "{\"reals\": [[\"3\", null, null]], \"formula\": true}",
        "E0702",
        (1, 13),
        "a name",
    );
    assert_rejected(
        "{\"reals\": [], \"bools\": [\"a\", \"a\"], \"formula\": true}",
        "E0702",
        (1, 30),
        "twice",
    );
    assert_rejected(
        "{\"reals\": [], \"given\": {\"z\": \"1\"}, \"formula\": true}",
        "E0702",
        (1, 30),
        "`z`",
    );
    assert_rejected(
        "{\"domain\": [[\"x\", \"int\", null]], \"formula\": \"(const bool True)\"}",
        "E0702",
        (1, 19),
        "`real` or `bool`",
    );
    assert_rejected(
        "{\"domain\": [], \"formula\": \"(const bool True) 3\"}",
        "E0702",
        (1, 27),
        "one S-expression",
    );
    assert_rejected(
        "{\"domain\": [], \"formula\": \"(& (var bool a))\"}",
        "E0702",
        (1, 41),
        "`a` is not declared",
    );
    assert_rejected("assert", "E0702", (1, 1), "a command");
    assert_rejected("(push 1)", "E0702", (1, 2), "other commands");
    assert_rejected("(declare-fun f (Real) Real)", "E0702", (1, 16), "parameters");
    assert_rejected("(declare-fun n () Int)", "E0702", (1, 19), "`Int`");
    assert_rejected("(assert (! true))", "E0702", (1, 9), "`(! formula :named name)`");
    assert_rejected(
        "(assert (! :named p))",
        "E0702",
        (1, 9),
        "`(! formula :named name)`",
    );
    assert_rejected("(assert 1.0)\n(assert 2.0)", "E0702", (2, 9), "a second weight");
}

#[test]
fn malformed_formulas_are_rejected() {
    let formula = |formula: &str| instance(formula, "\"1\"");
    assert_rejected(
        &formula("[\"<=\", \"x\", true]"),
        "E0702",
        (2, 13),
        "expected a term",
    );
    assert_rejected(&formula("\"x\""), "E0702", (2, 1), "expected a formula");
    assert_rejected(
        &formula("[\"<=\", \"x\", \"z\"]"),
        "E0702",
        (2, 13),
        "`z` is not declared",
    );
    assert_rejected(&formula("[\"<=\", \"x\"]"), "E0702", (2, 1), "takes two terms");
    assert_rejected(&formula("[\"ant\", true]"), "E0702", (2, 2), "no operator `ant`");
    assert_rejected(&formula("[]"), "E0702", (2, 1), "an empty list");
    assert_rejected(
        &formula("[[\"and\"], true]"),
        "E0702",
        (2, 2),
        "the name of an operator",
    );
    assert_rejected(&formula("null"), "E0702", (2, 1), "`null`");
    assert_rejected(&formula("{}"), "E0702", (2, 1), "an object");
    assert_rejected(&formula("[\"not\", true, true]"), "E0702", (2, 1), "one formula");
    assert_rejected(
        &formula("[\"ite\", true, true, \"x\"]"),
        "E0702",
        (2, 21),
        "expected a formula",
    );
    assert_rejected(
        &formula("[\"<=\", [\"*\", \"x\", \"y\"], \"1\"]"),
        "E0703",
        (2, 8),
        "a linear term",
    );
    assert_rejected(
        &formula("[\"=\", [\"^\", \"x\", \"2\"], \"1\"]"),
        "E0703",
        (2, 7),
        "a linear term",
    );
}

#[test]
fn malformed_terms_are_rejected() {
    let weight = |weight: &str| instance("true", weight);
    assert_rejected(
        &weight("[\"/\", \"x\", \"y\"]"),
        "E0703",
        (3, 12),
        "a number to divide by",
    );
    assert_rejected(
        &weight("[\"/\", \"x\", \"0\"]"),
        "E0702",
        (3, 12),
        "division by zero",
    );
    assert_rejected(&weight("[\"exp\", \"x\"]"), "E0703", (3, 2), "not a polynomial");
    assert_rejected(
        &weight("[\"^\", \"x\", \"y\"]"),
        "E0703",
        (3, 12),
        "a number as exponent",
    );
    assert_rejected(
        &weight("[\"^\", \"x\", \"-1\"]"),
        "E0703",
        (3, 12),
        "a whole exponent",
    );
    assert_rejected(
        &weight("[\"^\", \"x\", \"1/2\"]"),
        "E0703",
        (3, 12),
        "a whole exponent",
    );
    assert_rejected(&weight("[\"+\"]"), "E0702", (3, 1), "at least one term");
}

#[test]
fn near_names_are_suggested() {
    let formula = |formula: &str| instance(formula, "\"1\"");
    let help = &rejected(&formula("[\"and\", [\"<=\", \"xx\", \"1\"]]")).help;
    assert_eq!(help.as_slice(), ["did you mean `x`?"]);
    // If several names are equally similar to a misspelt name, the first one in alphabetical order is suggested every time.
    let reals = ["xe", "xc", "xf", "xb", "xd"].map(|name| format!(r#"["{name}", "0", "1"]"#));
    let text = format!(
        r#"{{"reals": [{}], "formula": ["<=", "xx", "1"]}}"#,
        reals.join(", ")
    );
    for _ in 0..20 {
        assert_eq!(rejected(&text).help, ["did you mean `xb`?"]);
    }
}

/// The names of assertions do not change the value. Names are only meant for solvers that report which assertions contradict each other.
#[test]
fn annotations_change_nothing() {
    let script = |bound: &str| {
        format!("(declare-fun x () Real)\n(assert (and (<= 0.0 x) (<= x 1.0)))\n(assert {bound})")
    };
    let plain = solved(&script("(<= (* 2.0 x) 1.0)"));
    let named = solved(&script("(! (<= (* 2.0 (! x :named y)) 1.0) :named p :weight 3)"));
    assert_eq!(plain.value, named.value);
}

/// Reading random bytes never causes a panic.
#[test]
fn random_bytes_never_panic() {
    let sources = [
        include_str!("../data/densities/nr2-3.json").to_owned(),
        instance(r#"["<=", ["max", "x", "y"], "1/2"]"#, r#"["^", "x", "2"]"#),
        "(declare-fun x () Real)\n(assert (and (<= 0.0 x) (<= x 1.0)))\n(define-fun weight () Real (* x 2.0))".to_owned(),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % below
    };
    for round in 0..600 {
        let mut text: Vec<char> = sources[round % sources.len()].chars().collect();
        for _ in 0..=next(4) {
            let at = next(text.len());
            match next(4) {
                0 => text.truncate(at.max(1)),
                1 => text[at] = ['(', ')', '[', '"', '-', '9', ' ', '|'][next(8)],
                2 => {
                    text.remove(at);
                }
                _ => text.insert(at, ['(', ']', ',', '\\', 'e', '/', '0', '\u{1f600}'][next(8)]),
            }
            if text.is_empty() {
                text.push('(');
            }
        }
        let text: String = text.into_iter().collect();
        if let Ok(problems) = read("noise", &text) {
            for problem in problems {
                let _ = solve(
                    &problem,
                    &IntegrationLimits {
                        regions: 50,
                        ..IntegrationLimits::default()
                    },
                );
            }
        }
    }
}

/// Unknown keys cause an error.
#[test]
fn unknown_keys_are_rejected() {
    let misspelt = r#"{"reals": [["x", "0", "1"]], "formula": true, "wieght": "x"}"#;
    let found = rejected(misspelt);
    assert!(found.message.contains("an instance has no `wieght`"), "{found:?}");
    let none = rejected(r#"{"format": "wmi-instances/1", "instances": []}"#);
    assert!(none.message.contains("found none"), "{none:?}");
}
