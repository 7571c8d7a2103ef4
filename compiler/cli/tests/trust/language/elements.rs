//! Tests `for`, sums and ranges that end at a counter.

use super::{CSV, JSON, assert_alike, number, trial};

#[test]
fn vectors_of_a_dist_are_observed_inside_for() {
    let mixture = "dist Two(p: real[k], mu: real[k], s: positive) on real {
  log_density(x) = logsumexp(p[i] + Normal(mu[i], s).log_density(x) for i in 0..k)
}
";
    let whole = format!(
        "{JSON}{mixture}model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  for i in 0..n {{
    y[i] ~ Two([-0.5, -0.9], [a, 2 * a], 0.7)
  }}
}}
"
    );
    let rows = format!(
        "{CSV}{mixture}model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Two([-0.5, -0.9], [a, 2 * a], 0.7 + 0 * x)
}}
"
    );
    assert_alike("", &whole, &rows, "a");
}

#[test]
fn a_dist_of_dists_is_observed_inside_for() {
    let model =
        |likelihood: &str| format!("model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  {likelihood}\n}}\n");
    let each = model("for i in 0..n {\n    y[i] ~ Mixture(0.3, Normal(a, 1), Normal(i / n, 2))\n  }");
    let all = model("y ~ Mixture(0.3, Normal(a, 1), Normal([i / n for i in 0..n], 2))");
    assert_alike(JSON, &each, &all, "a");
}

#[test]
fn a_boolean_parameter_of_a_dist_is_a_condition() {
    let model = |ty: &str, condition: &str| {
        format!(
            "dist Censored(loc: real, event: {ty}) on real {{
  log_density(x) = if {condition} {{ Normal(loc, 1).log_density(x) }} else {{ log(1 - Normal(loc, 1).cdf(x)) }}
}}

model M(x: real, event: {ty}) -> y: real {{
  b ~ Normal(0, 1)
  y ~ Censored(b * x, event)
}}
"
        )
    };
    assert_alike(CSV, &model("bool", "event"), &model("real", "event > 0.5"), "b");
}

#[test]
fn integers_stay_indices_through_parameters_and_extrema() {
    let direct = "model M(g: int) -> y: real {\n  w: real[3] ~ Normal(0, 1)\n  y ~ Normal(w[g - 1], 1)\n}\n";
    let clipped = "model M(g: int) -> y: real {\n  w: real[3] ~ Normal(0, 1)\n  y ~ Normal(w[min(max(g - 1, 0), 2)], 1)\n}\n";
    let passed = "dist Of(w: real[k], j: index(k)) on real {
  log_density(x) = Normal(w[j], 1).log_density(x)
}

model M(g: int) -> y: real {
  w: real[3] ~ Normal(0, 1)
  y ~ Of(w, if g > 2 { 2 } else { g - 1 })
}
";
    for other in [clipped, passed] {
        assert_alike_in_sum(direct, other);
    }
}

fn assert_alike_in_sum(first: &str, second: &str) {
    let found = [first, second].map(|model| {
        let program = format!(
            "{CSV}{model}\ninfer f = map(M, d) {{ epochs = 20, batch = 60, optimiser = Adam(0.1) }}\n"
        );
        let result = trial(&program).result(&["--precision", "f64"]);
        let metrics = &result["infer"]["f"]["metrics"];
        number(metrics, &["log_likelihood"])
    });
    assert!((found[0] - found[1]).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_sum_may_end_at_a_counter() {
    let model = |before: &str, last: &str| {
        format!(
            "model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  {before}
  for t in 1..n {{
    y[t] ~ Normal(a * {last} / t, 1)
  }}
}}
"
        )
    };
    let sums = model("", "sum(y[s] for s in 0..t)");
    let running = model("past = cumsum(y)", "past[t - 1]");
    assert_alike(JSON, &sums, &running, "a");
    let means = model("", "t * mean(y[s] for s in 0..t)");
    assert_alike(JSON, &means, &running, "a");
}

#[test]
fn ranges_of_a_counter_that_run_backwards_are_rejected() {
    for backwards in [
        "sum(y[s] for s in t..0)",
        "sum(y[t..0])",
        "prod(y[s] for s in t + 1..t)",
    ] {
        let model = format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in 1..n {{\n    y[t] ~ Normal(a * {backwards}, 1)\n  }}\n}}\n"
        );
        let output = trial(&format!("{JSON}{model}infer f = map(M, d)\n")).bnnc("check", &[]);
        output.assert_error("E0214", 1, &["the end of a range", "this is below it"]);
    }
}

#[test]
fn reductions_that_need_an_element_have_one_for_every_counter() {
    let check = |range: &str, mean: &str| {
        let model = format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in {range} {{\n    y[t] ~ Normal(a * {mean}, 1)\n  }}\n}}\n"
        );
        trial(&format!("{JSON}{model}infer f = map(M, d)\n")).bnnc("check", &[])
    };
    for mean in [
        "mean(y[0..t - 1])",
        "max(y[0..t - 1])",
        "min(y[s] for s in 1..t)",
        "mean([y[s] for s in 1..t])",
        "(if a > 0 { mean(y[0..t - 1]) } else { 0 })",
    ] {
        let name = ["mean", "max", "min"]
            .into_iter()
            .find(|name| mean.contains(name))
            .expect("a name");
        check("1..n", mean).assert_error(
            "E0214",
            1,
            &[
                &format!("`{name}` needs at least one element"),
                "start the counter at a value",
                "`if t > 1 {",
            ],
        );
        // The programs that follow the advice are correct.
        check("2..n", mean).assert_sound();
        check("1..n", &format!("(if t > 1 {{ {mean} }} else {{ 0 }})")).assert_sound();
    }
    check("1..n", "sum(y[0..t - 1])").assert_sound();
    check("1..n", "mean(y[0..t])").assert_sound();
}

#[test]
fn slices_and_lists_that_end_at_a_counter_are_reduced() {
    let model = |last: &str| {
        format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in 2..n {{\n    y[t] ~ Normal(a * {last}, 1)\n  }}\n}}\n"
        )
    };
    for (slice, written) in [
        ("sum(y[0..t])", "sum(y[s] for s in 0..t)"),
        ("mean(y[1..t])", "mean(y[s] for s in 1..t)"),
        ("logsumexp(y[0..t])", "log(sum(exp(y[s]) for s in 0..t))"),
        ("sum([2 * y[s] for s in 0..t])", "2 * sum(y[s] for s in 0..t)"),
    ] {
        assert_alike(JSON, &model(slice), &model(written), "a");
    }
    // The slices in these models extend to the end of the array `b`. A slice of `y` could not
    // extend to the end of `y`, because it would then contain the observed element itself.
    let level = |last: &str| model(last).replace("  for t", "  b: real[n] ~ Normal(0, 1)\n  for t");
    assert_alike(
        JSON,
        &level("max(b[t - 1..n])"),
        &level("max(b[s] for s in t - 1..n)"),
        "a",
    );
    let beyond = trial(&format!(
        "{JSON}{}infer f = map(M, d)\n",
        model("sum(y[t - 3..t])")
    ));
    let texts = ["program.bnn:5:", "this slice runs from -1", "outside an axis of"];
    beyond.bnnc("check", &[]).assert_error("E0290", 1, &texts);
}

#[test]
fn windows_of_a_constant_length_move_with_a_counter() {
    let model = |last: &str| {
        format!(
            "model M() -> y: real[n] {{\n  a: real[2] ~ Normal(0, 1)\n  b ~ Normal(0, 1)\n  for t in 2..n {{\n    y[t] ~ Normal(b * ({last}), 1)\n  }}\n}}\n"
        )
    };
    let written = model("a[0] * y[t - 2] + a[1] * y[t - 1]");
    for window in [
        "dot(a, y[t - 2..t])",
        "sum(a * y[t - 2..t])",
        "dot(a, [y[s] for s in t - 2..t])",
    ] {
        assert_alike(JSON, &model(window), &written, "b");
    }
}

/// The column `g` holds the integers 1, 2 and 3.
#[test]
fn quotients_of_integers_are_rounded_down() {
    let model = |k: &str, factor: &str| {
        format!(
            "model M(g: int) -> y: real {{\n  a ~ Normal(0, 1)\n  {k}\n  y ~ Normal(a * {factor}, 1)\n}}\n"
        )
    };
    for (quotient, expected) in [
        ("k: int = g / 2", "if g >= 2 { 1 } else { 0 }"),
        ("k: int = g / -2", "if g >= 3 { -2 } else { -1 }"),
        ("k: int = (g - 4) / 2", "if g >= 2 { -1 } else { -2 }"),
        ("k: int = 7 / -2", "-4"),
    ] {
        assert_alike(
            CSV,
            &model(quotient, "k"),
            &model("", &format!("({expected})")),
            "a",
        );
    }
    let sum = "fn half(i: int) -> real {\n  k: int = i / 2\n  return k\n}\n";
    let sum = sum.to_owned() + &model("", "sum(half(i) for i in 0..4)");
    assert_alike(CSV, &sum, &model("", "2"), "a");
}

#[test]
fn an_integer_is_not_divided_by_zero() {
    for (definition, mean) in [
        ("k: int = g / 0", "a * k"),
        ("v: real[8] ~ Normal(0, 1)", "v[g / 0]"),
    ] {
        let program = format!(
            "{CSV}model M(g: int) -> y: real {{\n  a ~ Normal(0, 1)\n  {definition}\n  y ~ Normal({mean}, 1)\n}}\ninfer f = map(M, d)\n"
        );
        let output = trial(&program).bnnc("check", &[]);
        output.assert_error("E0290", 1, &["an integer is divided by 0"]);
    }
}
