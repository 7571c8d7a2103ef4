//! `bnnc run`: compiles and runs a program.

use crate::arguments::{Compile, Run};
use crate::session::{self, Display};
use bnnc_abi::artefact::Origin;
use bnnc_base::checksum::Checksum;
use bnnc_base::fault::Fault;
use bnnc_command::execute::Job;
use bnnc_command::terminal;
use bnnc_driver::backends;
use bnnc_driver::compile::{Compiled, compile};
use bnnc_driver::program::CheckedProgram;
use bnnc_run::Sources;
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub fn run(arguments: &Run) -> Result<u8, u8> {
    let display = Display {
        json: arguments.running.json,
    };
    let mut options = session::options(&arguments.compile, display)?;
    options.trace = arguments.trace_rewrites;
    #[cfg(feature = "cuda")]
    if options.backend == backends::DEVICE {
        options.attach = Some(bnnc_cuda::attach);
    }
    let max_memory = arguments.running.memory();
    let max_memory = max_memory.map_err(|found| display.alone(&found))?;
    let clock = Instant::now();
    let program = session::load(&arguments.file, &options, display)?;
    let checked = clock.elapsed().as_secs_f64();
    let sources = session::sources(&program, &options, max_memory, display)?;
    let schemas = session::schemas_of(&sources);
    let mut compiled = compile(&program, &schemas, &options)
        .map_err(|failure| display.failure(&failure, &program.sources))?;
    display.show(&compiled.warnings, &program.sources);
    bnnc_run::cost::predict(&mut compiled.manifest, &schemas);
    trace(arguments, &compiled);
    if arguments.timings {
        timings(&mut compiled, clock, checked)
            .map_err(|fault| display.failure(&fault.into(), &program.sources))?;
    }
    let job = Job {
        manifest: &compiled.manifest,
        sources: Sources::of(sources),
        origin: &origin(&arguments.file, &arguments.compile, &program),
        command: again(arguments),
        warnings: program
            .diagnostics
            .iter()
            .chain(&compiled.warnings)
            .cloned()
            .collect(),
        texts: &program.sources,
        show: &|found| display.show(found, &program.sources),
    };
    Ok(job.run(&arguments.running, max_memory))
}

/// Returns the command line that repeats a run, with every option that affects the results.
fn again(arguments: &Run) -> Vec<String> {
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
    words
}

/// Returns the inputs of a compilation that a run folder or an executable stores.
pub fn origin(file: &Path, compile: &Compile, program: &CheckedProgram) -> Origin {
    Origin {
        file: file.to_path_buf(),
        text: program.source.text.to_string(),
        library: library(program),
        settings: compile.set.clone(),
        data: compile.data.clone(),
        precision: compile.precision.clone(),
        without: compile.without.clone(),
    }
}

/// Returns the checksum of the library that was used to check a program.
pub fn library(program: &CheckedProgram) -> u64 {
    let (id, sources) = (program.source.id, program.sources.iter());
    let mut library = Checksum::default();
    sources
        .filter(|source| source.id != id && source.name.starts_with("library/"))
        .for_each(|source| library.add(source.text.as_bytes()));
    library.value()
}

/// Prints the rewrites that were applied, if `--trace-rewrites` is set.
fn trace(arguments: &Run, compiled: &Compiled) {
    if !arguments.trace_rewrites {
        return;
    }
    for (infer, firings) in &compiled.firings {
        for firing in firings {
            terminal::complain(&format!(
                "{infer}: {}: {}  =>  {}",
                firing.rule, firing.before, firing.after
            ));
        }
    }
}

/// Prints the time of each stage in milliseconds. Then waits for the machine code of each program, and prints the time from the start of the
/// command until it was complete. `start` is the start of the command, and `checked` is the time of parsing and checking in seconds.
///
/// # Errors
/// Fails if machine code cannot be generated.
pub fn timings(compiled: &mut Compiled, start: Instant, checked: f64) -> Result<(), Fault> {
    let programs = compiled.wait()?;
    let line =
        |name: &str, seconds: f64| terminal::complain(&format!("{name:<32} {:>9.3} ms", seconds * 1e3));
    line("parse and check", checked);
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
            line(&format!("{infer}: {stage}"), seconds);
        }
        line(&format!("{infer}: total"), total);
    }
    for (program, time) in programs {
        line(
            &format!("{program}: ready after"),
            time.duration_since(start).as_secs_f64(),
        );
    }
    Ok(())
}
