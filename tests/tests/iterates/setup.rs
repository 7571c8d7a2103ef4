//! Programs, data and comparisons that several tests use.

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_core::context::Stop;
use bnnc_core::states::{StateValues, start};
use bnnc_run::{RunOptions, RunResult, run};
use bnnc_tests::compile::{self as compiling, Compiled, options};
use bnnc_training::iterates::Collected;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const X: [[f64; 3]; 6] = [
    [1.0, 0.3, -0.5],
    [0.9, -0.2, 0.4],
    [1.2, 0.8, 0.1],
    [0.7, 0.5, -0.9],
    [1.1, -0.6, 0.2],
    [0.8, 0.1, 0.6],
];

pub const Y: [f64; 6] = [0.4, 1.1, 0.2, -0.3, 0.9, 0.5];

/// A network that has one hidden layer with five units, and a noise level.
pub const NET: &str = "use layers::Dense
use layers::Embedding
data d = csv(\"d.csv\")
model Net(x: real[3]) -> y: real {
  hidden = Dense(5)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(tanh(hidden(x)))[0], sigma + 0.1)
}
";

/// A model that consists of a linear layer.
pub const LINE: &str = "use layers::Dense
data d = csv(\"d.csv\")
model Line(x: real[3]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 0.5)
}
";

/// Creates a folder for one test. The folder contains the table of [`X`] and [`Y`].
pub fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-iterates-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let row = |(x, y): (&[f64; 3], &f64)| format!("{},{},{},{y}\n", x[0], x[1], x[2]);
    let rows: String = X.iter().zip(&Y).map(row).collect();
    std::fs::write(folder.join("d.csv"), format!("a,b,c,y\n{rows}")).unwrap();
    folder
}

pub fn seeded(folder: &Path, text: &str, seed: u64) -> Compiled {
    let options = bnnc_driver::options::CompileOptions {
        seed,
        ..options("cranelift", Some(Precision::F64))
    };
    compiling::text(&folder.join("p.bnn"), text, &options)
}

pub fn compiled(name: &str, text: &str) -> Compiled {
    seeded(&folder(name), text, 1)
}

/// Returns the first diagnostic of the compiler for a program that does not compile.
pub fn rejected(name: &str, text: &str) -> Diagnostic {
    compiling::rejected(&folder(name).join("p.bnn"), text)
}

pub fn stopped(compiled: &Compiled) -> Diagnostic {
    match run(&compiled.manifest, &RunOptions::new(1)).and_then(RunResult::whole) {
        Err(Stop::Diagnostics(found)) => found.into_iter().next().unwrap(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was run"),
    }
}

pub fn collected<'a>(result: &'a RunResult, infer: &str) -> &'a Collected {
    let outcome = result.outcomes.iter().find(|outcome| outcome.name == infer);
    let found = &outcome.unwrap().splits.last().unwrap().found;
    found.of().unwrap_or_else(|| panic!("{found:?}"))
}

pub fn values(result: &RunResult, infer: &str) -> Arc<StateValues> {
    let outcome = result.outcomes.iter().find(|outcome| outcome.name == infer);
    outcome.unwrap().splits.last().unwrap().found.values().clone()
}

pub fn close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!(
            (got - want).abs() <= tolerance * (1.0 + want.abs()),
            "{got} is not {want}"
        );
    }
}

pub fn dropped(name: &str, text: &str) -> (Compiled, StateValues) {
    let compiled = compiled(name, text);
    let infer = &compiled.manifest.infers[0];
    let states = start(&infer.states, 1, &HashMap::new());
    (compiled, states)
}

pub fn single(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
