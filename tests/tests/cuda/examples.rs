//! Every example gives the same results on the device and with cranelift. Steps, predictions,
//! densities and whole runs are compared.

use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::dtype::Precision;
use bnnc_core::states::{StateValues, start};
use bnnc_driver::options::CompileOptions;
use bnnc_tests::compile::{self, Compiled, examples, options};
use bnnc_tests::step::{Steps, distance, predictions, sampled, training};
use std::collections::HashMap;
use std::path::Path;

/// The number of steps between comparisons.
const STEPS: i32 = 10;

fn there(path: &Path, precision: Precision, settings: Vec<String>) -> Compiled {
    let options = CompileOptions {
        attach: Some(bnnc_cuda::attach),
        settings,
        ..options("cuda", Some(precision))
    };
    compile::file(path, &options)
}

/// Returns the allowed difference between the device and the host. The device sums in another order
/// than the host. A sum has at most a few thousand terms, and cuBLAS may compute products.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-4,
        Precision::F64 => 1e-11,
    }
}

struct Comparison<'a> {
    host: &'a InferenceBlock,
    device: &'a InferenceBlock,
    compiled: &'a Compiled,
    faults: Vec<String>,
}

impl Comparison<'_> {
    fn compare(&mut self, what: &str, got: &[f64], want: &[f64]) {
        let distance = distance(got, want);
        if distance.is_nan() || distance > tolerance(self.device.precision) {
            let (name, precision) = (&self.device.name, self.device.precision);
            self.faults
                .push(format!("{name} {precision} {what}: {distance:e}"));
        }
    }

    fn compare_all(&mut self, what: &str, got: &StateValues, want: &StateValues) {
        assert_eq!(got.len(), want.len());
        for (name, want) in want {
            self.compare(&format!("{what} {name}"), &got[name], want);
        }
    }

    /// Compares two single steps, which start from the same states on both sides. The first is the
    /// first step of the training. The second follows after the host has taken [`STEPS`] steps.
    /// Also compares the predictions from the final states of the host run.
    fn train(&mut self) {
        let dataset = self.compiled.dataset(&self.device.data);
        let states = start(&self.device.states, self.compiled.manifest.seed, &HashMap::new());
        let mut host = Steps::new(self.host, &dataset, &states, 2);
        let mut device = Steps::new(self.device, &dataset, &states, 1);
        let rows: Vec<u32> = (0..host.examples() as u32).collect();
        let batch = match training(self.host).options.batch {
            0 => rows.len(),
            batch => batch.min(rows.len()),
        };
        let batches: Vec<&[u32]> = rows.chunks(batch).collect();
        for round in 0..2 {
            let step = round * STEPS;
            let present = host.states();
            device.set(&present);
            let rows = batches[step as usize % batches.len()];
            let (want, got) = (host.step(rows, step), device.step(rows, step));
            self.compare("loss", &[got], &[want]);
            self.compare_all("state", &device.states(), &host.states());
            for step in step + 1..step + STEPS {
                host.step(batches[step as usize % batches.len()], step);
            }
        }
        let states = host.states();
        let want = predictions(self.host, &dataset, &states, (37, 3));
        let got = predictions(self.device, &dataset, &states, (37, 3));
        for ((name, want), (_, got)) in want.iter().zip(&got) {
            self.compare(&format!("predicted {name}"), got, want);
        }
    }

    /// Compares the log density, its gradient and the log likelihoods of rows at the start of the
    /// chains.
    fn sample(&mut self) {
        let dataset = self.compiled.dataset(&self.device.data);
        let states = start(&self.device.states, self.compiled.manifest.seed, &HashMap::new());
        for rows in [1, 37, usize::MAX] {
            let want = sampled(self.host, &dataset, &states, rows);
            let got = sampled(self.device, &dataset, &states, rows);
            self.compare_all("density", &got, &want);
        }
    }
}

/// The device and the host compute in the same precision, so both use the same rounded data.
#[test]
fn every_example_agrees_on_the_device() {
    let mut faults = Vec::new();
    for path in examples() {
        for precision in [Precision::F64, Precision::F32] {
            let host = compile::file(&path, &options("cranelift", Some(precision)));
            let device = there(&path, precision, Vec::new());
            for (host, infer) in host.manifest.infers.iter().zip(&device.manifest.infers) {
                let mut comparison = Comparison {
                    host,
                    device: infer,
                    compiled: &device,
                    faults: Vec::new(),
                };
                match infer.work {
                    Work::Sampling(_) => comparison.sample(),
                    Work::Train(_)
                    | Work::Laplace(_)
                    | Work::Swag(_)
                    | Work::Ensemble(_)
                    | Work::Collapsed(_) => {
                        comparison.train();
                    }
                }
                let name = path.display();
                faults.extend(comparison.faults.iter().map(|fault| format!("{name} {fault}")));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Two runs of the same program give the same results to the last bit, except for durations.
#[test]
fn results_are_the_same_in_every_run() {
    for path in examples() {
        let compiled = there(&path, Precision::F32, compile::short(&path, 2, 5));
        let text = || {
            let result = compile::run(&compiled.manifest, 2);
            let mut json = bnnc_report::result::json(&compiled.manifest, &result);
            compile::without_seconds(&mut json);
            json.to_string()
        };
        assert_eq!(text(), text(), "{}", path.display());
    }
}
