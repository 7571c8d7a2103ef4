//! A benchmark of training steps on one thread. The benchmark prints a Markdown table of the time
//! of a step and the compile time. Run it with `cargo bench -p bnnc-tests --bench steps [--
//! PROGRAM.bnn ...]`. Without arguments, it measures the programs of `examples`. If the variable
//! `BNNC_MLIR_WORKER` names a worker, the table also has the backend `mlir`. The measurements of the
//! two backends then alternate in one process, so that other work on the machine affects both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bnnc_core::states::start;
use bnnc_tests::compile::{self, Compiled};
use bnnc_tests::step::{Steps, training};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// The backends that this machine can measure.
fn backends() -> Vec<&'static str> {
    let mlir = std::env::var_os("BNNC_MLIR_WORKER").map(|_| "mlir");
    ["cranelift"].into_iter().chain(mlir).collect()
}

fn row(path: &Path, backends: &[&str]) -> Option<String> {
    let programs: Vec<Compiled> = backends
        .iter()
        .map(|backend| compile::file(path, &compile::options(backend, None)))
        .collect();
    let mut subjects: Vec<Subject<'_>> = programs.iter().filter_map(Subject::new).collect();
    let batch = subjects.first()?.batch;
    let mut best = vec![f64::INFINITY; subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, best) in subjects.iter_mut().zip(&mut best) {
            *best = best.min(subject.time());
        }
    }
    let examples = bnnc_tests::root().join("examples");
    let program = path.strip_prefix(&examples).unwrap_or(path).display();
    let mut row = format!("| {program} | {batch} |");
    for (seconds, compiled) in best.iter().zip(&programs) {
        let (step, compile) = (seconds * 1e6, compiled.code_seconds);
        row += &format!(" {step:.1} | {compile:.3} |");
    }
    Some(row)
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
    let backends = backends();
    let titles = backends
        .iter()
        .map(|backend| format!(" {backend}, us | compiled by {backend}, s |"))
        .collect::<String>();
    println!("| program | rows |{titles}");
    println!("|---|{}", "---:|".repeat(1 + 2 * backends.len()));
    for program in programs {
        if let Some(row) = row(&program, &backends) {
            println!("{row}");
        }
    }
}
