//! Programs, data and comparisons that several tests use.

use bnnc_base::dtype::Precision;
use bnnc_run::{InferenceOutcome, RunResult};
use bnnc_tests::compile::{self as compiling, Compiled, options};
use std::path::{Path, PathBuf};

pub const X: [f64; 8] = [-1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0];

pub const Y1: [f64; 8] = [0.3, 0.9, 0.7, 1.4, 0.6, 1.2, 1.1, 2.0];

pub const Y2: [f64; 8] = [-3.1, -1.6, -1.4, 0.2, 0.4, 0.8, 2.5, 3.7];

pub const C: [i32; 8] = [0, 0, 1, 0, 1, 1, 1, 1];

pub const N: [i32; 8] = [0, 1, 0, 1, 2, 1, 3, 6];

pub const G: [i32; 8] = [2, 2, 0, 0, 0, 1, 0, 1];

/// Creates a folder for one test. The folder contains a table of all outputs.
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-outputs-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let row = |i: usize| format!("{},{},{},{},{},{}\n", X[i], Y1[i], Y2[i], C[i], N[i], G[i]);
    let rows: String = (0..X.len()).map(row).collect();
    std::fs::write(folder.join("d.csv"), format!("x,y1,y2,c,n,g\n{rows}")).unwrap();
    folder
}

pub fn compiled(folder: &Path, text: &str) -> Compiled {
    compiling::text(
        &folder.join("program.bnn"),
        text,
        &options("cranelift", Some(Precision::F64)),
    )
}

pub fn of<'a>(result: &'a RunResult, name: &str) -> &'a InferenceOutcome {
    let mut outcomes = result.outcomes.iter();
    outcomes.find(|outcome| outcome.name == name).unwrap()
}

pub fn metric(outcome: &InferenceOutcome, name: &str) -> f64 {
    let metrics = &outcome.splits[0].metrics;
    match metrics.iter().find(|(known, _)| known == name) {
        Some((_, value)) => *value,
        None => panic!("no `{name}` in {metrics:?}"),
    }
}

pub fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

pub fn near(found: f64, wanted: f64, bound: f64) {
    assert!(
        (found - wanted).abs() <= bound,
        "{found}, not {wanted} within {bound}"
    );
}
