//! Families of problems on the unit cube, with closed forms for every size. The families are from Kolb et al. (IJCAI 2019) and from Zeng et al.
//! (ICML 2020).

#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::rational::Rational;
use bnnc_wmi::solve::{Status, solve};

/// Returns an instance with the reals `x0`, `x1` and so on, all with the same bounds.
fn instance(reals: usize, bounds: (&str, &str), bools: &str, formula: &str, weight: &str) -> String {
    let (lower, upper) = bounds;
    let reals: Vec<String> = (0..reals)
        .map(|at| format!(r#"["x{at}", "{lower}", "{upper}"]"#))
        .collect();
    let reals = reals.join(", ");
    format!(r#"{{"reals": [{reals}], "bools": [{bools}], "formula": {formula}, "weight": {weight}}}"#)
}

fn check(name: &str, size: usize, text: &str, expected: &Rational) {
    let problem = read(name, text).unwrap().remove(0);
    let solution = solve(&problem, &IntegrationLimits::default());
    assert_eq!(solution.status, Status::Ok, "{name}({size})");
    assert_eq!(solution.exact.as_ref(), Some(expected), "{name}({size})");
}

fn ratio(above: usize, below: usize) -> Rational {
    Rational::from(above as u64) / Rational::from(below as u64)
}

fn factorial(size: usize) -> usize {
    (1..=size).product()
}

/// Returns the text `["operator", part, ..]`.
fn apply(operator: &str, parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    format!(r#"["{operator}", {}]"#, parts.join(", "))
}

fn below(one: usize, other: usize) -> String {
    format!(r#"["<=", "x{one}", "x{other}"]"#)
}

fn cube(reals: usize, formula: &str) -> String {
    instance(reals, ("0", "1"), "", formula, "\"1\"")
}

/// The formula is the chain `x0 <= x1 <= ..`.
#[test]
fn and_overlap() {
    for size in [2, 3, 5, 7, 12] {
        let formula = apply("and", (1..size).map(|at| below(at - 1, at)));
        check(
            "and_overlap",
            size,
            &cube(size, &formula),
            &ratio(1, factorial(size)),
        );
    }
}

/// The formula holds if an odd number of the other variables are larger than the first variable.
#[test]
fn xor() {
    for size in [2, 3, 4, 5, 10, 25] {
        let formula = apply("xor", (1..=size).map(|at| below(0, at)));
        let expected = match size % 2 {
            1 => ratio(1, 2),
            _ => ratio(size, 2 * (size + 1)),
        };
        check("xor", size, &cube(size + 1, &formula), &expected);
    }
}

/// The formula holds if exactly one of the other variables is larger than the first variable.
#[test]
fn mutex() {
    for size in [2, 3, 4, 8, 16] {
        let mut parts = vec![apply("or", (1..=size).map(|at| below(0, at)))];
        for one in 1..=size {
            for other in one + 1..=size {
                let not = |at| apply("not", [below(0, at)]);
                parts.push(apply("or", [not(one), not(other)]));
            }
        }
        let formula = apply("and", parts);
        check("mutex", size, &cube(size + 1, &formula), &ratio(1, size + 1));
    }
}

/// Each variable has its own triangular weight. The weight is cut off at 1/2.
#[test]
fn uni() {
    for size in [1, 2, 4, 12] {
        let formula = apply("and", (0..size).map(|at| format!(r#"[">", "x{at}", "0.5"]"#)));
        let factor = |at| {
            format!(
                r#"["ite", ["and", [">", "x{at}", "-1"], ["<", "x{at}", "1"]],
                    ["ite", ["<", "x{at}", "0"], ["+", "x{at}", "1"], ["+", ["neg", "x{at}"], "1"]], "0"]"#
            )
        };
        let weight = apply("*", (0..size).map(factor).chain(["\"1\"".to_owned()]));
        let text = instance(size, ("-2", "2"), "", &formula, &weight);
        check(
            "uni",
            size,
            &text,
            &(Rational::ONE / Rational::from(8).pow(size as isize)),
        );
    }
}

/// The formula holds if exactly one of several pairs of variables is in increasing order.
#[test]
fn dual() {
    for size in [2, 3, 5, 12] {
        let pair = |at: usize| below(2 * at, 2 * at + 1);
        let only = |at: usize| {
            apply(
                "and",
                (0..size).map(|other| {
                    if other == at {
                        pair(at)
                    } else {
                        apply("not", [pair(other)])
                    }
                }),
            )
        };
        let formula = apply("or", (0..size).map(only));
        check(
            "dual",
            size,
            &cube(2 * size, &formula),
            &(Rational::from(size as u64) / Rational::from(2).pow(size as isize)),
        );
    }
}

/// In the click model, the variable `sim` couples the two clicks of every pair.
#[test]
fn click() {
    for size in [1, 2, 3] {
        let (mut formula, mut weight, mut bools) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..size {
            let name = |what: &str| format!(r#"["b", "{what}{at}"]"#);
            let both = apply("and", [name("s"), name("b0_")]);
            let alone = apply("and", [apply("not", [name("s")]), name("b1_")]);
            formula.push(apply("iff", [name("c0_"), name("b0_")]));
            formula.push(apply("iff", [name("c1_"), apply("or", [both, alone])]));
            let chance = |what: &str, real: usize| {
                format!(r#"["ite", ["b", "{what}{at}"], "x{real}", ["-", "1", "x{real}"]]"#)
            };
            weight.push(chance("s", 0));
            weight.push(chance("b0_", 2 * at + 1));
            weight.push(chance("b1_", 2 * at + 2));
            bools.extend(["s", "b0_", "b1_", "c0_", "c1_"].map(|what| format!(r#""{what}{at}""#)));
        }
        let (formula, weight) = (apply("and", formula), apply("*", weight));
        let text = instance(2 * size + 1, ("0", "1"), &bools.join(", "), &formula, &weight);
        check("click", size, &text, &Rational::ONE);
    }
}

/// The formula holds if the first variable is the smallest or the largest of all.
#[test]
fn tree_star() {
    for size in [3, 5, 9, 20] {
        let smallest = apply("and", (1..size).map(|at| below(0, at)));
        let largest = apply("and", (1..size).map(|at| below(at, 0)));
        let formula = apply("or", [smallest, largest]);
        check("tpg_star", size, &cube(size, &formula), &ratio(2, size));
    }
}

/// The formula holds if the values of consecutive variables alternately rise and fall. The first step may be a rise or a fall.
#[test]
fn tree_path() {
    // These are Euler's zigzag numbers, OEIS A000111.
    let zigzag: [u64; 13] = [1, 1, 1, 2, 5, 16, 61, 272, 1385, 7936, 50521, 353_792, 2_702_765];
    for size in [3, 5, 7, 12] {
        let turns = |first: usize| {
            let step = move |at: usize| {
                if at % 2 == first {
                    below(at - 1, at)
                } else {
                    below(at, at - 1)
                }
            };
            apply("and", (1..size).map(step))
        };
        let formula = apply("or", [turns(0), turns(1)]);
        let expected = Rational::from(2 * zigzag[size]) / Rational::from(factorial(size) as u64);
        check("tpg_path", size, &cube(size, &formula), &expected);
    }
}

/// Every declared variable affects the value, even if the formula does not use it. An unused Boolean multiplies the value by 2, and an unused real
/// multiplies it by the length of its interval.
#[test]
fn unused_variables() {
    let text = r#"{"reals": [["x", "0", "3"], ["y", "1", "5"]], "bools": ["a", "b"], "formula": ["b", "a"], "weight": "x"}"#;
    check("unused", 2, text, &Rational::from(36));
}
