//! Tests with the densities of wmpy's benchmark `big_random`, and with densities of pywmi.

#![allow(clippy::unwrap_used)]

use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::rational::parse;
use bnnc_wmi::solve::{Status, solve};

/// The files of the benchmark, each with its integral. An independent exact solver computed the integrals in rational arithmetic, and they are
/// rounded here. The results of wmpy agree, except for `nr2-3`. This file declares a Boolean without using it, and wmpy does not sum over the
/// two values of this Boolean.
const BIG_RANDOM: &[(&str, &str, f64)] = &[
    (
        "nr2-1",
        include_str!("data/densities/nr2-1.json"),
        11.190443476551224,
    ),
    (
        "nr2-2",
        include_str!("data/densities/nr2-2.json"),
        58.35573277034229,
    ),
    (
        "nr2-3",
        include_str!("data/densities/nr2-3.json"),
        17.561081241978595,
    ),
    (
        "nr3-1",
        include_str!("data/densities/nr3-1.json"),
        31.544217846386566,
    ),
    (
        "nr3-2",
        include_str!("data/densities/nr3-2.json"),
        85.5859838854949,
    ),
    (
        "nr3-3",
        include_str!("data/densities/nr3-3.json"),
        183.22082823429525,
    ),
    (
        "nr4-1",
        include_str!("data/densities/nr4-1.json"),
        60.85540875454947,
    ),
    (
        "nr4-2",
        include_str!("data/densities/nr4-2.json"),
        74.8252869291758,
    ),
    (
        "nr4-3",
        include_str!("data/densities/nr4-3.json"),
        119.51343024220319,
    ),
    (
        "nr5-1",
        include_str!("data/densities/nr5-1.json"),
        40.84520756782542,
    ),
];

#[test]
fn big_random_densities_match_the_exact_solver() {
    for (name, text, expected) in BIG_RANDOM {
        let problems = read(name, text).unwrap();
        assert_eq!(problems.len(), 1, "{name}");
        let solution = solve(&problems[0], &IntegrationLimits::default());
        assert_eq!(solution.status, Status::Ok, "{name}");
        let error = (solution.value - expected).abs();
        assert!(
            error <= 1e-13 * expected,
            "{name}: {} is off by {error}",
            solution.value
        );
        assert!(
            error <= solution.error_bound + 4.0 * f64::EPSILON * expected,
            "{name}"
        );
    }
}

/// Reads the example of pywmi's README, with its query, in the format that `Density.to_file` writes. The exact integrals are 61/240 without the
/// query and 3/40 with the query.
#[test]
fn the_density_of_pywmi_has_its_exact_integrals() {
    let text = r#"{"domain": {"variables": ["a", "b", "x", "y"],
                   "var_types": {"a": "bool", "b": "bool", "x": "real", "y": "real"},
                   "var_domains": {"x": [0, 1], "y": [0, 1]}},
        "queries": ["(const bool True)", "(<= (var real x) (* (var real y) (const real 0.5)))"],
        "formula": "(& (| (var bool a) (var bool b)) (| (~ (var bool a)) (~ (var bool b))) (<= (var real x) (var real y)))",
        "weights": "(* (ite (var bool a) (const real 0.2) (const real 0.8)) (+ (ite (<= (var real x) (const real 0.5)) (const real 0.2) (+ (const real 0.2) (var real y))) (const real 0.1)))"}"#;
    let problems = read("density.json", text).unwrap();
    let expected = [("", "61/240"), ("query 2", "3/40")];
    assert_eq!(problems.len(), expected.len());
    for (problem, (name, value)) in problems.iter().zip(expected) {
        assert_eq!(problem.name, name);
        let solution = solve(problem, &IntegrationLimits::default());
        assert_eq!(solution.exact, parse(value), "{name}");
    }
}
