//! Tests of comparisons whose sides are equal on a region with a volume, where weak and strict comparisons differ.
#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::solve::solve;

/// Returns the measure of the set that satisfies a formula, divided by 8. The variables are `x` in `[0, 1]` and the Booleans `a`, `b` and
/// `c`, which have 8 combinations of values.
fn part(formula: &str) -> f64 {
    let text = format!(
        "(declare-const x Real)(declare-const a Bool)(declare-const b Bool)(declare-const c Bool)
         (assert (and (<= 0 x 1) {formula}))"
    );
    let problem = read("ties.smt2", &text).unwrap_or_else(|flaw| panic!("{formula}: {flaw:?}"));
    let effort = IntegrationLimits {
        exact: true,
        ..IntegrationLimits::default()
    };
    let found = solve(&problem[0], &effort);
    assert_eq!(found.exact.map(|exact| exact.to_f64().value()), Some(found.value));
    found.value / 8.0
}

#[test]
fn strict_and_weak_comparisons_differ_where_sides_are_equal() {
    let cases = [
        ("(<= (relu (- x 0.5)) 0)", 0.5),
        ("(< (relu (- x 0.5)) 0)", 0.0),
        ("(>= (relu (- x 2)) 0)", 1.0),
        ("(> (relu (- x 2)) 0)", 0.0),
        ("(>= (ite (< x 0.5) 1.0 2.0) 2.0)", 0.5),
        ("(> (ite (< x 0.5) 1.0 2.0) 1.0)", 0.5),
        ("(<= (max x 2) 2)", 1.0),
        ("(<= x x)", 1.0),
        ("(< x x)", 0.0),
        ("(not (<= x x))", 0.0),
        ("(>= 1 1)", 1.0),
        ("(> 1 1)", 0.0),
        ("(= (relu (- x 0.25)) 0)", 0.25),
        ("(distinct x 1)", 1.0),
        ("(distinct (max x 2) 2)", 0.0),
        // Both sides are the same function of `x`, written in two ways.
        ("(= (max x 0.25) (ite (<= x 0.25) 0.25 x))", 1.0),
        ("(distinct (max x 0.25) (ite (<= x 0.25) 0.25 x))", 0.0),
        // The two sides are equal on [0, 0.25], and differ elsewhere.
        ("(= (max x 0.25) 0.25)", 0.25),
        ("(distinct (max x 0.25) 0.25)", 0.75),
        ("(< (max x 0.25) (max x 0.5))", 0.5),
        ("(<= (max x 0.5) (max x 0.25))", 0.5),
        ("(distinct a b c)", 0.0),
        ("(distinct a b)", 0.5),
        ("(xor a b c)", 0.5),
    ];
    for (formula, want) in cases {
        assert_eq!(part(formula), want, "{formula}");
    }
}
