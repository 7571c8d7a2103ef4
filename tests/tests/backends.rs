//! The backends agree on every example: in one step from the same states, in ten steps, and in
//! predictions.

use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::dtype::Precision;
use bnnc_core::states::{StateValues, start};
use bnnc_data::Dataset;
use bnnc_math::philox;
use bnnc_tests::compile::{self, examples, from_examples, options};
use bnnc_tests::step::{Steps, distance, predictions, sampled, training};
use std::collections::HashMap;
use std::path::Path;

/// The number of steps before the last comparison.
const STEPS: i32 = 10;

/// Returns the states as `precision` stores them.
fn rounded(states: &StateValues, precision: Precision) -> StateValues {
    let round = |value: &f64| match precision {
        Precision::F32 => f64::from(*value as f32),
        Precision::F64 => *value,
    };
    let one = |(name, values): (&String, &Vec<f64>)| (name.clone(), values.iter().map(round).collect());
    states.iter().map(one).collect()
}

/// Returns the differences that exceed `tolerance`. The difference of a parameter is relative to its size,
/// or to `step` if the parameter is smaller.
fn far(got: &StateValues, want: &StateValues, tolerance: f64, step: f64) -> Vec<String> {
    assert_eq!(got.len(), want.len());
    let relative = |name: &str| {
        let size = want[name].iter().map(|value| value * value).sum::<f64>().sqrt();
        let is_moment = name.ends_with("/m") || name.ends_with("/v");
        let share = if is_moment || size == 0.0 {
            1.0
        } else {
            (size / step).min(1.0)
        };
        share * distance(&got[name], &want[name])
    };
    let distances = want.keys().map(|name| (name, relative(name)));
    // The second moments of Adam are squares of gradients. The relative error of the second moments
    // is therefore twice the relative error of the gradients.
    let allowed = |name: &str| {
        if name.ends_with("/v") {
            2.0 * tolerance
        } else {
            tolerance
        }
    };
    distances
        .filter(|(name, distance)| distance.is_nan() || *distance > allowed(name))
        .map(|(name, distance)| format!("{name}: {distance:e}"))
        .collect()
}

/// Leaves out elements of parameters whose gradient is below the rounding error of the largest gradient
/// of their tensor: rounding decides the size and the sign of such a gradient, and Adam divides the
/// gradient by its size. At most one element in a hundred is left out.
fn without_lost_gradients(want: &mut StateValues, got: &StateValues, precision: Precision) {
    let rounding = match precision {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    let moments: Vec<(String, Vec<f64>)> = want
        .iter()
        .filter_map(|(name, values)| Some((name.strip_suffix("/m")?.to_owned(), values.clone())))
        .collect();
    for (name, moments) in moments {
        let largest = moments.iter().fold(0.0f64, |most, moment| most.max(moment.abs()));
        let is_lost = |moment: &f64| *moment != 0.0 && moment.abs() < rounding * largest;
        let lost = moments.iter().filter(|moment| is_lost(moment)).count();
        let Some(values) = want.get_mut(&name).filter(|_| 100 * lost <= moments.len()) else {
            continue;
        };
        for (at, moment) in moments.iter().enumerate() {
            if is_lost(moment) {
                values[at] = got[&name][at];
            }
        }
    }
}

struct Pair<'a> {
    want: Steps<'a>,
    got: Steps<'a>,
    precision: Precision,
    batches: Vec<Vec<u32>>,
    /// The learning rate, which is the largest change of a parameter in a step of Adam.
    rate: f64,
}

impl Pair<'_> {
    /// Runs one step on both backends, from the same states and on the same rows. Returns the
    /// differences between the results of the two backends.
    fn step(&mut self, states: &StateValues, step: i32) -> Vec<String> {
        let tolerance = tolerance(self.precision);
        let states = rounded(states, self.precision);
        self.want.set(&states);
        self.got.set(&states);
        let rows = &self.batches[step as usize % self.batches.len()];
        self.got.prepare(rows, step);
        self.want.prepare(rows, step);
        self.want.copy_rows(&self.got);
        let losses = (self.want.run(), self.got.run());
        // A parameter that a step leaves near zero has the rounding error of the step, not of its own size.
        let (got, mut want) = (self.got.states(), self.want.states());
        without_lost_gradients(&mut want, &got, self.precision);
        let mut faults = far(&got, &want, tolerance, self.rate);
        if distance(&[losses.1], &[losses.0]) > tolerance {
            faults.push(format!("loss: {} is not {}", losses.1, losses.0));
        }
        faults
    }

    /// Runs [`STEPS`] steps on both backends from the same states. Returns the losses of the last
    /// step.
    fn run(&mut self, states: &StateValues) -> (f64, f64) {
        self.want.set(states);
        self.got.set(states);
        let mut losses = (0.0, 0.0);
        for step in 0..STEPS {
            let rows = &self.batches[step as usize % self.batches.len()];
            losses = (self.want.step(rows, step), self.got.step(rows, step));
        }
        losses
    }
}

/// Compares the backends in two single steps, in a run of [`STEPS`] steps, and in predictions. The
/// states after the steps of the reference backend do not depend on the precision of the other
/// backend. The first comparison of an inference block stores these states in `later`. The next
/// comparison reads them from there.
fn compare(
    reference: &InferenceBlock,
    native: &InferenceBlock,
    compiled: &compile::Compiled,
    later: &mut StateValues,
) -> Vec<String> {
    let dataset = compiled.dataset(&native.data);
    let states = start(&native.states, compiled.manifest.seed, &HashMap::new());
    let want = Steps::new(reference, &dataset, &states, 1);
    let rows: Vec<u32> = (0..want.examples() as u32).collect();
    let batch = match training(native).options.batch {
        0 => rows.len(),
        batch => batch.min(rows.len()),
    };
    let mut pair = Pair {
        want,
        got: Steps::new(native, &dataset, &states, 2),
        precision: native.precision,
        batches: rows.chunks(batch).map(<[u32]>::to_vec).collect(),
        rate: training(native).rate,
    };
    let mut faults = pair.step(&states, 0);
    if later.is_empty() || native.precision == Precision::F64 {
        let (want, got) = pair.run(&states);
        if native.precision == Precision::F64 && (got - want).abs() > 1e-9 * want.abs() {
            faults.push(format!("loss after {STEPS} steps: {got} is not {want}"));
        }
        *later = pair.want.states();
    }
    faults.extend(pair.step(later, STEPS));
    let later = rounded(later, native.precision);
    faults.extend(predicted(reference, native, &dataset, &later));
    faults
}

/// Predicts with both backends from the same states. Returns the differences that exceed the tolerance.
fn predicted(
    reference: &InferenceBlock,
    native: &InferenceBlock,
    dataset: &Dataset,
    states: &StateValues,
) -> Vec<String> {
    let sizes = (37, 3);
    let want = predictions(reference, dataset, states, sizes);
    let got = predictions(native, dataset, states, sizes);
    assert_eq!(want.len(), got.len());
    let distances = want
        .iter()
        .zip(&got)
        .map(|((name, want), (_, got))| (name, distance(got, want)));
    distances
        .filter(|(_, distance)| distance.is_nan() || *distance > tolerance(native.precision))
        .map(|(name, distance)| format!("predicted {name}: {distance:e}"))
        .collect()
}

fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-5,
        Precision::F64 => 1e-12,
    }
}

/// Returns the differences in the log density, its gradient and the log likelihoods of rows. The
/// log densities are evaluated at positions around the start. In single precision, the bound is
/// wider: the data are rounded too, and this changes the results for large numbers.
fn compare_sampled(
    reference: &InferenceBlock,
    native: &InferenceBlock,
    compiled: &compile::Compiled,
) -> Vec<String> {
    let dataset = compiled.dataset(&native.data);
    let states = start(&native.states, compiled.manifest.seed, &HashMap::new());
    let mut faults = Vec::new();
    for number in 0..3u32 {
        let moved = |(name, values): (&String, &Vec<f64>)| {
            let key = philox::key(7, name);
            let at =
                |(at, value): (usize, &f64)| value + 0.3 * philox::normal(key, [number, 0, 0], at as u64);
            (name.clone(), values.iter().enumerate().map(at).collect())
        };
        let states: StateValues = states.iter().map(moved).collect();
        let states = rounded(&states, native.precision);
        for rows in [1, 37, usize::MAX] {
            let want = sampled(reference, &dataset, &states, rows);
            let got = sampled(native, &dataset, &states, rows);
            let tolerance = match native.precision {
                Precision::F32 => 1e-4,
                Precision::F64 => 1e-11,
            };
            faults.extend(far(&got, &want, tolerance, f64::MIN_POSITIVE));
        }
        if native.precision == Precision::F64 {
            faults.extend(predicted(reference, native, &dataset, &states));
        }
    }
    faults
}

fn compare_program(path: &Path, backend: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let reference = compile::file(path, &options("reference", None));
    let mut later = HashMap::new();
    for precision in [Precision::F64, Precision::F32] {
        let native_program = compile::file(path, &options(backend, Some(precision)));
        for (reference, native) in reference
            .manifest
            .infers
            .iter()
            .zip(&native_program.manifest.infers)
        {
            let found = match native.work {
                Work::Train(_)
                | Work::Laplace(_)
                | Work::Swag(_)
                | Work::Ensemble(_)
                | Work::Collapsed(_) => {
                    let later = later.entry(native.name.clone()).or_default();
                    compare(reference, native, &native_program, later)
                }
                Work::Sampling(_) => compare_sampled(reference, native, &native_program),
            };
            let name = format!("{} {} {precision}", path.display(), native.name);
            faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    faults
}

fn every_example_on(backend: &str) {
    assert!(examples().len() >= 8, "the examples were not found");
    let faults = from_examples(|path| compare_program(path, backend));
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_example_on_cranelift() {
    every_example_on("cranelift");
}

/// `BNNC_MLIR_WORKER` names a worker, so this executable does not need LLVM.
#[cfg(feature = "mlir")]
mod mlir {
    use super::{distance, every_example_on, examples};
    use bnnc_base::dtype::Precision;
    use bnnc_run::RunResult;
    use bnnc_tests::compile::{self, options, run, short};
    use std::path::Path;

    #[test]
    fn every_example() {
        every_example_on("mlir");
    }

    /// Returns the metrics whose difference exceeds rounding errors.
    fn apart(want: &RunResult, got: &RunResult) -> Vec<String> {
        let mut faults = Vec::new();
        for (want, got) in want.outcomes.iter().zip(&got.outcomes) {
            for (want_split, got_split) in want.splits.iter().zip(&got.splits) {
                let pairs = want_split.metrics.iter().zip(&got_split.metrics);
                for ((name, want_metric), (_, got_metric)) in pairs {
                    if distance(&[*got_metric], &[*want_metric]) > 1e-6 {
                        faults.push(format!("{} {name}: {got_metric} is not {want_metric}", want.name));
                    }
                }
            }
        }
        faults
    }

    /// Returns the inference blocks of a program that train. A block is left out if it starts from
    /// a block that does not train.
    fn trained(path: &Path) -> Vec<String> {
        let infers_of = |only: &[String]| {
            let mut options = options("cranelift", None);
            options.only = only.to_vec();
            compile::file(path, &options).manifest.infers
        };
        let names = infers_of(&[]).into_iter().map(|infer| infer.name);
        let trains = |name: &String| {
            infers_of(std::slice::from_ref(name))
                .iter()
                .all(|infer| infer.training().is_some())
        };
        names.filter(trains).collect()
    }

    fn short_run(path: &Path, backend: &str, only: &[String]) -> RunResult {
        let mut options = options(backend, Some(Precision::F64));
        options.settings = short(path, 1, 3);
        options.only = only.to_vec();
        run(&compile::file(path, &options).manifest, 2)
    }

    /// Runs every inference block that trains, in double precision. The reported results may differ
    /// only by rounding errors. Chains of samplers are not compared. Rounding errors lead them to
    /// different states after some steps. Another test compares the densities and gradients of
    /// samplers.
    #[test]
    fn every_run() {
        let mut faults = Vec::new();
        for path in examples() {
            let only = trained(&path);
            if only.is_empty() {
                continue;
            }
            let [want, got] = ["cranelift", "mlir"].map(|backend| short_run(&path, backend, &only));
            faults.extend(
                apart(&want, &got)
                    .into_iter()
                    .map(|fault| format!("{}: {fault}", path.display())),
            );
        }
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }
}
