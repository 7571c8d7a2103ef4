//! Tests the statuses of solutions that are zero or infinite.

use crate::{instance, solved};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::rational::Rational;
use bnnc_wmi::solve::{Status, solve};

/// It may be too hard to decide whether a formula of measure zero is satisfiable. The integral of such a formula is still known to be 0.
#[test]
fn zeros_need_no_reason() {
    // This is the pigeonhole problem: each of nine pigeons is in one of eight holes, and no two pigeons are in the same hole.
    let sits = |pigeon: usize, hole: usize| format!(r#"["b", "p{pigeon}h{hole}"]"#);
    let (mut names, mut parts) = (Vec::new(), Vec::new());
    for pigeon in 0..9 {
        names.extend((0..8).map(|hole| format!(r#""p{pigeon}h{hole}""#)));
        let holes: Vec<String> = (0..8).map(|hole| sits(pigeon, hole)).collect();
        parts.push(format!(r#"["or", {}]"#, holes.join(", ")));
        for (other, hole) in (0..pigeon).flat_map(|other| (0..8).map(move |hole| (other, hole))) {
            parts.push(format!(
                r#"["not", ["and", {}, {}]]"#,
                sits(pigeon, hole),
                sits(other, hole)
            ));
        }
    }
    let text = format!(
        r#"{{"reals": [["x", "0", "1"]], "bools": [{}], "formula": ["and", ["<=", "x", "0"], {}], "weight": "1"}}"#,
        names.join(", "),
        parts.join(", ")
    );
    let solution = solved(&text);
    assert_eq!(
        (&solution.status, solution.value),
        (&Status::Ok, 0.0),
        "{solution:?}"
    );
    // The limits do not allow any region to be integrated. The integral is still known to be 0, and only the reason is unknown.
    let text = instance(r#"["or", ["<=", "x", "1/4"], ["<=", "y", "1/4"]]"#, "\"0\"");
    let effort = IntegrationLimits {
        regions: 0,
        ..IntegrationLimits::default()
    };
    let solution = solve(&read("problem", &text).unwrap()[0], &effort);
    assert_eq!((solution.status, solution.error_bound), (Status::Ok, 0.0));
}

/// The status `Empty` takes precedence over `Degenerate`, and `Degenerate` over `Unbounded`. Parts whose weight is zero do not affect the status.
#[test]
fn statuses_have_an_order_of_precedence() {
    let reals = r#""reals": [["x", null, null], ["y", "0", "1"]]"#;
    let status = |formula: &str, weight: &str| {
        solved(&format!(
            r#"{{{reals}, "formula": {formula}, "weight": {weight}}}"#
        ))
        .status
    };
    assert_eq!(status(r#"["<=", "y", "-1"]"#, "\"1\""), Status::Empty);
    assert_eq!(status(r#"["<=", "y", "0"]"#, "\"1\""), Status::Degenerate);
    assert_eq!(status(r#"["=", "x", "y"]"#, "\"1\""), Status::Degenerate);
    assert_eq!(
        status(r#"["and", ["=", "x", "y"], [">=", "x", "2"]]"#, "\"1\""),
        Status::Empty
    );
    assert_eq!(status("true", "\"0\""), Status::Ok);
    assert_eq!(
        status("true", r#"["ite", [">=", "y", "3"], "1", "0"]"#),
        Status::Ok
    );
    let Status::Unbounded(direction) = status("true", "\"y\"") else {
        panic!("the strip has an end");
    };
    assert!(direction.iter().all(|(name, _)| name == "x"), "{direction:?}");
}

/// Positive and negative parts of an integral may cancel only if both are finite. Over this half strip, both are infinite in every order of
/// integration.
#[test]
fn infinities_do_not_cancel() {
    let status = |reals: &str, formula: &str, weight: &str| {
        let text = format!(r#"{{"reals": [{reals}], "formula": {formula}, "weight": {weight}}}"#);
        solved(&text)
    };
    let strip = r#"["x", "0", null], ["y", "-1", "1"]"#;
    let wide = r#"["x", "0", null], ["y", "0", "1"], ["z", "0", "1"]"#;
    for (reals, formula, weight) in [
        (strip, "true", r#""y""#),
        (strip, "true", r#"["*", ["+", "x", "1"], "y"]"#),
        (strip, r#"["<=", "y", ["+", "x", "5"]]"#, r#""y""#),
        (strip, "true", r#"["ite", [">=", "y", "0"], "1", "-1"]"#),
        (wide, "true", r#"["-", "y", "z"]"#),
    ] {
        let Status::Unbounded(direction) = status(reals, formula, weight).status else {
            panic!("{formula} {weight} is bounded");
        };
        assert_eq!(direction, [("x".to_owned(), Rational::ONE)], "{formula} {weight}");
    }
    let finite = status(r#"["x", "0", "2"], ["y", "-1", "1"]"#, "true", r#""y""#);
    assert_eq!(
        (finite.status, finite.value, finite.error_bound),
        (Status::Ok, 0.0, 0.0)
    );
}

/// The direction in which a region is unbounded stays within the region, also for variables that were integrated out before the direction was found.
#[test]
fn directions_stay_within_their_region() {
    let steps = |formula: &str| {
        let plane = r#"["x", null, null], ["y", null, null]"#;
        let text = format!(r#"{{"reals": [{plane}], "formula": {formula}, "weight": "1"}}"#);
        let Status::Unbounded(direction) = solved(&text).status else {
            panic!("{formula} is bounded");
        };
        assert!(!direction.is_empty(), "{formula}");
        ["x", "y"].map(|name| {
            let found = direction.iter().find(|(known, _)| known == name);
            found.map_or(Rational::ZERO, |(_, step)| step.clone())
        })
    };
    let [x, y] = steps(r#"["and", [">=", ["+", "x", "y"], "0"], ["<=", ["+", "x", "y"], "1"]]"#);
    assert_eq!(x + y, Rational::ZERO);
    let [x, y] = steps(r#"["and", ["<=", "x", "y"], ["<=", "y", ["*", "2", "x"]]]"#);
    assert!(x <= y && y <= Rational::from(2) * x);
}

/// An equation between a variable and a piecewise linear term of other variables holds on a set of measure zero. The negation of the equation holds
/// everywhere else.
#[test]
fn equations_have_measure_zero() {
    let text = |formula: &str| instance(formula, "\"1\"");
    assert_eq!(
        solved(&text(r#"["=", "y", ["relu", ["-", "x", "1/2"]]]"#)).status,
        Status::Degenerate
    );
    assert_eq!(
        solved(&text(r#"["not", ["=", "y", ["relu", ["-", "x", "1/2"]]]]"#)).value,
        2.0
    );
    // The equation holds on a set of positive measure, because the rectified term is zero on a region with a volume.
    assert_eq!(
        solved(&text(r#"["=", "0", ["relu", ["-", "x", "1/4"]]]"#)).value,
        0.5
    );
    assert_eq!(solved(&text(r#"["=", "x", "x"]"#)).value, 2.0);
    assert_eq!(
        solved(&text(r#"["iff", ["b", "a"], ["<=", "x", "y"]]"#)).value,
        1.0
    );
}
