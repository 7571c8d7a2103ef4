//! Tests warnings about mistakes in likelihoods: links, scales and types that do not fit the data.

use crate::tables::{classes, counts, csv, each, line, normal, uniform, votes};
use crate::{Folder, mistakes};

/// Returns a table of counts whose rates are proportional to a positive column.
fn exposed() -> String {
    let (x, u) = (normal(3, 40), uniform(4, 40));
    let exposure = each(40, |row| 0.5 + 2.0 * u[row]);
    let y = each(40, |row| (exposure[row] * f64::exp(0.5 * x[row])).round());
    csv(&[("exposure", exposure), ("x", x), ("y", y)])
}

/// A positive column in the argument does not prove that the argument is a rate. A log rate may
/// also be a product with this column, or contain it as an offset.
#[test]
fn log_rates_with_a_positive_column_are_no_rates() {
    for (input, argument) in [
        ("exposure: real", "log(exposure) + a * x"),
        ("exposure: real", "b * exposure + 0 * a * x"),
        ("exposure: real", "rate = exposure * exp(a * x)"),
        ("x: real", "exp(a * x) * x"),
    ] {
        let others = if input == "x: real" { "" } else { ", x: real" };
        let program = format!(
            "data d = csv(\"d.csv\")
            model M({input}{others}) -> y: count {{
              a ~ Normal(0, 1)
              b: positive ~ HalfNormal(1)
              y ~ Poisson({argument})
            }}
            infer fit = map(M, d)"
        );
        let folder = Folder::of(&[("d.csv", exposed())], &program);
        let (_, text) = folder.bnnc(&["check", "program.bnn"]);
        assert!(!text.contains("E0270"), "{argument}: {text}");
    }
}

/// Returns 60 rows that are sorted by their class, which is a text.
fn sorted_classes() -> String {
    let rows = normal(1, 60).into_iter().enumerate();
    let rows = rows.map(|(row, x)| format!("{x},{}\n", ["cat", "dog", "eel"][row / 20]));
    format!("x,y\n{}", rows.collect::<String>())
}

mistakes! {
    classes_that_count_from_one: ["E0292"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| 1.0 + (row % 3) as f64))]))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: index(3) {
          h = Dense(3)
          y ~ Categorical(h(x))
        }
        infer fit = map(M, d)";

    a_class_that_no_row_has: ["E0554"],
        [("d.csv", csv(&[("x", normal(1, 60)), ("y", each(60, |row| (row % 3) as f64))]))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: index(5) {
          h = Dense(5)
          y ~ Categorical(h(x))
        }
        infer fit = map(M, d) { epochs = 300, optimiser = Adam(1e-2) }";

    a_limit_that_leaves_out_a_class: ["E0554"], [("d.csv", sorted_classes())], "
        data d = csv(\"d.csv\") { limit = 40 }
        model M(x: real[d]) -> y: index(k) {
          h = Dense(k)
          y ~ Categorical(h(x))
        }
        infer fit = map(M, d) { epochs = 300, optimiser = Adam(1e-2) }";

    a_file_with_one_named_class: ["E0554"], [("d.csv", sorted_classes().replace("eel", "cat").replace("dog", "cat"))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: index(k) {
          h = Dense(k)
          y ~ Categorical(h(x))
        }
        infer fit = map(M, d) { epochs = 300, optimiser = Adam(1e-2) }";

    a_target_with_one_class_only: ["E0554"],
        [("d.csv", csv(&[("x", normal(1, 60)), ("y", vec![1.0; 60])]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 2)
          b ~ Normal(0, 2)
          y ~ Bernoulli(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 400 }";

    classes_of_minus_one_and_one: ["E0292"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| 2.0 * (row % 2) as f64 - 1.0))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 2)
          y ~ Bernoulli(a * x)
        }
        infer fit = nuts(M, d)";

    counts_that_are_not_whole: ["E0292"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| 0.5 + row as f64))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          y ~ Poisson(a * x)
        }
        infer fit = nuts(M, d)";

    counts_below_zero: ["E0292"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| row as f64 - 3.0))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          y ~ Poisson(a * x)
        }
        infer fit = nuts(M, d)";

    waiting_times_of_zero_under_a_log_normal: ["E0506"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| row as f64))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: positive {
          a ~ Normal(0, 1)
          y ~ LogNormal(a * x, 1)
        }
        infer fit = nuts(M, d)";

    percentages_under_a_beta: ["E0437"],
        [("d.csv", csv(&[("x", normal(1, 30)), ("y", each(30, |row| 3.0 * (row + 1) as f64))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: unit {
          a ~ Normal(0, 1)
          y ~ Beta(exp(a * x), 1)
        }
        infer fit = nuts(M, d)";

    a_scale_that_is_negative: ["E0214"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(x, -sigma)
        }
        infer fit = nuts(M, d)";

    classes_under_a_bernoulli_of_a_vector: ["E0211", "E0212", "E0245"], [("d.csv", classes(40))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: index(3) {
          h = Dense(3)
          y ~ Bernoulli(h(x))
        }
        infer fit = map(M, d)";

    a_count_under_a_categorical: ["E0245", "E0211"], [("d.csv", counts(40))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: count {
          h = Dense(3)
          y ~ Categorical(h(x))
        }
        infer fit = map(M, d)";

    a_standardised_class: ["E0292"], [("d.csv", votes(40))], "
        data d = csv(\"d.csv\") { standardise = [inputs, target] }
        model M(x: real) -> y: bool {
          a ~ Normal(0, 2)
          y ~ Bernoulli(a * x)
        }
        infer fit = nuts(M, d)";

    a_target_that_never_varies: ["E0554"],
        [("d.csv", csv(&[("x", normal(1, 40)), ("y", vec![3.0; 40])]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 2)
          sigma: positive ~ LogNormal(0, 0.1)
          y ~ Normal(a, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 400 }";

    a_probability_for_a_log_odds: ["E0270"], [("d.csv", votes(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 2)
          y ~ Bernoulli(sigmoid(a * x))
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_rate_for_a_log_rate: ["E0270"], [("d.csv", counts(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          y ~ Poisson(exp(a * x))
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_rate_with_an_exposure_for_a_log_rate: ["E0270"], [("d.csv", exposed())], "
        data d = csv(\"d.csv\")
        model M(exposure: real, x: real) -> y: count {
          a ~ Normal(0, 1)
          rate = exposure * exp(a * x)
          y ~ Poisson(rate)
        }
        infer fit = map(M, d)";

    probabilities_for_logits: ["E0270"], [("d.csv", classes(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: index(3) {
          b: real[3] ~ Normal(0, 2)
          y ~ Categorical(softmax(b * x))
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_scale_that_may_be_negative: ["E0271"], [("d.csv", line(40, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          sigma ~ Normal(0, 5)
          y ~ Normal(a + 2 * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_noise_that_is_fixed_far_too_small: ["E0586"], [("d.csv", line(60, 10.0))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 0.5)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_noise_that_is_fixed_far_too_large: ["E0586"], [("d.csv", line(60, 0.01))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 1)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    counts_that_vary_far_more_than_a_poisson: ["E0586"],
        [("d.csv", csv(&[("x", normal(1, 60)), ("y", each(60, |row| if row % 3 == 0 { 40.0 } else { (row % 2) as f64 }))]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 3)
          y ~ Poisson(a + 0 * x)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    classes_as_real_numbers: ["E0641"], [("d.csv", votes(60))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 3)
          b ~ Normal(0, 3)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    an_accuracy_that_is_the_share_of_the_frequent_class: ["E0587"],
        [("d.csv", csv(&[("x", normal(1, 80)), ("y", each(80, |row| f64::from(u8::from(row % 16 == 5))))]))], "
        data d = csv(\"d.csv\") { test = fraction(0.4) }
        model M(x: real) -> y: bool {
          a ~ Normal(0, 2)
          b ~ Normal(0, 2)
          y ~ Bernoulli(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_standardised_count: ["E0292"], [("d.csv", counts(40))], "
        data d = csv(\"d.csv\") { standardise = [inputs, target] }
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          y ~ Poisson(a * x)
        }
        infer fit = nuts(M, d)";

    a_poisson_of_a_real_output: ["E0211"], [("d.csv", counts(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 1)
          y ~ Poisson(a * x)
        }
        infer fit = nuts(M, d)";

    classes_as_text_for_a_bernoulli: ["E0292"], [("d.csv", "x,y\n1,no\n2,yes\n3,no\n4,yes\n".to_owned())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 1)
          y ~ Bernoulli(a * x)
        }
        infer fit = nuts(M, d)";
}
