//! Tests warnings about mistakes in the structure of a model: layers without an activation
//! function, bounded means, collinear inputs, and elements that depend on both neighbours.

use crate::tables::{csv, each, line, normal, uniform};
use crate::{Folder, mistakes};

/// Returns the program of a network. `mean` is the mean of the network's output.
fn network(item: &str, layers: &str, mean: &str) -> String {
    format!(
        "{item}
        model M(x: real[d]) -> y: real {{
          {layers}
          sigma: positive ~ HalfNormal(1)
          y ~ Normal({mean}, sigma)
        }}
        infer fit = map(M, d)"
    )
}

const STANDARDISED: &str = "data d = csv(\"d.csv\") { standardise = [inputs, target] }";
const TWO: &str = "h = Dense(10)\n o = Dense(1)";

/// Returns a table with indicator columns for three levels, a measurement, and a target.
fn indicators() -> String {
    let (x, e) = (normal(1, 90), normal(2, 90));
    let is = |level: usize| each(90, move |row| f64::from(u8::from(row * row % 7 % 3 == level)));
    let y = each(90, |row| 2.0 * x[row] + (row * row % 7 % 3) as f64 + 0.3 * e[row]);
    csv(&[
        ("x", x),
        ("oslo", is(0)),
        ("rome", is(1)),
        ("bonn", is(2)),
        ("y", y),
    ])
}

/// Returns a table with a length in two units, a column of groups, and a target.
fn units() -> String {
    let (x, e) = (normal(1, 90), normal(2, 90));
    let y = each(90, |row| 2.0 * x[row] + 0.3 * e[row]);
    csv(&[
        ("metres", each(90, |row| 2.0 + x[row])),
        ("feet", each(90, |row| (2.0 + x[row]) / 0.3048)),
        ("g", each(90, |row| (row % 3) as f64)),
        ("even", each(90, |row| (row % 2) as f64)),
        ("odd", each(90, |row| (1 - row % 2) as f64)),
        ("y", y),
    ])
}

fn series() -> String {
    let e = normal(3, 60);
    let mut y = vec![0.0; 60];
    for t in 1..60 {
        y[t] = 0.6 * y[t - 1] + 0.5 * e[t];
    }
    csv(&[("y", y)])
}

/// Returns a table whose targets are below zero.
fn below() -> String {
    let (x, e) = (uniform(4, 60), normal(5, 60));
    let y = each(60, |row| -10.0 - 20.0 * x[row] + e[row]);
    csv(&[("x", x), ("y", y)])
}

/// Returns a table of targets around a non-negative mean. `noise` is the standard deviation of the
/// noise.
fn noisy_above_zero(noise: f64) -> String {
    let (x, e) = (normal(4, 200), normal(5, 200));
    let y = each(200, |row| x[row].max(0.0) + noise * e[row]);
    csv(&[("x", x), ("y", y)])
}

/// Returns a table whose targets range from about 20 to about 80.
fn percentages() -> String {
    let x = uniform(4, 60);
    let e = normal(5, 60);
    let y = each(60, |row| 20.0 + 60.0 * x[row] + e[row]);
    csv(&[("x", x), ("y", y)])
}

mistakes! {
    two_layers_without_an_activation: ["E0275"], [("d.csv", line(60, 0.5))],
        &network(STANDARDISED, TWO, "o(h(x))[0]");

    two_layers_without_an_activation_through_variables: ["E0275"], [("d.csv", line(60, 0.5))],
        &network(STANDARDISED, &format!("{TWO}\n a = h(x)\n b = 2 * a - 1"), "o(b)[0]");

    matrices_without_an_activation: ["E0275"], [("d.csv", line(60, 0.5))], &network(STANDARDISED,
        "w: real[8, d] ~ Normal(0, 1)\n c: real[8] ~ Normal(0, 1)\n v: real[8] ~ Normal(0, 1)", "dot(v, w @ x + c)");

    layers_of_the_user_without_an_activation: ["E0275"], [("d.csv", line(60, 0.5))], &format!("
        layer Block(size: int)(x: real[n]) -> real[size] {{
          inner = Dense(size)
          return 0.5 * inner(x)
        }}
        {}", network(STANDARDISED, "h = Block(10)\n o = Linear(1)", "o(h(x))[0]"));

    a_mean_that_tanh_bounds: ["E0655"], [("d.csv", percentages())],
        &network("data d = csv(\"d.csv\") { standardise = [inputs] }", TWO, "tanh(o(tanh(h(x)))[0])");

    a_mean_that_relu_bounds: ["E0655"], [("d.csv", line(60, 0.5))],
        &network(STANDARDISED, TWO, "relu(o(tanh(h(x)))[0])");

    a_mean_that_sigmoid_bounds: ["E0655"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          s: positive ~ HalfNormal(1)
          y ~ Normal(sigmoid(a + b * x), s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_mean_that_a_square_bounds: ["E0655"], [("d.csv", below())],
        &network("data d = csv(\"d.csv\") { standardise = [inputs] }", TWO, "o(tanh(h(x)))[0] ^ 2");

    a_mean_that_a_fourth_power_bounds: ["E0655"], [("d.csv", below())],
        &network("data d = csv(\"d.csv\") { standardise = [inputs] }", TWO, "2 * sigma * o(tanh(h(x)))[0] ^ 4");

    a_standardised_target_above_zero: ["E0655"], [("d.csv", percentages())],
        &network(STANDARDISED, TWO, "softplus(o(tanh(h(x)))[0])");

    indicators_of_all_levels_beside_an_intercept: ["E0642"], [("d.csv", indicators())], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          a ~ Normal(0, 10)
          w: real[d] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + dot(w, x), s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    indicators_by_name_beside_an_intercept: ["E0642"], [("d.csv", indicators())], "
        data d = csv(\"d.csv\")
        model M(oslo: real, rome: real, bonn: real) -> y: real {
          a ~ Normal(0, 10)
          w: real[3] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + w[0] * oslo + w[1] * rome + w[2] * bonn, s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    slopes_of_all_levels_beside_a_common_slope: ["E0642"], [("d.csv", indicators())], "
        data d = csv(\"d.csv\")
        model M(x: real, oslo: real, rome: real, bonn: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          w: real[3] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + b * x + w[0] * oslo * x + w[1] * rome * x + w[2] * bonn * x, s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    the_square_of_an_indicator: ["E0642"], [("d.csv", indicators())], "
        data d = csv(\"d.csv\")
        model M(oslo: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          c ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + b * oslo + c * oslo ^ 2, s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    indicators_in_a_sum_over_columns: ["E0642"], [("d.csv", indicators())], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          a ~ Normal(0, 10)
          w: real[d] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a - sum(w[j] * x[j] for j in 0..d), s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_copy_in_a_loop_over_rows: ["E0642"], [("d.csv", units())], "
        data d = csv(\"d.csv\")
        model M(metres: real[n], feet: real[n])() -> y: real[n] {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          c ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          for t in 0..n { y[t] ~ Normal(a + b * metres[t] - c * feet[t], s) }
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_copy_in_a_slope_of_groups: ["E0642"], [("d.csv", units())], "
        data d = csv(\"d.csv\")
        model M(metres: real, feet: real, g: index(J)) -> y: real {
          a ~ Normal(0, 10)
          b: real[J] ~ Normal(0, 10)
          c: real[J] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + b[g] * metres + c[g] * feet, s)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    an_element_given_by_both_neighbours: ["E0276"], [("d.csv", series())], "
        data d = csv(\"d.csv\") { target = y }
        model M() -> y: real[T] {
          a ~ Normal(0, 1)
          for t in 1..T - 1 {
            around = y[t - 1] + y[t + 1]
            y[t] ~ Normal(a * around, 1)
          }
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    elements_that_two_ranges_hold: ["E0244"], [("d.csv", series())], "
        data d = csv(\"d.csv\") { target = y }
        model M() -> y: real[T] {
          a ~ Normal(0, 1)
          for t in 0..T { y[t] ~ Normal(a, 1) }
          for t in 1..T { y[t] ~ Normal(a, 1) }
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    an_element_that_a_range_holds: ["E0244"], [("d.csv", series())], "
        data d = csv(\"d.csv\") { target = y }
        model M() -> y: real[T] {
          a ~ Normal(0, 1)
          y[0] ~ Normal(0, 1)
          for t in 0..T { y[t] ~ Normal(a, 1) }
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    heads_on_a_layer_without_an_activation: ["E0275"], [("d.csv", line(60, 0.5))], &network(STANDARDISED,
        "h = Dense(10)\n o = Dense(1)\n r = Dense(1)\n a = h(x)", "o(a)[0] + 0 * tanh(r(a)[0])");
}

/// Panics if a program causes one of the warnings that this file tests.
fn is_not_named(table: String, program: &str) {
    let (status, text) = Folder::of(&[("d.csv", table)], program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    for code in ["E0275", "E0276", "E0642", "E0655"] {
        assert!(!text.contains(code), "{text}");
    }
}

/// Correct models of the same kinds do not cause any of the warnings in this file.
#[test]
fn sound_shapes_raise_no_warning() {
    let narrow = "
        data d = csv(\"d.csv\") { inputs = [x, oslo, rome], standardise = [inputs] }
        model M(x: real[d]) -> y: real {
          down = Linear(2)
          up = Linear(3)
          o = Dense(1)
          y ~ Normal(o(tanh(up(down(x))))[0], 1)
        }
        infer fit = map(M, d)";
    let residual = "
        data d = csv(\"d.csv\") { inputs = [x, oslo, rome], standardise = [inputs] }
        model M(x: real[d]) -> y: real {
          h = Dense(8)
          r = Dense(8)
          o = Dense(1)
          a = h(x)
          b = a + r(tanh(a))
          y ~ Normal(o(relu(b))[0], 1)
        }
        infer fit = map(M, d)";
    let blocks = "
        layer Skip(size: int)(x: real[size]) -> real[size] {
          w: real[size, size] ~ Normal(0, 0.3)
          return x + w @ tanh(w @ x)
        }
        data d = csv(\"d.csv\") { inputs = [x, oslo, rome], standardise = [inputs] }
        model M(x: real[d]) -> y: real {
          first = Dense(8)
          blocks = [Residual(Sequential(Dense(8), tanh)) for l in 0..2]
          skip = Skip(8)
          o = Dense(1)
          y ~ Normal(o(skip(blocks[1](blocks[0](first(x)))))[0], 1)
        }
        infer fit = map(M, d)";
    let positive = "
        data d = csv(\"d.csv\") { inputs = [x], target = exp(y) }
        model M(x: real) -> y: real {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          s: positive ~ HalfNormal(1)
          y ~ Normal(exp(a + b * x), s)
        }
        infer fit = map(M, d)";
    let reference = "
        data d = csv(\"d.csv\")
        model M(x: real, rome: real, bonn: real) -> y: real {
          a ~ Normal(0, 10)
          w: real[3] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a + w[0] * x + w[1] * rome + w[2] * bonn, s)
        }
        infer fit = map(M, d)";
    for program in [narrow, residual, blocks, positive, reference] {
        is_not_named(indicators(), program);
    }
    let later = "
        data d = csv(\"d.csv\") { target = y }
        model M() -> y: real[T] {
          a: real[2] ~ Normal(0, 1)
          for t in 2..T {
            y[t] ~ Normal(a[0] * y[t - 1] + a[1] * y[t - 2], 1)
          }
        }
        infer fit = map(M, d)";
    let (status, text) = Folder::of(&[("d.csv", series())], later).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("E0276"), "{text}");
}

#[test]
fn noise_beyond_the_bounds_of_a_mean_raises_no_warning() {
    for (mean, noise) in [
        ("relu(a + b * x)", 1.0),
        ("relu(a + b * x)", 2.0),
        ("(a + b * x) ^ 2", 1.0),
    ] {
        let program = format!(
            "data d = csv(\"d.csv\")
            model M(x: real) -> y: real {{
              a ~ Normal(0, 1)
              b ~ Normal(0, 1)
              s: positive ~ HalfNormal(2)
              y ~ Normal({mean}, s)
            }}
            infer fit = nuts(M, d) {{ chains = 2, warmup = 200, draws = 300 }}"
        );
        is_not_named(noisy_above_zero(noise), &program);
    }
}

#[test]
fn standardised_targets_under_a_bounded_mean_are_advised_against() {
    let of = |item: &str| {
        let program = network(item, TWO, "softplus(o(tanh(h(x)))[0])");
        Folder::of(&[("d.csv", percentages())], &program)
            .bnnc(&["run", "program.bnn"])
            .1
    };
    assert!(of(STANDARDISED).contains("write `standardise = [inputs]`"));
    let inputs = of("data d = csv(\"d.csv\") { standardise = [inputs] }");
    assert!(!inputs.contains("E0655"), "{inputs}");
}

#[test]
fn bottlenecks_and_levels_without_intercept_raise_no_warning() {
    // The first model maps two columns through a bottleneck to three outputs. The second model has
    // an effect for each level but no intercept.
    let heads = "
        data d = csv(\"d.csv\") { inputs = [x, oslo, rome], standardise = [inputs] }
        model M(x: real[d]) -> y: real {
          down = Linear(2)
          first = Dense(1)
          second = Dense(1)
          third = Dense(1)
          a = down(x)
          y ~ Normal(first(a)[0] + tanh(second(a)[0]) + tanh(third(a)[0]), 1)
        }
        infer fit = map(M, d)";
    let levels = "
        data d = csv(\"d.csv\")
        model M(oslo: real, other: real) -> y: real {
          w: real[2] ~ Normal(0, 10)
          s: positive ~ HalfNormal(1)
          y ~ Normal(w[0] * oslo + w[1] * other, s)
        }
        infer fit = map(M, d)";
    let complements = {
        let (oslo, e) = (each(90, |row| (row % 2) as f64), normal(6, 90));
        let other = each(90, |row| 1.0 - oslo[row]);
        let y = each(90, |row| 4.0 * oslo[row] + 2.0 * other[row] + 0.3 * e[row]);
        csv(&[("oslo", oslo), ("other", other), ("y", y)])
    };
    is_not_named(indicators(), heads);
    for program in determined() {
        is_not_named(units(), &program);
    }
    is_not_named(complements, levels);
}

/// Returns models with linearly dependent columns whose coefficients are nevertheless identifiable.
fn determined() -> [String; 7] {
    let of = |parameters: &str, mean: &str| {
        format!(
            "data d = csv(\"d.csv\")
            model M(metres: real, feet: real, g: index(J), even: real, odd: real) -> y: real {{
              a ~ Normal(0, 10)
              b ~ Normal(0, 1)
              {parameters}
              s: positive ~ HalfNormal(1)
              y ~ Normal({mean}, s)
            }}
            infer fit = map(M, d) {{ steps = 200 }}"
        )
    };
    [
        of("", "a * metres + exp(0.1 * b * feet)"),
        of("c ~ Normal(0, 1)", "a * even * metres + b * odd * metres + c"),
        // Only the term `exp(b)` determines `b`.
        of("", "a * metres + b * feet + exp(b)"),
        of("", "a * metres + a * b * feet"),
        of(
            "t: positive ~ HalfNormal(1)\n c: real[J] ~ Normal(0, t)",
            "a + c[g] + b * metres",
        ),
        of("c ~ Normal(0, 1)", "a + b * metres + c * feet ^ 2"),
        of("", "a * metres / feet + b * even"),
    ]
}
