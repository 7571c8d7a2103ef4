//! Tests with instances whose exact results were confirmed by two independent methods.

#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::{Problem, read};
use bnnc_wmi::rational::{Rational, parse, to_f64};
use bnnc_wmi::solve::{Solution, Status, solve};
use serde_json::Value;
use std::fmt::Write;

const TEXT: &str = include_str!("data/instances.json");

fn all() -> Vec<(Problem, Value)> {
    let values: Value = serde_json::from_str(TEXT).unwrap();
    let problems = read("instances.json", TEXT).unwrap();
    let values = values["instances"].as_array().unwrap().clone();
    assert_eq!(problems.len(), 38);
    problems.into_iter().zip(values).collect()
}

fn word(status: &Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Empty => "empty",
        Status::Degenerate => "degenerate",
        Status::Unbounded(_) => "unbounded",
        Status::Overflow => "overflow",
        Status::GaveUp(_) => "gave_up",
    }
}

/// Returns a description of the error in a solution, or `None` if the solution is correct.
fn fault(solution: &Solution, expected: &Value, is_exact: bool) -> Option<String> {
    let status = expected["status"].as_str().unwrap();
    if word(&solution.status) != status {
        return Some(format!("expected {status}, found {:?}", solution.status));
    }
    if status == "unbounded" {
        return None;
    }
    let exact: Rational = parse(expected["exact"].as_str().unwrap()).unwrap();
    let truth = to_f64(&exact);
    let error = (solution.value - truth).abs();
    if error > 1e-9 * truth.abs() {
        return Some(format!("expected {truth}, found {}", solution.value));
    }
    // The value `truth` is itself rounded, so the exact value may differ from it by this rounding error.
    if error > solution.error_bound + f64::EPSILON * truth.abs() {
        return Some(format!("off by {error}, more than {}", solution.error_bound));
    }
    let known = solution.exact.as_ref();
    let is_wrong = known.is_some_and(|known| *known != exact) || (is_exact && known.is_none());
    is_wrong.then(|| format!("expected exactly {exact}, found {known:?}"))
}

fn check(problems: &[(Problem, Value)], effort: &IntegrationLimits, is_exact: bool) {
    let mut faults = String::new();
    for (problem, instance) in problems {
        let solution = solve(problem, effort);
        if let Some(fault) = fault(&solution, &instance["expected"], is_exact) {
            writeln!(faults, "{}: {fault}", instance["id"]).unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Results meet the default tolerance, and errors never exceed their error bounds.
#[test]
fn floating_point_results_are_within_their_bounds() {
    check(&all(), &IntegrationLimits::default(), false);
}

/// Results in rational arithmetic are equal to the expected fractions.
#[test]
fn rational_results_are_exact() {
    let effort = IntegrationLimits {
        exact: true,
        ..IntegrationLimits::default()
    };
    check(&all(), &effort, true);
}

/// Returns an instance as an SMT-LIB script. The instance file contains the formula and the weight in SMT-LIB, in addition to the prefix
/// form.
fn script(instance: &Value) -> String {
    let mut text = String::from("(set-logic QF_LRA) ; made of an instance\n");
    let given = instance["given"].as_object().unwrap();
    for real in instance["reals"].as_array().unwrap() {
        let name = real[0].as_str().unwrap();
        match given.get(name) {
            Some(value) => writeln!(text, "(define-fun {name} () Real {})", fraction(value)).unwrap(),
            None => writeln!(text, "(declare-fun {name} () Real)").unwrap(),
        }
        for (relation, bound) in [(">=", &real[1]), ("<=", &real[2])] {
            if !bound.is_null() {
                writeln!(text, "(assert ({relation} {name} {}))", fraction(bound)).unwrap();
            }
        }
    }
    for name in instance["bools"].as_array().unwrap() {
        writeln!(text, "(declare-const {} Bool)", name.as_str().unwrap()).unwrap();
    }
    let smt = &instance["smt2"];
    for definition in smt["defs"].as_array().unwrap() {
        let (name, body) = (definition[0].as_str().unwrap(), definition[1].as_str().unwrap());
        writeln!(text, "(define-fun {name} () Real {body})").unwrap();
    }
    writeln!(text, "(assert {})", smt["formula"].as_str().unwrap()).unwrap();
    writeln!(
        text,
        "(define-fun weight () Real {})\n(check-sat)",
        smt["weight"].as_str().unwrap()
    )
    .unwrap();
    text
}

/// Converts `-49/20` to `(/ (- 49.0) 20.0)`.
fn fraction(value: &Value) -> String {
    let (above, below) = parse(value.as_str().unwrap()).unwrap().into_parts();
    match above.to_string().strip_prefix('-') {
        Some(digits) => format!("(/ (- {digits}.0) {below}.0)"),
        None => format!("(/ {above}.0 {below}.0)"),
    }
}

#[test]
fn smt_lib_scripts_have_the_same_results() {
    let mut problems = Vec::new();
    for (_, instance) in all() {
        let text = script(&instance);
        let problem = read("script.smt2", &text).unwrap_or_else(|flaw| panic!("{flaw:?}\n{text}"));
        problems.push((problem.into_iter().next().unwrap(), instance));
    }
    check(&problems, &IntegrationLimits::default(), false);
}

/// The direction of an unbounded region names the variables that are unbounded.
#[test]
fn unbounded_directions_name_their_variables() {
    let problems = all();
    let (problem, _) = problems
        .iter()
        .find(|(_, instance)| instance["id"] == "unb_halfline")
        .unwrap();
    let Status::Unbounded(direction) = solve(problem, &IntegrationLimits::default()).status else {
        panic!("the half-line has an end");
    };
    assert_eq!(direction.len(), 1);
    assert_eq!(direction[0].0, "x");
    assert!(direction[0].1 > Rational::ZERO);
}
