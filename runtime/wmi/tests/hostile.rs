//! Texts that are not problems give a clear error. Problems that are too large give an error or a status that explains why.

#![allow(clippy::unwrap_used)]

use bnnc_base::diagnostic::{Diagnostic, FaultyInput, Place};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::rational::Rational;
use bnnc_wmi::solve::{Solution, Status, solve};

fn rejected(text: &str) -> Box<Diagnostic> {
    match read("problem", text) {
        Ok(_) => panic!("not refused: {}", &text[..text.len().min(200)]),
        Err(diagnostic) => {
            assert_eq!(diagnostic.fault, FaultyInput::Program);
            diagnostic
        }
    }
}

/// Checks that the text is rejected with this code at this line and column. The message must contain these words.
fn assert_rejected(text: &str, code: &str, place: (usize, usize), words: &str) {
    let diagnostic = rejected(text);
    let Place::File { row, column, .. } = diagnostic.at else {
        panic!("no place: {diagnostic:?}");
    };
    assert_eq!(
        (diagnostic.code.id, row, column),
        (code, place.0, place.1),
        "{text}: {diagnostic:?}"
    );
    assert!(
        diagnostic.message.contains(words),
        "{text}: {}",
        diagnostic.message
    );
}

/// Returns an instance with the reals `x` and `y` in the unit square and with the Boolean `a`.
fn instance(formula: &str, weight: &str) -> String {
    format!(
        r#"{{"reals": [["x", "0", "1"], ["y", "0", "1"]], "bools": ["a"], "formula":
{formula}, "weight":
{weight}}}"#
    )
}

fn solved(text: &str) -> Solution {
    solve(&read("problem", text).unwrap()[0], &IntegrationLimits::default())
}

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
    let text = include_str!("data/densities/nr4-1.json");
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

/// Reading random bytes never causes a panic.
#[test]
fn random_bytes_never_panic() {
    let sources = [
        include_str!("data/densities/nr2-3.json").to_owned(),
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
