//! `bnnc run`: compile and run.

use crate::arguments::Run;
use crate::session::{self, Display, OK};
use bnnc_driver::compile::{Compiled, compile};
use bnnc_driver::program::Program;
use bnnc_run::fit::Stop;
use bnnc_run::out::SavedRun;
use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::Path;

/// Runs the command.
pub fn run(arguments: &Run) -> u8 {
    match run_inner(arguments) {
        Ok(()) => OK,
        Err(status) => status,
    }
}

fn run_inner(arguments: &Run) -> Result<(), u8> {
    let display = Display { json: arguments.json };
    let nowhere = bnnc_base::source::SourceMap::default();
    let mut options = session::options(&arguments.compile).map_err(|found| display.show(&found, &nowhere))?;
    options.trace = arguments.trace_rewrites;
    let limit = arguments.max_memory.as_deref().map(session::bytes).transpose();
    let max_memory = limit.map_err(|diagnostic| display.show(&[*diagnostic], &nowhere))?;
    let clock = std::time::Instant::now();
    let program = session::load(&arguments.file, &options, display, false)?;
    let checked = clock.elapsed().as_secs_f64();
    let schemas = session::schemas(&program, &options, display)?;
    let mut compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    display.show(&compiled.warnings, &program.sources);
    bnnc_run::cost::predict_peaks(&mut compiled.manifest, &schemas);
    report(arguments, &compiled, checked);
    if let Some(folder) = &arguments.out {
        // Before hours of work, not after them.
        let made = std::fs::create_dir_all(folder);
        made.map_err(|error| {
            display.show(
                &[bnnc_run::codes::cannot_write(folder, &error.to_string())],
                &program.sources,
            )
        })?;
    }
    let progress = !arguments.json && std::io::stderr().is_terminal();
    let how = bnnc_run::run::Options {
        threads: session::threads(arguments.threads),
        progress,
        max_memory: max_memory.or_else(session::available_memory),
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
    if let Some(folder) = &arguments.out {
        let written = bnnc_run::out::write(folder, &compiled.manifest, &result, saved(arguments));
        written.map_err(|diagnostic| display.show(&[diagnostic], &program.sources))?;
    }
    Ok(())
}

/// What a later `bnnc predict` needs.
fn saved(arguments: &Run) -> SavedRun {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    SavedRun {
        program: absolute(&arguments.file),
        settings: arguments.compile.set.clone(),
        data: arguments.compile.data.clone(),
        seed: arguments.compile.seed,
        precision: arguments.compile.precision.clone(),
        preparations: HashMap::new(),
    }
}

/// Shows why a run stopped.
pub fn stopped(stop: &Stop, program: &Program, display: Display) -> u8 {
    match stop {
        Stop::Diagnostics(diagnostics) => display.show(diagnostics, &program.sources),
        Stop::Fault(fault) => session::fault_status(fault),
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
