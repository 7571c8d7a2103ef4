//! Tests problems that are too large or too deep.

use crate::{assert_rejected, instance, rejected, solved};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::solve::{Solution, Status, solve};

#[test]
fn oversized_problems_are_rejected() {
    let weight = |weight: &str| instance("true", weight);
    assert_rejected(&weight("\"1e999999999\""), "E0702", (3, 1), "a number such as");
    let smallest = format!("\"1e{}\"", i64::MIN);
    assert_rejected(&weight(&smallest), "E0702", (3, 1), "a number such as");
    assert_rejected(&weight(&"9".repeat(2000)), "E0704", (3, 1), "digits");
    assert_rejected(
        &weight("[\"^\", \"x\", \"100000\"]"),
        "E0704",
        (3, 12),
        "exponent up to",
    );
    let towers = (0..4).fold("\"x\"".to_owned(), |base, _| format!("[\"^\", {base}, \"500\"]"));
    assert_eq!(rejected(&weight(&towers)).code.id, "E0704");
    let choices = r#"["^", ["^", ["+", ["^", ["ite", ["b", "a"], "2", "3"], "500"], "1"], "500"], "500"]"#;
    assert_eq!(rejected(&weight(choices)).code.id, "E0704");
    let numbers = "[\"^\", \"1e300\", \"512\"]";
    assert_eq!(rejected(&weight(numbers)).code.id, "E0704");
}

#[test]
fn deep_nesting_is_rejected() {
    for depth in [600, 5_000, 200_000] {
        let json = format!("{}true{}", "[\"not\", ".repeat(depth), "]".repeat(depth));
        assert_eq!(rejected(&instance(&json, "\"1\"")).code.id, "E0704", "{depth}");
        let lists = format!("(assert {}true{})", "(not ".repeat(depth), ")".repeat(depth));
        assert_eq!(rejected(&lists).code.id, "E0704", "{depth}");
        assert!(["E0701", "E0704"].contains(&rejected(&"(".repeat(depth)).code.id));
        assert!(["E0701", "E0704"].contains(&rejected(&"[".repeat(depth)).code.id));
    }
    // The depth of a definition is computed as if all definitions that it uses were written out.
    let mut script = String::from("(declare-fun x0 () Real)\n(assert (and (<= 0.0 x0) (<= x0 1.0)))\n");
    for at in 1..2000 {
        let before = at - 1;
        script.push_str(&format!(
            "(define-fun x{at} () Real (ite (<= x{before} 0.5) (* 2.0 x{before}) 1.0))\n"
        ));
    }
    assert_eq!(rejected(&script).code.id, "E0704");
}

/// The stack of a test thread is large enough to solve a problem of the maximum allowed depth.
#[test]
fn problems_of_the_greatest_depth_are_solved() {
    let depth = 390;
    let mut formula = String::from("[\"<=\", \"x\", \"1/2\"]");
    for level in 0..depth / 2 {
        let bound = level + 2;
        formula = format!(r#"["or", ["and", {formula}, ["<=", "y", "1/{bound}"]], ["<=", "x", "-{bound}"]]"#);
    }
    let solution = solved(&instance(&formula, "\"1\""));
    assert_eq!(solution.status, Status::Ok);
    // All bounds on `y` must hold together, and the last bound is the tightest. The Boolean doubles the integral.
    let expected = 1.0 / (depth / 2 + 1) as f64;
    assert!((solution.value - expected).abs() < 1e-15, "{solution:?}");
    // The script contains a chain of `let`, because solvers print formulas in this form.
    let mut script = String::from("(declare-fun x () Real)\n(assert (and (<= 0.0 x) (<= x 1.0)))\n(assert ");
    for at in 0..900 {
        let inner = if at == 0 {
            "x".to_owned()
        } else {
            format!(".def_{}", at - 1)
        };
        script.push_str(&format!("(let ((.def_{at} (+ {inner} 0.001))) "));
    }
    script.push_str(&format!("(<= .def_899 1.4){})", ")".repeat(900)));
    let solution = solved(&script);
    // The remaining constraint is x + 0.9 <= 1.4, so x <= 0.5.
    assert_eq!(solution.value, 0.5, "{solution:?}");
}

/// Shared parts of definitions are stored once. In this test, each of `n` definitions uses the previous definition twice.
#[test]
fn shared_definitions_stay_shared() {
    let mut script = String::from("(declare-fun x0 () Real)\n(assert (and (<= 0.0 x0) (<= x0 1.0)))\n");
    for at in 1..=100 {
        let before = at - 1;
        script.push_str(&format!(
            "(define-fun x{at} () Real (ite (<= x{before} 2.0) x{before} (+ x{before} x{before})))\n"
        ));
    }
    script.push_str("(define-fun weight () Real x100)\n");
    assert_eq!(solved(&script).value, 0.5);
}

/// If the work is abandoned at a limit, the value is the integral over the finished part, and the error bound also covers the unfinished part.
#[test]
fn bounds_hold_for_unfinished_work() {
    let text = include_str!("../data/densities/nr4-1.json");
    let problem = read("problem", text).unwrap().remove(0);
    let truth = 60.85540875454947;
    let over = IntegrationLimits {
        deadline: Some(std::time::Instant::now()),
        ..IntegrationLimits::default()
    };
    let late = solve(&problem, &over);
    assert!(matches!(late.status, Status::GaveUp(_)), "{late:?}");
    assert!((late.value - truth).abs() <= late.error_bound, "{late:?}");
    for regions in [0, 1, 7, 20] {
        let effort = IntegrationLimits {
            regions,
            ..IntegrationLimits::default()
        };
        let solution = solve(&problem, &effort);
        assert!(
            matches!(solution.status, Status::GaveUp(_)),
            "{regions}: {solution:?}"
        );
        assert!(solution.regions <= regions, "{regions}: {solution:?}");
        assert!(solution.error_bound.is_finite());
        assert!(
            (solution.value - truth).abs() <= solution.error_bound,
            "{regions}: {solution:?}"
        );
    }
}

/// If a side of the box is open, the error bound for an unfinished part is infinite.
#[test]
fn unfinished_unbounded_parts_have_an_infinite_bound() {
    let text = r#"{"reals": [["x", null, null], ["y", "0", "1"]], "bools": ["a"], "weight": "y",
                   "formula": ["or", ["and", [">=", "x", "1"], ["<=", "x", "2"]], ["b", "a"]]}"#;
    let effort = IntegrationLimits {
        regions: 0,
        ..IntegrationLimits::default()
    };
    let solution = solve(&read("problem", text).unwrap()[0], &effort);
    assert!(matches!(solution.status, Status::GaveUp(_)), "{solution:?}");
    assert_eq!((solution.value, solution.error_bound), (0.0, f64::INFINITY));
}

/// A single region that would take too long is abandoned, just as regions beyond the maximum number are. The error bound is computed from the
/// bounding box of the region.
#[test]
fn regions_that_are_too_large_are_given_up() {
    let names = ["x", "y", "z", "w"];
    let solve_on = |lower: &str, weight: &str| {
        let reals = names
            .map(|name| format!(r#"["{name}", "{lower}", "2"]"#))
            .join(", ");
        solved(&format!(
            r#"{{"reals": [{reals}], "weight": {weight}, "formula": ["and",
                 ["<=", ["+", "x", ["*", "2", "y"], "z", "w"], "8"],
                 ["<=", ["+", "x", "y", ["*", "3", "z"], ["*", "-1", "w"]], "7"]]}}"#
        ))
    };
    let given_up = |solution: &Solution| {
        let Status::GaveUp(reason) = &solution.status else {
            panic!("not given up: {solution:?}");
        };
        assert!(reason.contains("monomials"), "{reason}");
    };
    let powers = names.map(|name| format!(r#"["^", "{name}", "100"]"#)).join(", ");
    let weight = format!(r#"["*", {powers}]"#);
    // The integral over the whole box is an upper bound for the integral over any of its parts. The bound is (2^101 / 101)^4, because each variable
    // runs from 0 to 2.
    let whole = (2f64.powi(101) / 101.0).powi(4);
    for lower in ["0", "1"] {
        let solution = solve_on(lower, &weight);
        given_up(&solution);
        assert!(solution.error_bound > whole && solution.error_bound < 2f64.powi(404) * 1.0001);
    }
    // This weight has fewer monomials than the limit, so its integral is computed. The integral is smaller than the integral over the whole box.
    let solution = solve_on("0", r#"["*", ["^", "x", "3"], ["^", "y", "2"], "z", "w"]"#);
    assert_eq!(solution.status, Status::Ok);
    assert!(solution.value < 4.0 * (8.0 / 3.0) * 2.0 * 2.0, "{solution:?}");
}

/// Nested cases for many Booleans would be too deep for the stack. Cases below a certain depth are therefore abandoned.
#[test]
fn searches_that_are_too_deep_are_given_up() {
    let booleans = |part: fn(usize) -> String| (0..1_550).map(part).collect::<Vec<_>>().join(", ");
    let (names, parts) = (
        booleans(|at| format!(r#""a{at}""#)),
        booleans(|at| format!(r#"["b", "a{at}"]"#)),
    );
    let search = format!(r#"{{"reals": [], "bools": [{names}], "formula": ["or", {parts}], "weight": "1"}}"#);
    let roomy = std::thread::Builder::new().stack_size(32 << 20);
    let solution = roomy.spawn(move || solved(&search)).unwrap().join().unwrap();
    let Status::GaveUp(reason) = solution.status else {
        panic!("not given up: {solution:?}");
    };
    assert!(reason.contains("deep"), "{reason}");
}
