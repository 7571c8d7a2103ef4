//! Tests programs that are accepted, and programs that are rejected at their spans.

use crate::{accepted, bnnc, mean, network, program, rejected};

#[test]
fn a_network_runs_and_prints_its_result() {
    let output = bnnc("runs", "run", &network(""), &["--json"]);
    accepted(&output);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(result["infer"]["f"]["n_train"], 4);
    assert_eq!(output.stderr, "");
}

#[test]
fn zero_or_huge_sizes_are_rejected_at_their_span() {
    let sized = |size: &str| {
        program(
            &format!("  h = Dense({size})\n  o = Dense(1)\n  y ~ Normal(o(h(x))[0], 1)"),
            "  h.*, o.* ~ Normal(scale = 0.1)",
            "epochs = 1",
        )
    };
    rejected(
        &bnnc("size0", "run", &sized("0"), &[]),
        1,
        "E0290",
        "`h.w` has no elements: its shape is [0, 2]",
    );
    let absurd = bnnc("size1", "run", &sized("9000000000000000000"), &[]);
    rejected(
        &absurd,
        1,
        "E0290",
        "has an axis of more than 2147483647 elements",
    );
    rejected(
        &bnnc("size2", "run", &sized("2000000000"), &[]),
        1,
        "E0502",
        "of memory",
    );
    let negative = bnnc("size3", "run", &sized("-3"), &[]);
    rejected(
        &negative,
        1,
        "E0290",
        "the size `out` is not a known non-negative number",
    );
    assert!(negative.stderr.contains("called here"), "{}", negative.stderr);
}

#[test]
fn positions_outside_an_axis_are_rejected() {
    let at = bnnc("at", "run", &mean("x[7]"), &[]);
    rejected(&at, 1, "E0290", "position 7 is outside an axis of size 2");
    let counted = bnnc("counted", "run", &mean("sum(x[i] for i in 0..9)"), &[]);
    rejected(
        &counted,
        1,
        "E0290",
        "this position takes values from 0 to 8, but 8 is outside an axis of size 2",
    );
    let lag = bnnc("lag", "run", &mean("sum(x[i - 1] for i in 0..2)"), &[]);
    rejected(
        &lag,
        1,
        "E0290",
        "this position takes values from -1 to 0, but -1 is outside an axis of size 2",
    );
    accepted(&bnnc(
        "inside",
        "run",
        &mean("sum(sum(x[i] * x[1 - j] for j in 0..2) for i in 0..2)"),
        &[],
    ));
}

#[test]
fn empty_or_huge_ranges_are_rejected() {
    rejected(
        &bnnc("empty", "run", &mean("sum(x[i] for i in 1..1)"), &[]),
        1,
        "E0290",
        "the range 1..1 is empty",
    );
    let endless = bnnc(
        "endless",
        "run",
        &mean("sum(x[0] * i for i in 0..1000000000000)"),
        &[],
    );
    rejected(&endless, 1, "E0290", "has more than 16777216 positions");
    let layers = program(
        "  h = [Dense(2) for l in 0..100000000]\n  y ~ Normal(h[0](x)[0], 1)",
        "  h.* ~ Normal()",
        "epochs = 1",
    );
    rejected(
        &bnnc("layers", "run", &layers, &[]),
        1,
        "E0290",
        "the list has 100000000 layers",
    );
}

/// A window that is larger than its axis is rejected, even if only the data determine the size of
/// the axis, and even if the axis is inside a layer.
#[test]
fn windows_larger_than_their_input_are_rejected() {
    let image = |layer: &str, f: &str| {
        let lines = format!("  c = {layer}\n  y ~ Normal(sum({f}), 1)");
        program(&lines, "  c.* ~ Normal()", "epochs = 1")
    };
    let wide = bnnc(
        "wide",
        "run",
        &image("Conv(1, 2, 1)", "c(reshape(x, 1, 1, length(x)))"),
        &[],
    );
    rejected(
        &wide,
        1,
        "E0227",
        "the windows of `conv` have a side of 2, but the image has a side of 1",
    );
    let still = bnnc(
        "still",
        "run",
        &image("Conv(1, 1, 1, stride = 0)", "c(reshape(x, 1, 1, length(x)))"),
        &[],
    );
    rejected(
        &still,
        1,
        "E0214",
        "the stride must be one or more, but this is 0",
    );
}

/// Each of thirty functions calls the previous function twice, so that the program makes a billion
/// calls.
#[test]
fn exponentially_many_calls_are_rejected() {
    let functions: String = (1..31)
        .map(|n| format!("fn f{n}(x: real) -> real {{ return f{0}(x) + f{0}(x) }}\n", n - 1))
        .collect();
    let program = format!(
        "fn f0(x: real) -> real {{ return x }}\n{functions}{}",
        mean("f30(x[0])").replace("use layers::Dense\n", "")
    );
    rejected(
        &bnnc("calls", "run", &program, &[]),
        1,
        "E0290",
        "more than 100000 calls",
    );
}

/// Each step of a product halves the number of elements, so a product of 1000 elements takes ten
/// steps. The product in this test is 2 ^ 3 * 0.5 = 4.
#[test]
fn products_are_exact() {
    let fixed = program(
        "  t ~ Normal(0, 1)\n  y ~ Normal(prod([2.0, 2.0, 2.0, t]), 1)",
        "  t ~ Point(loc = fixed(0.5))",
        "epochs = 1",
    );
    let output = bnnc("product", "run", &fixed, &["--json", "--precision", "f64"]);
    accepted(&output);
    let result: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    let rmse = result["infer"]["f"]["metrics"]["rmse"]
        .as_f64()
        .expect("a number");
    // The model predicts the mean 4 for the targets 3, 4, 0.5 and 2, so the mean squared error is
    // 17.25 / 4.
    assert!((rmse - (17.25f64 / 4.0).sqrt()).abs() < 1e-9, "{rmse}");
    accepted(&bnnc("long_product", "run", &mean("prod(ones(100000))"), &[]));
}

#[test]
fn family_ranks_must_be_positive_integers() {
    for rank in ["0", "-2", "1.5"] {
        let lines = format!("  h.* ~ LowRankNormal(rank = {rank})");
        let program = program("  h = Dense(1)\n  y ~ Normal(h(x)[0], 1)", &lines, "epochs = 1");
        assert_eq!(bnnc("rank", "run", &program, &[]).status, 1, "rank = {rank}");
    }
    let taken = network("epochs = 1")
        .replace("vi(P, d)", "map(M, d)")
        .split("posterior")
        .next()
        .unwrap_or_default()
        .to_owned()
        + "infer f = map(M, d) { epochs = 1 }\nposterior Q of M { h.w = f.h.b\n h.b ~ Normal()\n s = f.s }\ninfer g = vi(Q, d) { epochs = 1 }\n";
    rejected(
        &bnnc("taken", "run", &taken, &[]),
        1,
        "E0290",
        "`h.w/loc` is [1, 2] here, but [1] in `f`",
    );
}

#[test]
fn priors_are_truncated_if_they_have_a_cdf() {
    let prior = |prior: &str| network("epochs = 1").replace("HalfNormal(1)", prior);
    accepted(&bnnc("truncated", "run", &prior("Normal(0, 1)"), &[]));
    accepted(&bnnc("student", "run", &prior("StudentT(3, 0, 1)"), &[]));
    accepted(&bnnc("flat", "run", &prior("Flat"), &[]));
    rejected(
        &bnnc("no_cdf", "run", &prior("Horseshoe(0, 1)"), &[]),
        1,
        "E0290",
        "`Horseshoe` has no `cdf`",
    );
}

#[test]
fn the_closed_form_of_a_kl_can_be_turned_off() {
    let exact = bnnc("exact", "check", &network("epochs = 1"), &[]);
    assert!(
        exact.stdout.contains("h.w") && exact.stdout.contains("exact"),
        "{}",
        exact.stdout
    );
    let sampled = bnnc("sampled", "check", &network("epochs = 1, kl = monte_carlo"), &[]);
    assert!(!sampled.stdout.contains(": exact"), "{}", sampled.stdout);
    let switched = bnnc(
        "switched",
        "check",
        &network("epochs = 1"),
        &["--without", "exact-kl"],
    );
    assert!(!switched.stdout.contains(": exact"), "{}", switched.stdout);
}

#[test]
fn texts_that_are_not_programs_are_rejected() {
    let check = |name: &str, text: &str| bnnc(name, "check", text, &[]);
    let brackets = check("brackets", &"(".repeat(1_000_000));
    rejected(&brackets, 1, "E0111", "more than 200 levels deep");
    assert!(brackets.stderr.len() < 2000, "long lines are not shown");
    rejected(
        &check("minus", &format!("const a = {}1", "-".repeat(100_000))),
        1,
        "E0111",
        "nests more than 500 operations",
    );
    rejected(
        &check("emoji", "const a = 😀"),
        1,
        "E0101",
        "unexpected character `😀`",
    );
    rejected(&check("quote", "const a = \"é😀"), 1, "E0102", "no closing quote");
    rejected(
        &check("end", "model M(x: real) -> y: real { y ~ Normal(x, 1)"),
        1,
        "E0106",
        "never closed",
    );
    rejected(&check("number", "const a = 1e999999"), 1, "E0104", "too large");
    accepted(&check("nothing", ""));
    accepted(&check("mark", "\u{feff}const a = 1\n"));
    assert_eq!(
        check("lines", &network("epochs = 1").replace('\n', "\r\n")).status,
        0
    );
}
