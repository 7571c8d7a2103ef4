//! Tests that correct programs do not cause any diagnostic.

use crate::Folder;
use crate::tables::{classes, counts, csv, each, line, normal, votes};

#[track_caller]
fn must_be_silent(table: String, program: &str) {
    let text = run(table, program);
    assert!(!text.contains("warning["), "{text}");
}

/// Runs a program on the table `d.csv`, and returns its output.
fn run(table: String, program: &str) -> String {
    let folder = Folder::of(&[("d.csv", table)], program);
    let (status, text) = folder.bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    text
}

#[test]
fn a_linear_regression() {
    let program = "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 500 }";
    must_be_silent(line(100, 0.5), program);
}

/// One of the columns is constant, so that its coefficient is the intercept.
#[test]
fn a_linear_regression_with_a_column_of_ones() {
    let (x, e) = (normal(1, 100), normal(2, 100));
    let y = each(100, |row| 1.0 + 2.0 * x[row] + 0.5 * e[row]);
    let table = csv(&[("x", x), ("one", vec![1.0; 100]), ("y", y)]);
    let program = "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          w: real[d] ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(dot(w, x), sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 500 }";
    must_be_silent(table, program);
}

#[test]
fn a_logistic_regression() {
    let program = "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: bool {
          a ~ Normal(0, 3)
          b ~ Normal(0, 3)
          y ~ Bernoulli(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 500 }";
    must_be_silent(votes(100), program);
}

#[test]
fn a_poisson_regression() {
    let program = "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y ~ Poisson(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 500 }";
    must_be_silent(counts(100), program);
}

#[test]
fn a_classification() {
    let program = "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: index(3) {
          a: real[3] ~ Normal(0, 2)
          b: real[3] ~ Normal(0, 2)
          y ~ Categorical(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 500 }";
    must_be_silent(classes(100), program);
}

#[test]
fn a_hierarchy_of_groups_in_the_order_of_the_file() {
    let (e, z) = (normal(1, 120), normal(2, 6));
    let rows = (0..120).map(|row| {
        let g = row / 20;
        format!(
            "{},{}\n",
            ["Oslo", "Bergen", "Rome", "Paris", "Bonn", "Lima"][g],
            2.0 + z[g] + e[row]
        )
    });
    let table = std::iter::once("city,y\n".to_owned()).chain(rows).collect();
    let program = "
        data d = csv(\"d.csv\")
        model M(city: index(J)) -> y: real {
          mu ~ Normal(0, 5)
          tau: positive ~ HalfNormal(2)
          alpha: real[J] ~ Normal(mu, tau)
          sigma: positive ~ HalfNormal(2)
          y ~ Normal(alpha[city], sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 1000, draws = 1500, target_acceptance = 0.95 }";
    must_be_silent(table, program);
}

#[test]
fn a_series_in_the_order_of_its_months() {
    let e = normal(3, 100);
    let mut y = vec![0.0; 100];
    for t in 1..100 {
        y[t] = 0.6 * y[t - 1] + 0.5 * e[t];
    }
    let table = csv(&[("month", each(100, |row| row as f64)), ("y", y)]);
    let program = "
        data d = csv(\"d.csv\") { target = y }
        model Series() -> y: real[T] {
          b ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          for t in 1..T {
            y[t] ~ Normal(b * y[t - 1], sigma)
          }
        }
        infer fit = nuts(Series, d) { chains = 4, warmup = 500, draws = 1000 }";
    must_be_silent(table, program);
}

#[test]
fn a_network_under_map() {
    let x = each(120, |row| (row * 37 % 120) as f64 / 60.0 - 1.0);
    let e = normal(4, 120);
    let y = each(120, |row| (3.0 * x[row]).sin() + 0.2 * e[row]);
    let program = "
        data d = csv(\"d.csv\") { test = fraction(0.25), standardise = [inputs, target] }
        model M(x: real[d]) -> y: real {
          h = Dense(10)
          o = Dense(1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(o(tanh(h(x)))[0], sigma)
        }
        infer fit = map(M, d)";
    must_be_silent(csv(&[("x", x), ("y", y)]), program);
}

#[test]
fn a_linear_regression_with_flat_priors_under_laplace() {
    let program = "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Flat
          b ~ Flat
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = laplace(M, d)";
    must_be_silent(line(100, 0.5), program);
}

#[test]
fn a_logistic_regression_with_flat_priors_under_map() {
    let program = "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Flat
          b ~ Flat
          y ~ Bernoulli(a + b * x)
        }
        infer fit = map(M, d)";
    must_be_silent(votes(100), program);
}

#[test]
fn rare_events_that_an_input_predicts() {
    let x = normal(3, 200);
    let y = each(200, |row| {
        f64::from(u8::from(x[row] + 0.2 * normal(5, 200)[row] > 1.1))
    });
    let program = "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 5)
          b ~ Normal(0, 5)
          y ~ Bernoulli(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 1000 }";
    // The classes are nearly separated, so the posterior has heavy tails, which other warnings
    // report. The accuracy, however, is higher than the relative frequency of the most frequent
    // class.
    let text = run(csv(&[("x", x), ("y", y)]), program);
    assert!(!text.contains("E0587") && !text.contains("E0554"), "{text}");
}

#[test]
fn a_standardised_regression_with_a_scale_near_zero_and_wide_types() {
    let program = "
        data d = csv(\"d.csv\") { standardise = [inputs, target] }
        model M(x: real[d]) -> y: real {
          w: real(-10, 10)[d] ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(sum(w * x), sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 500, draws = 1000 }";
    must_be_silent(line(100, 0.1), program);
}
