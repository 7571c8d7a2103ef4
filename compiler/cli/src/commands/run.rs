//! `bnnc run`: compile and run.

use crate::arguments::Run;
use crate::session::{self, Display, OK};
use bnnc_abi::manifest::Manifest;
use bnnc_driver::backends;
use bnnc_driver::compile::{Compiled, compile};
use bnnc_driver::program::Program;
use bnnc_run::checkpoint::Checkpoint;
use bnnc_run::codes;
use bnnc_run::fingerprint::Fingerprint;
use bnnc_run::fit::Stop;
use bnnc_run::interrupt::Interrupt;
use bnnc_run::out::SavedRun;
use bnnc_run::run::RunResult;
use signal_hook::consts::signal::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

/// The exit status where `--strict` makes a warning count.
const WARNED: u8 = 4;

/// The exit status after Ctrl-C, by the convention of shells.
const INTERRUPTED: u8 = 130;

/// Runs the command.
pub fn run(arguments: &Run) -> u8 {
    match run_inner(arguments) {
        Ok(status) | Err(status) => status,
    }
}

fn run_inner(arguments: &Run) -> Result<u8, u8> {
    let display = Display { json: arguments.json };
    let nowhere = bnnc_base::source::SourceMap::default();
    let mut options = session::options(&arguments.compile).map_err(|found| display.show(&found, &nowhere))?;
    options.trace = arguments.trace_rewrites;
    let limit = arguments.max_memory.as_deref().map(session::bytes).transpose();
    let max_memory = limit.map_err(|diagnostic| display.show(&[*diagnostic], &nowhere))?;
    let clock = std::time::Instant::now();
    let program = session::load(&arguments.file, &options, display)?;
    let checked = clock.elapsed().as_secs_f64();
    let schemas = session::schemas(&program, &options, display)?;
    let mut compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    display.show(&compiled.warnings, &program.sources);
    bnnc_run::cost::predict_peaks(&mut compiled.manifest, &schemas);
    report(arguments, &compiled, checked);
    let how = bnnc_run::run::Options {
        progress: !arguments.json && std::io::stderr().is_terminal(),
        max_memory: max_memory.or_else(session::available_memory),
        // Before hours of work, not after them.
        checkpoint: checkpoint(arguments, &program, &compiled.manifest, display)?,
        interrupt: interrupt(),
        ..bnnc_run::run::Options::new(session::threads(arguments.threads))
    };
    let result =
        bnnc_run::run::run(&compiled.manifest, &how).map_err(|stop| stopped(&stop, &program, display))?;
    display.show(&result.warnings, &program.sources);
    let text = match arguments.json {
        true => {
            let json = bnnc_run::result::json(&compiled.manifest, &result);
            format!("{}\n", serde_json::to_string(&json).unwrap_or_default())
        }
        false => bnnc_run::result::table(&compiled.manifest, &result),
    };
    session::say(&text);
    if let Some(folder) = folder(arguments) {
        let written = bnnc_run::out::write(folder, &compiled.manifest, &result, saved(arguments, &program));
        written.map_err(|diagnostic| display.show(&[diagnostic], &program.sources))?;
    }
    match &result.stopped {
        Some(stop) => Ok(stopped(stop, &program, display)),
        None => Ok(status(arguments, &result)),
    }
}

/// The folder of the results.
fn folder(arguments: &Run) -> Option<&Path> {
    arguments.resume.as_deref().or(arguments.out.as_deref())
}

/// The checkpoint in the folder of the results. `Err` is the exit status.
fn checkpoint(
    arguments: &Run,
    program: &Program,
    manifest: &Manifest,
    display: Display,
) -> Result<Checkpoint, u8> {
    let Some(folder) = folder(arguments) else {
        return Ok(Checkpoint::none());
    };
    if arguments.resume.is_some() && !Checkpoint::is_in(folder) {
        display.show(&[codes::nothing_to_resume(folder)], &program.sources);
    }
    let opened = fingerprint(arguments, program, manifest)
        .and_then(|fingerprint| Checkpoint::open(folder, &fingerprint, arguments.resume.is_some()));
    opened.map_err(|diagnostic| display.show(&[diagnostic], &program.sources))
}

/// What the numbers of this run depend on.
fn fingerprint(
    arguments: &Run,
    program: &Program,
    manifest: &Manifest,
) -> Result<Fingerprint, bnnc_base::diagnostic::Diagnostic> {
    let mut fingerprint = Fingerprint::of(manifest)?;
    fingerprint.text("the program", &program.source.text);
    let (id, sources) = (program.source.id, program.sources.iter());
    let library: String = sources
        .filter(|source| source.id != id && source.name.starts_with("library/"))
        .map(|source| &*source.text)
        .collect();
    fingerprint.text("the library", &library);
    fingerprint.settings(&arguments.compile.set);
    let without = arguments.compile.without.join(", ");
    fingerprint.fact("the rewrites that are off", &without);
    Ok(fingerprint)
}

/// A wish to stop that the first Ctrl-C raises; the second one ends the process there and then.
fn interrupt() -> Interrupt {
    let interrupt = Interrupt::default();
    for (signal, status) in [(SIGINT, INTERRUPTED), (SIGTERM, INTERRUPTED)] {
        // In this order: the one that ends the process sees the flag that the other raises only at the next signal. Without
        // them signals end the process as ever.
        let _ = flag::register_conditional_shutdown(signal, i32::from(status), interrupt.flag())
            .and_then(|_| flag::register(signal, interrupt.flag()));
    }
    interrupt
}

/// The exit status of a run that came to results, and what is to be said about it.
fn status(arguments: &Run, result: &RunResult) -> u8 {
    if result.interrupted && arguments.json {
        return INTERRUPTED;
    }
    if result.interrupted {
        session::complain(&match folder(arguments) {
            Some(folder) => format!("interrupted: `{}` goes on from here", again(arguments, folder)),
            None => "interrupted: with `--out DIR` a run can be continued".to_owned(),
        });
        return INTERRUPTED;
    }
    match arguments.strict && result.warnings.iter().any(codes::is_of_sampling) {
        true => WARNED,
        false => OK,
    }
}

/// The command that goes on with a run: everything that its numbers depend on is said again.
fn again(arguments: &Run, folder: &Path) -> String {
    let compile = &arguments.compile;
    let mut words = vec![
        "bnnc".to_owned(),
        "run".to_owned(),
        arguments.file.display().to_string(),
    ];
    let repeated = [
        ("--set", &compile.set),
        ("--data", &compile.data),
        ("--only", &compile.only),
        ("--without", &compile.without),
    ];
    for (name, values) in repeated {
        let pairs = values.iter().flat_map(|value| [name.to_owned(), value.clone()]);
        words.extend(pairs);
    }
    if compile.seed != 0 {
        words.extend(["--seed".to_owned(), compile.seed.to_string()]);
    }
    if let Some(precision) = &compile.precision {
        words.extend(["--precision".to_owned(), precision.clone()]);
    }
    if compile.backend != backends::DEFAULT {
        words.extend(["--backend".to_owned(), compile.backend.clone()]);
    }
    words.extend(["--resume".to_owned(), folder.display().to_string()]);
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What a later `bnnc predict` needs.
fn saved(arguments: &Run, program: &Program) -> SavedRun {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    SavedRun {
        program: absolute(&arguments.file),
        text: program.source.text.to_string(),
        settings: arguments.compile.set.clone(),
        data: arguments.compile.data.clone(),
        seed: arguments.compile.seed,
        precision: arguments.compile.precision.clone(),
        preparations: BTreeMap::new(),
    }
}

/// Shows why a run stopped.
pub fn stopped(stop: &Stop, program: &Program, display: Display) -> u8 {
    match stop {
        Stop::Diagnostics(diagnostics) => display.show(diagnostics, &program.sources),
        Stop::Fault(fault) => session::fault_status(fault),
        Stop::Interrupted => INTERRUPTED,
    }
}

fn report(arguments: &Run, compiled: &Compiled, checked: f64) {
    if arguments.trace_rewrites {
        for (infer, firings) in &compiled.firings {
            for firing in firings {
                session::complain(&format!(
                    "{infer}: {}: {}  =>  {}",
                    firing.rule, firing.before, firing.after
                ));
            }
        }
    }
    if arguments.timings {
        timings(compiled, checked);
    }
}

/// Prints the time of each stage, in milliseconds.
pub fn timings(compiled: &Compiled, checked: f64) {
    session::complain(&format!("{:<24} {:>9.3} ms", "parse and check", checked * 1e3));
    for (infer, stages) in &compiled.timings {
        let mut total = 0.0;
        let mut sums: Vec<(&str, f64)> = Vec::new();
        for (stage, seconds) in stages {
            total += seconds;
            match sums.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => sums.push((stage, *seconds)),
            }
        }
        for (stage, seconds) in sums {
            session::complain(&format!(
                "{:<24} {:>9.3} ms",
                format!("{infer}: {stage}"),
                seconds * 1e3
            ));
        }
        session::complain(&format!(
            "{:<24} {:>9.3} ms",
            format!("{infer}: total"),
            total * 1e3
        ));
    }
}
