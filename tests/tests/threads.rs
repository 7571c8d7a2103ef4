//! The same seed gives the same results on any number of threads.
#![allow(clippy::unwrap_used)]

use bnnc_base::dtype::Precision;
use bnnc_driver::options::Options;
use bnnc_tests::compile::{self, Compiled, examples, options};
use serde_json::Value;
use std::path::Path;

/// The text of `result.json` without its times.
fn result(compiled: &Compiled, threads: usize) -> String {
    let result = compile::run(&compiled.manifest, threads);
    let mut json = bnnc_run::report::result::json(&compiled.manifest, &result);
    compile::without_seconds(&mut json);
    json.to_string()
}

/// A run of a few epochs: enough for every part of a run to happen.
fn short(path: &Path) -> Compiled {
    let options = Options {
        settings: compile::short(path, 2, 10),
        ..options("cranelift", None)
    };
    compile::file(path, &options)
}

#[test]
fn every_example() {
    for path in examples() {
        let compiled = short(&path);
        let one = result(&compiled, 1);
        for threads in [2, 3] {
            assert_eq!(
                one,
                result(&compiled, threads),
                "{}, {threads} threads",
                path.display()
            );
        }
    }
}

/// Tensors large enough that every kernel and every product is divided among threads.
#[test]
fn a_wide_network() {
    let path = bnnc_tests::root().join("examples/concrete/wide.bnn");
    let program = r#"
use layers::Dense
data concrete = csv("data/concrete.csv") { test = splits("data/splits.json"), split = 0, standardise = [inputs, target] }
model Wide(x: real[d]) -> strength: real {
  first  = Dense(300)
  second = Dense(300)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  strength ~ Normal(out(tanh(second(relu(first(x)))))[0], sigma)
}
posterior MeanField of Wide {
  first.*, second.*, out.* ~ Normal(scale = 0.01)
  sigma ~ LogNormal(loc = -1, scale = 0.1)
}
infer fit = vi(MeanField, concrete) { epochs = 2, batch = 400, samples = 2, predictive_draws = 5 }
"#;
    for precision in [Precision::F32, Precision::F64] {
        let compiled = compile::text(&path, program, &options("cranelift", Some(precision)));
        let one = result(&compiled, 1);
        for threads in [2, 3] {
            assert_eq!(one, result(&compiled, threads), "{precision}, {threads} threads");
        }
    }
}

/// The text does depend on the seed, so the comparisons above compare something.
#[test]
fn another_seed() {
    let path = bnnc_tests::root().join("examples/yacht/yacht.bnn");
    let text = |seed| {
        let options = Options {
            seed,
            settings: vec!["fit.epochs=2".into()],
            ..options("cranelift", None)
        };
        let mut compiled = compile::file(&path, &options);
        compiled.manifest.seed = seed;
        let mut json: Value = serde_json::from_str(&result(&compiled, 1)).unwrap();
        json["seed"] = Value::Null;
        json
    };
    assert_ne!(text(1), text(2));
    assert_eq!(text(2), text(2));
}
