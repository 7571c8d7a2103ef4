//! Programs without a mistake: none may get a diagnostic.

use crate::Folder;
use crate::tables::{classes, counts, line, votes};

#[track_caller]
fn must_be_silent(table: String, program: &str) {
    let folder = Folder::of(&[("d.csv", table)], program);
    let (status, text) = folder.bnnc(&["run", "program.bnn", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("warning["), "{text}");
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
