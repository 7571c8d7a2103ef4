//! A benchmark of the time from the source of a program to the first gradient. The benchmark prints a Markdown table of the
//! milliseconds after which each stage is complete: the check of the program, the compilation, the first training step, and the machine
//! code of all programs. Run it with `cargo bench -p bnnc-tests --bench first_gradient [-- PROGRAM.bnn ...]`. Without arguments, it
//! measures the programs of `examples`. Each measurement takes place in a new process, as a run does.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bnnc_abi::schema::Schema;
use bnnc_core::states::start;
use bnnc_data::LoadedData;
use bnnc_driver::compile;
use bnnc_driver::options::{CompileOptions, LibraryItems};
use bnnc_driver::program;
use bnnc_tests::compile::ready;
use bnnc_tests::step::{Steps, training};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The number of measurements. The table has the median.
const ROUNDS: usize = 21;
/// The number of threads of the training step.
const THREADS: usize = 2;
/// The argument of a process that measures once.
const ONCE: &str = "--once";

/// Returns the milliseconds from the source to the end of each stage. Returns `None` if the first inference block does not train.
fn measured(path: &Path) -> Option<[f64; 4]> {
    let clock = Instant::now();
    let milliseconds = || clock.elapsed().as_secs_f64() * 1e3;
    let options = CompileOptions {
        library_items: LibraryItems::Reached,
        ..bnnc_tests::compile::options("cranelift", None)
    };
    let text = program::read(path).expect("a readable program");
    let program = program::load(&path.display().to_string(), &text, &options);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    let checked = milliseconds();
    let specs = compile::data(&program, &options).expect("inference blocks");
    let read = |spec| LoadedData::read(spec).expect("readable data");
    let sources: HashMap<String, LoadedData> =
        specs.iter().map(|spec| (spec.name.clone(), read(spec))).collect();
    let schema = |(name, source): (&String, &LoadedData)| (name.clone(), source.schema().clone());
    let schemas: HashMap<String, Schema> = sources.iter().map(schema).collect();
    let mut compiled = ready(compile::compile(&program, &schemas, &options));
    let done = milliseconds();
    let infer = compiled
        .manifest
        .infers
        .first()
        .filter(|infer| infer.training().is_some())?;
    let dataset = sources[&infer.data].dataset(0, options.seed).expect("a data set");
    let states = start(&infer.states, options.seed, &HashMap::new());
    let mut steps = Steps::new(infer, &dataset, &states, THREADS);
    let batch = match training(infer).options.batch {
        0 => steps.examples(),
        batch => batch.min(steps.examples()),
    };
    let rows: Vec<u32> = (0..batch as u32).collect();
    steps.step(&rows, 0);
    let stepped = milliseconds();
    compiled.wait().expect("machine code");
    Some([checked, done, stepped, milliseconds()])
}

/// Measures a program in a new process. Returns `None` if its first inference block does not train.
fn in_process(path: &Path) -> Option<Vec<f64>> {
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(ONCE)
        .arg(path)
        .output()
        .expect("a process");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let times: Vec<f64> = text
        .split_whitespace()
        .map(|time| time.parse().unwrap())
        .collect();
    (!times.is_empty()).then_some(times)
}

fn row(path: &Path) -> Option<String> {
    let rounds: Vec<Vec<f64>> = (0..ROUNDS).map_while(|_| in_process(path)).collect();
    let stages = rounds.first()?.len();
    let median = |stage: usize| {
        let mut times: Vec<f64> = rounds.iter().map(|times| times[stage]).collect();
        times.sort_by(f64::total_cmp);
        format!("{:.1}", times[times.len() / 2])
    };
    let medians: Vec<String> = (0..stages).map(median).collect();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Some(format!("| {name} | {} |", medians.join(" | ")))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut programs: Vec<PathBuf> = (words.iter())
        .filter(|word| word.ends_with(".bnn"))
        .map(PathBuf::from)
        .collect();
    if words.iter().any(|word| word == ONCE) {
        let times = measured(&programs[0]);
        return times.iter().flatten().for_each(|time| println!("{time}"));
    }
    if programs.is_empty() {
        programs = bnnc_tests::compile::examples();
    }
    println!(
        "| program | checked | compiled | first gradient | all programs |\n|---|{}",
        "---:|".repeat(4)
    );
    programs
        .iter()
        .filter_map(|path| row(path))
        .for_each(|row| println!("{row}"));
}
