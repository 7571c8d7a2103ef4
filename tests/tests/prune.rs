//! The pruning table, from the program to the report. It contains signal-to-noise ratios, and the
//! metrics after weights have been removed.

use bnnc_base::dtype::Precision;
use bnnc_core::context::Context;
use bnnc_inference::prune::{Ratios, signal_to_noise};
use bnnc_kernels::pool::Pool;
use bnnc_report::result;
use bnnc_run::{InferenceOutcome, RunResult};
use bnnc_tests::compile::{self, Compiled, options};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows with three inputs and a target. Each split in [`SPLITS`] holds out two of these rows.
const ROWS: [([f64; 3], f64); 8] = [
    ([1.0, 0.5, -1.0], 2.0),
    ([0.0, 1.0, 2.0], -1.0),
    ([2.0, -1.0, 0.5], 3.0),
    ([-1.0, 0.0, 1.0], -2.5),
    ([0.5, 2.0, 1.5], 0.5),
    ([1.5, -0.5, -2.0], 4.0),
    ([-2.0, 1.0, 0.0], -3.0),
    ([1.0, 1.0, 1.0], 1.0),
];

const SPLITS: [[usize; 2]; 2] = [[0, 1], [5, 7]];

fn compiled(name: &str, program: &str) -> Compiled {
    let folder: PathBuf = std::env::temp_dir().join(format!("bnnc-prune-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    let lines: String = ROWS
        .iter()
        .map(|([a, b, c], y)| format!("{a},{b},{c},{y}\n"))
        .collect();
    let write =
        |file: &str, text: &str| std::fs::write(folder.join(file), text).expect("the file is written");
    write("rows.csv", &format!("a,b,c,y\n{lines}"));
    write(
        "splits.json",
        &format!(r#"{{"n_rows": 8, "index_base": 0, "n_splits": 2, "test": {SPLITS:?}}}"#),
    );
    compile::text(
        &folder.join("prune.bnn"),
        program,
        &options("cranelift", Some(Precision::F64)),
    )
}

/// The noise of the weights and the learning rate are both negligible, so predictions can be
/// computed by hand.
const LINEAR: &str = "
data rows = csv(\"rows.csv\") { target = y, test = splits(\"splits.json\") }
model Linear(a: real, b: real, c: real) -> y: real {
  wa ~ Normal(0, 1)
  wb ~ Normal(0, 1)
  wc ~ Normal(0, 1)
  offset ~ Normal(0, 1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(wa * a + wb * b + wc * c + offset, sigma)
}
posterior Q of Linear {
  wa ~ Normal(loc = 1.5, scale = 1e-9)
  wb ~ Normal(loc = 0.25, scale = 1e-9)
  wc ~ Normal(loc = -0.75, scale = 1e-8)
  offset ~ Normal(loc = 0.125, scale = 1e-9)
  sigma ~ LogNormal(loc = 0, scale = 0.1)
}
infer fit = vi(Q, rows) {
  epochs = 1, batch = 0, optimiser = SGD(1e-30), predictive_draws = 3, prune = [0, 0.25, 0.5, 0.75]
}
";

/// The weights in the order of removal. The signal-to-noise ratios of the weights are 7.5e7,
/// 1.25e8, 2.5e8 and 1.5e9.
const GOING: [(usize, f64, f64); 4] = [
    (2, -0.75, 7.5e7),
    (3, 0.125, 1.25e8),
    (1, 0.25, 2.5e8),
    (0, 1.5, 1.5e9),
];

/// Returns the root mean squared error on a split after the first `gone` weights have been removed.
fn rmse(split: usize, gone: usize) -> f64 {
    let square = |row: &usize| {
        let ([a, b, c], y) = ROWS[*row];
        let inputs = [a, b, c, 1.0];
        let mean: f64 = GOING[gone..]
            .iter()
            .map(|(at, weight, _)| weight * inputs[*at])
            .sum();
        (y - mean).powi(2)
    };
    let sum: f64 = SPLITS[split].iter().map(square).sum();
    (sum / 2.0).sqrt()
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{got} is not {want} to {tolerance}"
    );
}

fn outcome(result: &RunResult) -> &InferenceOutcome {
    assert_eq!(result.outcomes.len(), 1);
    &result.outcomes[0]
}

fn metric(metrics: &[(String, f64)], name: &str) -> f64 {
    let found = metrics.iter().find(|(other, _)| other == name);
    found.map_or(f64::NAN, |(_, value)| *value)
}

#[test]
fn removed_weights_are_zero_on_every_split() {
    let compiled = compiled("linear", LINEAR);
    let result = compile::run(&compiled.manifest, 1);
    for (split, found) in outcome(&result).splits.iter().enumerate() {
        assert_eq!(found.pruned.len(), 4);
        // If no weights are removed, the table uses the same draws as the predictions. The metrics
        // are then equal to the last bit.
        assert_eq!(found.pruned[0].metrics, found.metrics);
        for (gone, line) in found.pruned.iter().enumerate() {
            assert_eq!((line.fraction, line.weights), (0.25 * gone as f64, 4 - gone));
            close(metric(&line.metrics, "rmse"), rmse(split, gone), 1e-6);
            close(line.threshold / GOING[gone].2, 1.0, 1e-6);
        }
    }
}

#[test]
fn several_splits_are_a_mean_and_a_standard_error() {
    let compiled = compiled("splits", LINEAR);
    let result = compile::run(&compiled.manifest, 1);
    let json = result::json(&compiled.manifest, &result);
    let table = json["infer"]["fit"]["prune"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(table.len(), 4);
    for (gone, line) in table.iter().enumerate() {
        let (first, second) = (rmse(0, gone), rmse(1, gone));
        let number = |name: &str| line["metrics"][name].as_f64().unwrap_or(f64::NAN);
        close(number("rmse"), 0.5 * (first + second), 1e-6);
        // The standard error of the mean of two numbers is half their distance.
        close(number("rmse_se"), 0.5 * (first - second).abs(), 1e-6);
        assert_eq!(line["weights"], 4 - gone);
        let decibels = line["snr_db"].as_f64().unwrap_or(f64::NAN);
        close(decibels, 10.0 * GOING[gone].2.log10(), 1e-5);
    }
}

/// The table in the terminal and the report page show every step of the pruning. The table and the
/// page also show the site that cannot be pruned.
#[test]
fn tables_and_pages_show_the_pruning() {
    let compiled = compiled("shown", LINEAR);
    let result = compile::run(&compiled.manifest, 1);
    let text = result::table(&compiled.manifest, &result);
    for line in ["0 % ", "25 % ", "50 % ", "75 % "] {
        assert!(text.contains(&format!("  {line}")), "{text}");
    }
    assert!(
        text.contains("`sigma` is not pruned: a constrained parameter cannot be zero"),
        "{text}"
    );
    let html = match bnnc_report::report(&compiled.manifest, &result, "", &[Vec::new()]) {
        Ok(report) => report.html,
        Err(stop) => panic!("{stop:?}"),
    };
    assert!(html.contains("<h3>Pruning by signal to noise</h3>"));
    assert!(html.contains(r#"aria-label="Pruning by signal to noise""#));
    assert!(html.contains("<code>sigma</code> is not pruned"));
}

#[test]
fn without_the_option_there_is_no_table() {
    let program = LINEAR.replace(", prune = [0, 0.25, 0.5, 0.75]", "");
    let compiled = compiled("none", &program);
    let result = compile::run(&compiled.manifest, 1);
    let json = result::json(&compiled.manifest, &result);
    assert!(json["infer"]["fit"].get("prune").is_none());
    assert!(!result::table(&compiled.manifest, &result).contains("removed"));
}

fn ratios(compiled: &Compiled, values: &[(&str, Vec<f64>)]) -> Ratios {
    let infer = &compiled.manifest.infers[0];
    let values = values
        .iter()
        .map(|(name, values)| ((*name).to_owned(), values.clone()));
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let Some(pruning) = infer.training().and_then(|train| train.pruning.as_ref()) else {
        panic!("`{}` has no pruning table", infer.name);
    };
    match signal_to_noise(pruning, &values.collect(), &context) {
        Ok(ratios) => ratios,
        Err(fault) => panic!("{fault}"),
    }
}

/// The expected signal-to-noise ratios of five weights were computed with a hundred digits.
#[test]
fn ratios_have_their_known_values() {
    let program = "
data rows = csv(\"rows.csv\") { target = y }
model M(a: real) -> y: real {
  w: real[5] ~ Normal(0, 1)
  y ~ Normal(a * sum(w), 1)
}
posterior Q of M { w ~ Normal(scale = 0.1) }
infer fit = vi(Q, rows) { epochs = 1, prune = [0.5] }
";
    let compiled = compiled("known", program);
    let means = vec![0.5, -0.02, 1.2, -0.3, 0.0];
    let rhos = vec![-1.0, -3.0, 0.0, -2.0, -5.0];
    let found = ratios(&compiled, &[("w/loc", means), ("w/scale", rhos)]);
    let wanted = [1.596_109_6, 0.411_629_76, 1.731_234, 2.363_544_5, 0.0];
    assert_eq!(found[0].0, "w");
    for (got, want) in found[0].1.iter().zip(wanted) {
        close(*got, want, 5e-8);
    }
}

/// The variational family in this test is not elementwise. An element of an `n`-dimensional radial
/// distribution has the variance `scale ^ 2 / n`.
#[test]
fn joint_families_have_ratios_too() {
    let program = "
data rows = csv(\"rows.csv\") { target = y }
model M(a: real) -> y: real {
  w: real[4] ~ Normal(0, 1)
  y ~ Normal(a * sum(w), 1)
}
posterior Q of M { w ~ Radial(scale = 0.1) }
infer fit = vi(Q, rows) { epochs = 1, prune = [0.5] }
";
    let compiled = compiled("radial", program);
    let rho = 0.3f64;
    let values = [("w/loc", vec![0.5, -0.02, 1.2, 0.0]), ("w/scale", vec![rho; 4])];
    let found = ratios(&compiled, &values);
    let sd = rho.exp().ln_1p() / 2.0;
    for (got, mean) in found[0].1.iter().zip([0.5, 0.02, 1.2, 0.0]) {
        close(*got, mean / sd, 1e-12);
    }
}
