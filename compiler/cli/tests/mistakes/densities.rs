//! Tests warnings about likelihoods that are not a density of the data, or not the intended
//! density.

use crate::mistakes;
use crate::tables::{classes, counts, csv, each, line, normal, shuffled, uniform, votes};

/// Returns a table whose only column is a series.
fn series() -> String {
    csv(&[("y", normal(21, 60))])
}

/// Returns a table of rows around a line with the slope 2 and the intercept 100.
fn far() -> String {
    let (x, e) = (normal(1, 60), normal(2, 60));
    let y = each(60, |row| 100.0 + 2.0 * x[row] + 0.5 * e[row]);
    csv(&[("x", x), ("y", y)])
}

/// Returns a table of rows around a straight line. The inputs are around ten, so that the data are far from `x = 0`, where the intercept is defined.
fn off_centre() -> String {
    let (x, e) = (normal(1, 80), normal(2, 80));
    let y = each(80, |row| 1.0 + 2.0 * x[row] + 0.5 * e[row]);
    csv(&[("x", each(80, |row| x[row] + 10.0)), ("y", y)])
}

/// Returns a table with two inputs whose correlation is about 0.98.
fn correlated() -> String {
    let (a, e, noise) = (normal(4, 80), normal(5, 80), normal(6, 80));
    let b = each(80, |row| a[row] + 0.2 * e[row]);
    let y = each(80, |row| 1.0 + a[row] - b[row] + 0.5 * noise[row]);
    csv(&[("a", a), ("b", b), ("y", y)])
}

/// Returns a table of rows in named groups. The name of one group is `mark`, which could be a mark
/// for missing values.
fn marked(mark: &str) -> String {
    let y = normal(3, 60);
    let name = |row: usize| ["Oslo", "Rome", "Bern", mark][row % 4];
    let rows = (0..60).map(|row| format!("{},{}\n", name(row), y[row]));
    std::iter::once("g,y\n".to_owned()).chain(rows).collect()
}

/// Returns a table of prices that are censored at four: the price of every more expensive row is
/// recorded as four.
fn cut_off() -> String {
    let (x, e) = (normal(1, 90), normal(2, 90));
    let y = each(90, |row| (3.0 + 2.0 * x[row] + e[row]).min(4.0));
    csv(&[("x", x), ("y", y)])
}

/// Returns a table whose rows are in ascending order of their target.
fn sorted() -> String {
    let (x, e) = (normal(1, 90), normal(2, 90));
    let mut rows: Vec<(f64, f64)> = (0..90).map(|row| (x[row], 2.0 * x[row] + e[row])).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    csv(&[
        ("x", rows.iter().map(|row| row.0).collect()),
        ("y", rows.iter().map(|row| row.1).collect()),
    ])
}

/// Returns a table with the numbers of successes in five trials. One row has eight successes, which is impossible.
fn trials() -> String {
    let u = uniform(5, 40);
    let successes = each(40, |row| if row == 8 { 8.0 } else { (5.0 * u[row]).floor() });
    csv(&[("n", vec![5.0; 40]), ("k", successes)])
}

/// Returns a table of shares between zero and one. One share is exactly zero.
fn shares() -> String {
    let u = uniform(5, 40);
    csv(&[
        ("x", normal(1, 40)),
        (
            "y",
            each(40, |row| if row == 5 { 0.0 } else { 0.1 + 0.8 * u[row] }),
        ),
    ])
}

/// A normal family with correlations along one direction. It has one parameter per element, like a family without correlations.
const RANK_ONE: &str = "
    dist RankOne(loc: real[n], scale: positive[n], direction: real[n]) on real[n] {
      log_density(x) = rank_one_log_density((x - loc) / scale, direction / scale) - sum(log(scale)) - 0.9189385332046727 * n
      tails          = exponential(1 / scale, 2)
      draw           = loc + scale * standard_normal(n) + direction * standard_normal()
      mean           = loc
    }
    fn rank_one_log_density(z: real[n], g: real[n]) -> real {
      return -0.5 * (dot(z, z) - dot(z, g) ^ 2 / (1 + dot(g, g)) + log1p(dot(g, g)))
    }
    ";

/// Correlated inputs are harmless in three cases. With narrow priors, the posterior correlation is small. A joint family represents the correlation.
/// In a network, the correlation does not determine the predictions.
#[test]
fn correlated_inputs_that_do_no_harm_are_not_reported() {
    let line = |prior: &str, family: &str| {
        format!(
            "data d = csv(\"d.csv\") {{ target = y }}
            model M(x: real[2]) -> y: real {{
              k ~ Normal(0, 20)
              w: real[2] ~ {prior}
              sigma: positive ~ HalfNormal(5)
              y ~ Normal(k + dot(w, x), sigma)
            }}
            posterior Q of M {{ k ~ Normal()\n w ~ {family}()\n sigma ~ LogNormal() }}
            infer fit = vi(Q, d) {{ steps = 500 }}"
        )
    };
    let network = "data d = csv(\"d.csv\") { target = y }
        model M(x: real[2]) -> y: real {
          h = Dense(4)
          out = Dense(1)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(out(tanh(h(x)))[0], sigma)
        }
        posterior Q of M { h.*, out.* ~ Normal()\n sigma ~ LogNormal() }
        infer fit = vi(Q, d) { steps = 500 }";
    for program in [
        line("Normal(0, 0.01)", "Normal"),
        line("Normal(0, 5)", "FullRankNormal"),
        format!("{RANK_ONE}{}", line("Normal(0, 5)", "RankOne")),
        network.to_owned(),
    ] {
        let folder = crate::Folder::of(&[("d.csv", correlated())], &program);
        let (status, text) = folder.bnnc(&["run", "program.bnn"]);
        assert_eq!(status, Some(0), "{text}");
        assert!(!text.contains("E0674"), "{text}");
    }
}

/// Four groups with different means.
fn groups() -> String {
    let y = normal(1, 80);
    let rows = (0..80).map(|row| format!("g{},{}\n", row % 4, y[row] + (row % 4) as f64));
    std::iter::once("g,y\n".to_owned()).chain(rows).collect()
}

/// Three classes that do not depend on an input.
fn unrelated_classes() -> String {
    let x = normal(1, 90);
    let rows = (0..90).map(|row| format!("{},{}\n", x[row], row % 3));
    std::iter::once("x,y\n".to_owned()).chain(rows).collect()
}

mistakes! {
    a_variance_for_a_standard_deviation: ["E0274"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 5)
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(a + b * x, sigma ^ 2)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_variance_by_the_function: ["E0274"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(b * x, square(sigma))
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    an_output_in_its_own_mean: ["E0273"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          b ~ Normal(0, 5)
          y ~ Normal(b * x + 0.1 * y, 1)
        }
        infer fit = nuts(M, d)";

    a_series_that_predicts_itself: ["E0273"], [("d.csv", series())], "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          b ~ Normal(0, 1)
          for t in 1..T { y[t] ~ Normal(b * y[t], 1) }
        }
        infer fit = nuts(M, d)";

    a_running_mean_that_holds_the_present: ["E0273"], [("d.csv", series())], "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          b ~ Normal(0, 1)
          for t in 1..T {
            past = mean(y[0..t + 1])
            y[t] ~ Normal(b * past, 1)
          }
        }
        infer fit = nuts(M, d)";

    a_sum_that_holds_the_present: ["E0273"], [("d.csv", series())], "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          b ~ Normal(0, 1)
          for t in 2..T { y[t] ~ Normal(b * sum(y[s + 1] for s in t - 2..t), 1) }
        }
        infer fit = nuts(M, d)";

    a_mean_of_the_whole_series: ["E0273"], [("d.csv", series())], "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          b ~ Normal(0, 1)
          for t in 0..T { y[t] ~ Normal(b * mean(y), 1) }
        }
        infer fit = nuts(M, d)";

    two_outputs_that_depend_on_each_other: ["E0273"],
        [("d.csv", csv(&[("x", normal(1, 40)), ("y1", normal(2, 40)), ("y2", normal(3, 40))]))], "
        data d = csv(\"d.csv\") { inputs = [x] }
        model M(x: real) -> y1: real, y2: real {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y1 ~ Normal(a * y2 + x, 1)
          y2 ~ Normal(b * y1, 1)
        }
        infer fit = nuts(M, d)";

    reals_for_probabilities: ["E0501", "E0271"], [("d.csv", classes(40))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: index(3) {
          h = Dense(3)
          y ~ Categorical(probabilities = h(x))
        }
        infer fit = map(M, d)";

    a_linear_probability: ["E0271"], [("d.csv", votes(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y ~ Bernoulli(p = a + b * x)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_linear_rate: ["E0271"], [("d.csv", counts(40))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y ~ Poisson(rate = a + b * x)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_model_without_an_intercept: ["E0647"], [("d.csv", far())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(50)
          y ~ Normal(b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_target_that_is_cut_off: ["E0648"], [("d.csv", cut_off())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 5)
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    the_first_rows_of_a_sorted_file: ["E0649"], [("d.csv", sorted())], "
        data d = csv(\"d.csv\") { limit = 40 }
        model M(x: real) -> y: real {
          a ~ Normal(0, 5)
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    independent_families_for_what_is_correlated: ["E0650"], [("d.csv", off_centre())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 20)
          b ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        posterior Q of M {
          a, b ~ Normal()
          sigma ~ LogNormal()
        }
        infer fit = vi(Q, d)";

    independent_families_for_correlated_inputs: ["E0674"], [("d.csv", correlated())], "
        data d = csv(\"d.csv\") { target = y }
        model M(a: real, b: real) -> y: real {
          k ~ Normal(0, 20)
          p ~ Normal(0, 5)
          q ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(k + p * a + q * b, sigma)
        }
        posterior Q of M {
          k, p, q ~ Normal()
          sigma ~ LogNormal()
        }
        infer fit = vi(Q, d)";

    independent_families_for_the_inputs_of_a_layer: ["E0674"], [("d.csv", correlated())], "
        data d = csv(\"d.csv\") { target = y }
        model M(x: real[2]) -> y: real {
          out = Dense(1, prior = Normal(0, 5))
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(out(x)[0], sigma)
        }
        posterior Q of M {
          out.* ~ Normal()
          sigma ~ LogNormal()
        }
        infer fit = vi(Q, d)";

    a_radial_family_for_correlated_inputs: ["E0674"], [("d.csv", correlated())], "
        data d = csv(\"d.csv\") { target = y }
        model M(x: real[2]) -> y: real {
          k ~ Normal(0, 20)
          w: real[2] ~ Normal(0, 5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(k + dot(w, x), sigma)
        }
        posterior Q of M {
          k ~ Normal()
          w ~ Radial(scale = 0.1)
          sigma ~ LogNormal()
        }
        infer fit = vi(Q, d)";

    a_positive_family_for_correlated_inputs: ["E0674"], [("d.csv", correlated())], "
        data d = csv(\"d.csv\") { target = y }
        model M(a: real, b: real) -> y: real {
          k ~ Normal(0, 20)
          p: positive ~ HalfNormal(5)
          q: positive ~ HalfNormal(5)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(k + p * a + q * b, sigma)
        }
        posterior Q of M {
          k ~ Normal()
          p, q, sigma ~ LogNormal()
        }
        infer fit = vi(Q, d)";

    independent_families_for_a_mean_and_groups: ["E0674"], [("d.csv", groups())], "
        data d = csv(\"d.csv\") { target = y }
        model M(g: index(J)) -> y: real {
          mu ~ Normal(0, 10)
          a: real[J] ~ Normal(0, 10)
          y ~ Normal(mu + a[g], 1)
        }
        posterior Q of M { mu, a ~ Normal() }
        infer fit = vi(Q, d)";

    independent_families_for_the_classes_of_a_softmax: ["E0674"], [("d.csv", unrelated_classes())], "
        data d = csv(\"d.csv\") { target = y }
        model M(x: real[d]) -> y: index(3) {
          out = Dense(3, prior = Normal(0, 2))
          y ~ Categorical(out(x))
        }
        posterior Q of M { out.* ~ Normal() }
        infer fit = vi(Q, d)";

    a_mark_for_missing_values_as_a_group: ["E0559"], [("d.csv", marked("?"))], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(a[g], sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    more_successes_than_trials: ["E0506"], [("d.csv", trials())], "
        data d = csv(\"d.csv\") { target = k }
        model M(n: count) -> k: count {
          a ~ Normal(0, 2)
          k ~ Binomial(n, a)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_share_of_exactly_zero: ["E0506"], [("d.csv", shares())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: unit {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y ~ Beta(2 * sigmoid(a + b * x), 2 - 2 * sigmoid(a + b * x))
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";
}

#[test]
fn a_chain_without_a_start_names_the_row_that_has_no_probability() {
    let program = "
        data d = csv(\"d.csv\") { target = k }
        model M(n: count) -> k: count {
          a ~ Normal(0, 2)
          k ~ Binomial(n, a)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";
    let (_, text) = crate::Folder::of(&[("d.csv", trials())], program).bnnc(&["run", "program.bnn"]);
    let named = "the likelihood of 1 of 40 rows is zero; the first is row 10 of d.csv, where `k` is 8";
    assert!(text.contains(named), "{text}");
}

/// Correct models of the same kinds do not cause any of the diagnostics in this file.
#[test]
fn sound_densities_raise_no_warning() {
    let lags = "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          a: real[3] ~ Normal(0, 1)
          b ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          for t in 3..T {
            past = mean(y[0..t])
            y[t] ~ Normal(b * past + sum(a[t - u - 1] * y[u] for u in t - 3..t) + dot(a, y[t - 3..t]), sigma)
          }
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";
    let chain = "
        data d = csv(\"d.csv\") { inputs = [x] }
        model M(x: real) -> y1: real, y2: real {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y1 ~ Normal(a * x, 1)
          y2 ~ Normal(b * y1, 1)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";
    let three = csv(&[("x", normal(1, 40)), ("y1", normal(2, 40)), ("y2", normal(3, 40))]);
    let order = shuffled(60);
    let y = normal(21, 60);
    let shuffled = csv(&[("y", each(60, |row| y[order[row]]))]);
    for (data, program) in [(shuffled, lags), (three, chain)] {
        let (status, text) = crate::Folder::of(&[("d.csv", data)], program).bnnc(&["run", "program.bnn"]);
        assert_eq!(status, Some(0), "{text}");
        for code in [
            "E0273", "E0274", "E0271", "E0647", "E0648", "E0649", "E0650", "E0674", "E0290",
        ] {
            assert!(!text.contains(code), "{text}");
        }
    }
}
