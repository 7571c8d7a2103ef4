//! Tests expressions that are not supported, or that are too large.

use super::{CSV, JSON, trial};
use std::fmt::Write;

#[test]
fn unsupported_expressions_are_reported_at_their_line() {
    let program = format!(
        "{JSON}model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  for t in 1..n {{
    past = [y[s] for s in 0..t]
    y[t] ~ Normal(a * past[0], 1)
  }}
}}
infer f = map(M, d)
"
    );
    let output = trial(&program).bnnc("check", &[]);
    let texts = [
        "program.bnn:5:",
        "its length changes from step to step",
        "sum(y[0..t])",
    ];
    output.assert_error("E0287", 1, &texts);
    assert!(!output.stderr.contains("library/"), "{}", output.stderr);
}

#[test]
fn outputs_that_double_sixty_times_are_checked_at_once() {
    let mut program = "model M(x: real) -> y: real, z: real {\n  a0 = y\n".to_owned();
    for at in 1..60 {
        writeln!(program, "  a{at} = a{} + a{}", at - 1, at - 1).unwrap();
    }
    program += "  y ~ Normal(x, 1)\n  z ~ Normal(a59 / 1e18, 1)\n}\n";
    let start = std::time::Instant::now();
    trial(&program).bnnc("check", &[]).assert_silent();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

/// The last of many definitions reads an element of the output through all others. Following them must
/// not use the stack.
#[test]
fn a_chain_of_sixty_thousand_definitions_is_followed_to_an_output() {
    let mut program = format!("{JSON}model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  s0 = a * y[1]\n");
    for at in 1..60_000 {
        writeln!(program, "  s{at} = s{} + y[0]", at - 1).unwrap();
    }
    program += "  y[0] ~ Normal(0, 1)\n  for t in 1..n {\n    y[t] ~ Normal(s59999, 1)\n  }\n}\ninfer f = map(M, d)\n";
    let output = trial(&program).bnnc("check", &[]);
    output.assert_error(
        "E0273",
        1,
        &["the distribution of `y[1]` depends on `y[1]` itself"],
    );
}

#[test]
fn constants_that_double_sixty_times_are_checked_at_once() {
    let mut program = "const C0 = 1\n".to_owned();
    for at in 1..60 {
        writeln!(program, "const C{at} = C{} + C{}", at - 1, at - 1).unwrap();
    }
    program += "model M(x: real) -> y: real {\n  y ~ Normal(x / C59, 1)\n}\n";
    let start = std::time::Instant::now();
    trial(&program).bnnc("check", &[]).assert_silent();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn huge_arrays_are_rejected_at_their_line() {
    let of = |line: &str, value: &str| {
        let text = format!(
            "{CSV}model M(x: real[d]) -> y: real {{\n  {line}\n  y ~ Normal({value}, 1)\n}}\ninfer f = map(M, d)\n"
        );
        trial(&text).bnnc("check", &[])
    };
    let long = "has an axis of more than 2147483647 elements";
    of("h = Dense(4294967296)", "h(x)[0]").assert_error(
        "E0290",
        1,
        &["`h.w` of shape", long, "program.bnn:4:"],
    );
    of("w: real[4294967296] ~ Normal(0, 1)", "w[4294967295]").assert_error(
        "E0290",
        1,
        &["`w` of shape", long],
    );
    of("w ~ Normal(0, 1)", "repeat(w, 4611686018427387905, 2)[5, 1]").assert_error("E0290", 1, &[long]);
    of("w ~ Normal(0, 1)", "w + sum(repeat(1.0, 2000000, 2000000))").assert_error(
        "E0290",
        1,
        &["has more than 1099511627776 elements"],
    );
    let start = std::time::Instant::now();
    of("o: ordered(2000000000) ~ Normal(0, 5)", "o[0]");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
