//! Tests run folders, predictions from run folders, and files that changed after the run.

#![allow(clippy::unwrap_used)]

mod damaged;
mod new_rows;
mod replaced;

use crate::support::trial::Trial;
use crate::support::{Output, run};

/// Returns a program with a mean `mu` for each group. An optimiser fits these means. The loss is quadratic in `mu`. Its minimum is
/// at the mean of the group, except for the prior, whose relative weight is 1 / (1 + 8 * 900).
fn groups(column: &str) -> String {
    format!(
        "data d = csv(\"train.csv\") {{\n  target = y\n}}\n\nmodel Groups({column}) -> y: real {{\n  mu: real[J] ~ Normal(0, 30)\n  y ~ Normal(mu[g], 1)\n}}\n\n\
         infer m = map(Groups, d) {{\n  epochs    = 400\n  optimiser = Adam(0.5)\n  schedule  = cosine\n}}\n"
    )
}

/// Returns a table with eight rows for each level. The target of all rows of the first level is 10,
/// of the second level 20, and so on.
fn rows(levels: &[&str]) -> String {
    let mut text = "g,y\n".to_owned();
    for _ in 0..8 {
        for (at, level) in levels.iter().enumerate() {
            text += &format!("{level},{}\n", 10 * (at + 1));
        }
    }
    text
}

/// Runs the program with the run folder `out`, and panics if the run fails.
fn out(trial: &Trial, out: &str, more: &[&str]) -> Output {
    let path = trial.path(out);
    let mut words = vec!["--out", path.to_str().unwrap()];
    words.extend(more);
    let output = trial.bnnc("run", &words);
    assert_eq!(output.status, 0, "{}", output.stderr);
    output
}

/// Creates a run of three groups in the folder `out`, and a file with a new row of the third group.
fn trained_groups() -> Trial {
    let trial = Trial::new()
        .program(&groups("g: index(J)"))
        .file("train.csv", rows(&["u", "v", "w"]))
        .file("new.csv", "g\nw\n");
    out(&trial, "out", &[]);
    trial
}

fn predict(trial: &Trial, out: &str, data: &str) -> Output {
    let (out, data) = (trial.path(out), trial.path(data));
    run(["predict", out.to_str().unwrap(), "--data", data.to_str().unwrap()])
}

/// Returns the predicted means of a table of predictions.
#[track_caller]
fn means(output: &Output) -> Vec<f64> {
    assert_eq!(output.status, 0, "{}", output.stderr);
    let mut lines = output.stdout.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == "mean");
    let at = at.expect("a column `mean`");
    let mean = |line: &str| line.split(',').nth(at).unwrap().parse().unwrap();
    lines.map(mean).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let is_near = |(x, y): (&f64, &f64)| (x - y).abs() < 0.05;
    assert!(found.iter().zip(expected).all(is_near), "{found:?}");
}

impl Output {
    /// Panics if the exit status is not `status`.
    #[track_caller]
    fn assert_status(&self, status: i32) {
        assert_eq!(self.status, status, "{}", self.stderr);
    }
}
