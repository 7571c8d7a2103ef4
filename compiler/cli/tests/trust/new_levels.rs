//! Tests predictions for new rows with a level that does not occur in training rows. `bnnc`
//! predicts such rows from the prior if possible. Otherwise, it rejects them, and the error names
//! the row.

#![allow(clippy::unwrap_used)]

use crate::support::trial::Trial;
use crate::support::{Output, run};

/// Returns a program where group means vary around `mu`, and rows vary around the mean of their
/// group. All scales are known, so every posterior is Gaussian.
fn program(prior: &str, location: &str, method: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ target = y }}
model M(g: index(J)) -> y: real {{
  mu ~ Normal(0, 10)
  {prior}
  y ~ Normal({location}, 1)
}}
posterior Q of M {{
  mu ~ Normal(0, 1)
  alpha ~ Normal(0, 1)
}}
infer fit = {method}\n"
    )
}

const NUTS: &str = "nuts(M, d) { chains = 4, draws = 2000 }";

/// Returns a table with four rows of each level. The means of the levels are 10, 12, 15, 9 and 14.
fn rows(levels: &[&str]) -> String {
    let mut text = "g,y\n".to_owned();
    for (level, mean) in levels.iter().zip([10.0, 12.0, 15.0, 9.0, 14.0]) {
        for around in [-1.0, -0.2, 0.2, 1.0] {
            text += &format!("{level},{}\n", mean + around);
        }
    }
    text
}

const TEXTS: [&str; 5] = ["Oslo", "Rome", "Bonn", "Lima", "Kyiv"];

fn fitted(program: &str, rows: &str) -> Trial {
    let trial = Trial::new().program(program).file("d.csv", rows);
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    trial
}

fn predict(trial: &Trial, rows: &str, more: &[&str]) -> Output {
    std::fs::write(trial.path("new.csv"), rows).unwrap();
    let (out, data) = (trial.path("out"), trial.path("new.csv"));
    let mut words = vec!["predict", out.to_str().unwrap(), "--data", data.to_str().unwrap()];
    words.extend(more);
    run(words)
}

/// Returns the predicted mean and standard deviation of each row.
#[track_caller]
fn moments(output: &Output) -> Vec<(f64, f64)> {
    assert_eq!(output.status, 0, "{}", output.stderr);
    let mut lines = output.stdout.lines();
    assert!(
        lines.next().unwrap().starts_with("row,mean,sd,"),
        "{}",
        output.stdout
    );
    let cells = |line: &str| {
        line.split(',')
            .map(|cell| cell.parse().unwrap())
            .collect::<Vec<f64>>()
    };
    lines.map(|line| (cells(line)[1], cells(line)[2])).collect()
}

/// Returns the exact posterior mean and variance of `mu`. With `alpha ~ Normal(mu, 2)`, the mean of
/// the four rows of a group is Normal around `mu` with the variance 4 + 1 / 4.
fn location() -> (f64, f64) {
    let precision = 0.01 + 5.0 / 4.25;
    (
        (10.0 + 12.0 + 15.0 + 9.0 + 14.0) / 4.25 / precision,
        1.0 / precision,
    )
}

/// Checks the predictions. The mean of a new level is `mu` plus noise, and all rows of the level
/// share it.
#[track_caller]
fn check_new(found: &[(f64, f64)], known: usize, new: &[usize]) {
    let (mean, variance) = location();
    let sd = (variance + 4.0 + 1.0).sqrt();
    // The effective sample size is at least 2000, a quarter of the 8000 draws. The first bound is
    // five standard errors of the predicted mean, whose draws have a standard deviation of 2.2. The
    // second bound is five standard errors of the predicted standard deviation.
    let (of_mean, of_sd) = (5.0 * 2.2 / 2000f64.sqrt(), 5.0 * sd / (2.0 * 2000f64).sqrt());
    for at in new {
        assert!((found[*at].0 - mean).abs() < of_mean, "{found:?}, {mean}");
        assert!((found[*at].1 - sd).abs() < of_sd, "{found:?}, {sd}");
    }
    // The posterior mean of the group with the mean 15 is a weighted average. The four rows of this
    // group have the precision 4, and the prior around `mu` has the precision 1 / 4.
    let shrunk = (4.0 * 15.0 + 0.25 * mean) / 4.25;
    assert!((found[known].0 - shrunk).abs() < 0.1, "{found:?}, {shrunk}");
}

const NEW: &str = "g\nBonn\nNara\nPisa\nNara\n";

#[test]
fn new_levels_are_drawn_from_the_prior_of_their_group() {
    let trial = fitted(
        &program("alpha: real[J] ~ Normal(mu, 2)", "alpha[g]", NUTS),
        &rows(&TEXTS),
    );
    predict(&trial, NEW, &[]).assert_error("E0428", 3, &["new.csv:3", "`Nara`", "--new-levels prior"]);
    let output = predict(&trial, NEW, &["--new-levels", "prior"]);
    let found = moments(&output);
    check_new(&found, 0, &[1, 2, 3]);
    assert_eq!(found[1].0, found[3].0, "rows of one level share its mean");
    assert_ne!(found[1].0, found[2].0, "levels are independent");
    assert_eq!(
        predict(&trial, NEW, &["--new-levels", "prior"]).stdout,
        output.stdout
    );
    // If the rows do not contain new levels, the option does not have any effect.
    let known = "g\nBonn\nOslo\n";
    let usual = predict(&trial, known, &[]);
    assert_eq!(
        predict(&trial, known, &["--new-levels", "prior"]).stdout,
        usual.stdout
    );
    assert_eq!(moments(&usual)[0], found[0]);
}

/// Ids are levels, and a new id may lie between the ids of the run. Transformed parameters and
/// parameters with truncated priors also have elements for new levels.
#[test]
fn new_ids_are_levels_of_transformed_parameters() {
    let prior = "z: real[J] ~ Normal(0, 1)\n  alpha = mu + 2 * z";
    let program = program(prior, "alpha[g]", NUTS).replace("alpha ~ Normal(0, 1)", "z ~ Normal(0, 1)");
    let trial = fitted(&program, &rows(&["3", "5", "8", "9", "20"]));
    let found = moments(&predict(&trial, "g\n8\n7\n", &["--new-levels", "prior"]));
    check_new(&found, 0, &[1]);
    // The expected value is the mean of the absolute value of a standard normal variable, sqrt(2 /
    // pi).
    let prior = "s: positive[J] ~ Normal(0, 1)\n  alpha: real[J] ~ Normal(mu, 2)";
    let program =
        self::program(prior, "alpha[g] + s[g]", NUTS).replace("mu ~ Normal(0, 10)", "mu ~ Normal(0, 0.001)");
    let program = program.replace(
        "  mu ~ Normal(0, 1)",
        "  mu ~ Normal(0, 1)\n  s ~ LogNormal(0, 1)",
    );
    let trial = fitted(&program, &rows(&TEXTS));
    let found = moments(&predict(&trial, "g\nNara\n", &["--new-levels", "prior"]))[0];
    let half = (2.0 / std::f64::consts::PI).sqrt();
    assert!(
        (found.0 - half).abs() < 5.0 * 2.1 / 2000f64.sqrt(),
        "{found:?}, {half}"
    );
    let sd = (1.0 - half * half + 4.0 + 1.0).sqrt();
    assert!(
        (found.1 - sd).abs() < 5.0 * sd / 4000f64.sqrt(),
        "{found:?}, {sd}"
    );
}

/// In a mean-field approximation, the variance of `mu` is the variance of its conditional
/// distribution given the group means.
#[test]
fn variational_approximations_predict_new_levels() {
    let method =
        "vi(Q, d) { steps = 4000, optimiser = Adam(0.02), schedule = cosine, predictive_draws = 4000 }";
    let trial = fitted(
        &program("alpha: real[J] ~ Normal(mu, 2)", "alpha[g]", method),
        &rows(&TEXTS),
    );
    let found = moments(&predict(&trial, NEW, &["--new-levels", "prior"]));
    let (mean, _) = location();
    let conditional = 1.0 / (0.01 + 5.0 / 4.0);
    let sd = f64::sqrt(conditional + 4.0 + 1.0);
    assert!((found[1].0 - mean).abs() < 0.25, "{found:?}, {mean}");
    assert!(
        (found[1].1 - sd).abs() < 5.0 * sd / 8000f64.sqrt() + 0.03,
        "{found:?}, {sd}"
    );
}

#[test]
fn models_and_methods_without_a_prior_for_new_levels_are_rejected() {
    let elementwise = "alpha: real[J] ~ Normal(mu, 2)";
    let few = "nuts(M, d) { chains = 2, warmup = 100, draws = 100 }";
    let cases = [
        (
            elementwise,
            "alpha[g]",
            "map(M, d) { steps = 100 }",
            "`map` finds one value",
        ),
        (
            elementwise,
            "alpha[g]",
            "laplace(M, d) { steps = 100 }",
            "`laplace` integrates",
        ),
        (
            elementwise,
            "alpha[g] - sum(alpha[j] for j in 0..J)",
            few,
            "the number or the positions of the levels",
        ),
        (elementwise, "alpha[g] - mean(alpha)", few, "mixes the levels"),
        (elementwise, "alpha[g] + alpha[0]", few, "mixes the levels"),
        (elementwise, "alpha[g] * J", few, "the number or the positions"),
        (
            "alpha: simplex(J) ~ Dirichlet(repeat(1.0, J))",
            "alpha[g]",
            few,
            "`alpha`",
        ),
    ];
    for (prior, location, method, why) in cases {
        let trial = fitted(&program(prior, location, method), &rows(&TEXTS));
        let output = predict(&trial, NEW, &["--new-levels", "prior"]);
        output.assert_error("E0574", 1, &[why]);
        assert_eq!(output.stdout, "");
    }
    let fixed = program("alpha: real[5] ~ Normal(mu, 2)", "alpha[g]", few).replace("index(J)", "index(5)");
    let trial = fitted(&fixed, &rows(&TEXTS));
    predict(&trial, NEW, &["--new-levels", "prior"]).assert_error("E0428", 3, &["new.csv:3"]);
}

/// If a group occurs only in test rows, the posterior of its parameter would be the prior. Such a
/// group must therefore not be accepted as a level.
#[test]
fn ids_that_only_test_rows_have_are_an_error() {
    let text = program("alpha: real[J] ~ Normal(mu, 2)", "alpha[g]", NUTS);
    let tested = text.replace("csv(\"d.csv\") {", "csv(\"d.csv\") { test = csv(\"t.csv\"),");
    let trial = Trial::new()
        .program(&tested)
        .file("d.csv", rows(&["0", "1", "2"]))
        .file("t.csv", "g,y\n1,12\n3,4\n");
    trial
        .bnnc("run", &[])
        .assert_error("E0428", 3, &["t.csv:3", "`3`"]);
    let fixed = tested
        .replace("index(J)", "index(5)")
        .replace("real[J]", "real[5]");
    let trial = Trial::new()
        .program(&fixed.replace("draws = 2000", "draws = 100"))
        .file("d.csv", rows(&["0", "1", "2"]))
        .file("t.csv", "g,y\n1,12\n3,4\n");
    let output = trial.bnnc("run", &[]);
    output.assert_warning("E0575", &["`g` is 3 in 1 test rows and in no training row"]);
}
