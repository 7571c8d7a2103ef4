//! Programs, data and comparisons that several tests use.

use bnnc_base::dtype::Precision;
use bnnc_math::philox;
use bnnc_methods::laplace::Approximated;
use bnnc_run::RunResult;
use bnnc_tests::compile;
use bnnc_tests::compile::{Compiled, options};
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

/// The number of rows of every table.
pub const ROWS: usize = 30;

/// Options that let the search find the maximum of a linear model with many correct digits.
pub const SEARCH: &str = "epochs = 4000, batch = 0, optimiser = Adam(1e-2), schedule = cosine, online = true";

pub fn folder(name: &str, columns: &[(&str, &[f64])]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-evidence-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..ROWS {
        let numbers: Vec<String> = columns
            .iter()
            .map(|(_, column)| column[row].to_string())
            .collect();
        text += &(numbers.join(",") + "\n");
    }
    std::fs::write(folder.join("rows.csv"), text).unwrap();
    folder
}

pub fn compiled(folder: &Path, text: &str) -> Compiled {
    compiled_in(Precision::F64, folder, text)
}

pub fn compiled_in(precision: Precision, folder: &Path, text: &str) -> Compiled {
    let options = options("cranelift", Some(precision));
    compile::text(&folder.join("p.bnn"), text, &options)
}

pub fn approximated<'a>(result: &'a RunResult, infer: &str) -> &'a Approximated {
    let mut outcomes = result.outcomes.iter();
    let outcome = outcomes.find(|outcome| outcome.name == infer).unwrap();
    outcome.splits[0].found.of().expect("an approximation")
}

/// Returns the prior factors of an inference block.
pub fn factors(result: &RunResult, infer: &str) -> Vec<f64> {
    let facts = &approximated(result, infer).members[0].facts;
    facts.prior_precision.iter().map(|(_, factor)| *factor).collect()
}

pub fn close(found: &[f64], wanted: &[f64], error: f64) {
    assert_eq!(found.len(), wanted.len(), "{found:?} {wanted:?}");
    for (one, other) in found.iter().zip(wanted) {
        assert!((one - other).abs() < error, "{found:?} is not {wanted:?}");
    }
}

/// Returns standard normal numbers. Each column has a separate random stream.
pub fn normals(column: u32) -> Vec<f64> {
    let key = philox::key(11, "evidence");
    (0..ROWS as u64)
        .map(|row| philox::normal(key, [column, 0, 0], row))
        .collect()
}

pub fn combined(terms: &[(f64, &[f64])]) -> Vec<f64> {
    let of = |row: usize| terms.iter().map(|(weight, column)| weight * column[row]).sum();
    (0..ROWS).map(of).collect()
}

/// Returns the log density of `y` under a Normal distribution with mean zero. The covariance of
/// this distribution is `noise I` plus `v x x'` for each `(v, x)` in `parts`.
pub fn log_normal(y: &[f64], noise: f64, parts: &[(f64, &[f64])]) -> f64 {
    let n = y.len();
    let mut factor = vec![vec![0.0; n]; n];
    let (mut log_determinant, mut scatter) = (0.0, 0.0);
    let mut solved = vec![0.0; n];
    for i in 0..n {
        for j in 0..=i {
            let own = if i == j { noise } else { 0.0 };
            let covariance: f64 = own + parts.iter().map(|(v, x)| v * x[i] * x[j]).sum::<f64>();
            let known: f64 = (0..j).map(|k| factor[i][k] * factor[j][k]).sum();
            factor[i][j] = match i == j {
                true => (covariance - known).sqrt(),
                false => (covariance - known) / factor[j][j],
            };
        }
        let known: f64 = (0..i).map(|k| factor[i][k] * solved[k]).sum();
        solved[i] = (y[i] - known) / factor[i][i];
        log_determinant += 2.0 * factor[i][i].ln();
        scatter += solved[i] * solved[i];
    }
    -0.5 * (n as f64 * TAU.ln() + log_determinant + scatter)
}

/// Returns the maximum of a function. Golden-section search runs along one axis after the other
/// until no axis improves the value. The error of the result is about the square root of the
/// rounding error.
pub fn maximum(start: &[f64], of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let mut at = start.to_vec();
    for _ in 0..400 {
        let before = at.clone();
        for axis in 0..at.len() {
            let value = |x: f64| {
                let mut there = at.clone();
                there[axis] = x;
                of(&there)
            };
            let (mut low, mut high) = (at[axis] - 1.0, at[axis] + 1.0);
            while high - low > 1e-9 {
                let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
                match value(left) > value(right) {
                    true => high = right,
                    false => low = left,
                }
            }
            at[axis] = 0.5 * (low + high);
        }
        if at
            .iter()
            .zip(&before)
            .all(|(now, before)| (now - before).abs() < 1e-7)
        {
            break;
        }
    }
    at
}
