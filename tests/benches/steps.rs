//! A benchmark of training steps on one thread. The benchmark prints a Markdown table that compares
//! the code of `cranelift` with the code of `mlir`, and the compile times of both. Run it with
//! `BNNC_MLIR_WORKER=WORKER cargo bench -p bnnc-tests --bench steps [-- PROGRAM.bnn ...]`. Without
//! arguments, it measures the programs of `examples`. The measurements of the two backends
//! alternate in one process, so that other work on the machine affects both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bnnc_core::states::start;
use bnnc_tests::compile::{self, Compiled};
use bnnc_tests::step::{Steps, training};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const BACKENDS: [&str; 2] = ["cranelift", "mlir"];
/// The duration of one measurement.
const SPAN: Duration = Duration::from_millis(20);
/// The number of measurements. The shortest time counts, because other work on the machine can only
/// make a measurement longer.
const ROUNDS: usize = 25;

/// The first inference block of a program that trains.
struct Subject<'a> {
    steps: Steps<'a>,
    batch: usize,
}

impl<'a> Subject<'a> {
    fn new(compiled: &'a Compiled) -> Option<Subject<'a>> {
        let infer = compiled
            .manifest
            .infers
            .iter()
            .find(|infer| infer.training().is_some())?;
        let dataset = compiled.dataset(&infer.data);
        let states = start(&infer.states, compiled.manifest.seed, &HashMap::new());
        let mut steps = Steps::new(infer, &dataset, &states, 1);
        let batch = match training(infer).options.batch {
            0 => steps.examples(),
            batch => batch.min(steps.examples()),
        };
        let rows: Vec<u32> = (0..batch as u32).collect();
        steps.prepare(&rows, 1);
        Some(Subject { steps, batch })
    }

    /// Returns the seconds per step.
    fn time(&mut self) -> f64 {
        let (clock, mut count) = (Instant::now(), 0);
        while clock.elapsed() < SPAN {
            self.steps.run();
            count += 1;
        }
        clock.elapsed().as_secs_f64() / f64::from(count)
    }
}

fn row(path: &Path) -> Option<String> {
    let programs = BACKENDS.map(|backend| compile::file(path, &compile::options(backend, None)));
    let mut subjects: Vec<Subject<'_>> = programs.iter().filter_map(Subject::new).collect();
    let batch = subjects.first()?.batch;
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (subject, best) in subjects.iter_mut().zip(&mut best) {
            *best = best.min(subject.time());
        }
    }
    let examples = bnnc_tests::root().join("examples");
    let [cranelift, mlir] = best.map(|seconds| seconds * 1e6);
    Some(format!(
        "| {} | {batch} | {cranelift:.1} | {mlir:.1} | {:.2} | {:.3} | {:.2} |",
        path.strip_prefix(&examples).unwrap_or(path).display(),
        cranelift / mlir,
        programs[0].code_seconds,
        programs[1].code_seconds,
    ))
}

fn main() {
    let words = std::env::args().skip(1);
    let mut programs: Vec<PathBuf> = words
        .filter(|word| word.ends_with(".bnn"))
        .map(PathBuf::from)
        .collect();
    if programs.is_empty() {
        programs = compile::examples();
    }
    println!(
        "| program | rows | cranelift, us | mlir, us | cranelift / mlir | compiled by cranelift, s | by mlir, s |"
    );
    println!("|---|{}", "---:|".repeat(6));
    for program in programs {
        if let Some(row) = row(&program) {
            println!("{row}");
        }
    }
}
