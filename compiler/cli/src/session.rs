//! What the commands share: reading programs, showing diagnostics, exit statuses.

use crate::arguments::Compile;
use bnnc_abi::data::Schema;
use bnnc_base::diagnostic::{Diagnostic, Fault as Blame, Place};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::source::SourceMap;
use bnnc_driver::infer::Failure;
use bnnc_driver::options::Options;
use bnnc_driver::program::{self, Program};
use bnnc_driver::{codes, render};
use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// The exit status of success.
pub const OK: u8 = 0;

/// How diagnostics are shown.
#[derive(Clone, Copy, Debug)]
pub struct Display {
    /// One JSON object per line.
    pub json: bool,
}

impl Display {
    /// Shows diagnostics on standard error and returns the exit status they ask for.
    pub fn show(self, diagnostics: &[Diagnostic], sources: &SourceMap) -> u8 {
        let colour = std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal();
        for diagnostic in diagnostics {
            match self.json {
                true => complain(&render::json(diagnostic, sources)),
                // An empty line after each, as rustc does.
                false => complain(&render::text(diagnostic, sources, colour)),
            }
        }
        let errors: Vec<&Diagnostic> = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .collect();
        if !self.json && errors.len() > 1 {
            complain(&format!("{} errors", errors.len()));
        }
        errors
            .iter()
            .map(|diagnostic| status(diagnostic))
            .max()
            .unwrap_or(OK)
    }

    /// Shows why a compilation failed.
    pub fn failure(self, failure: &Failure, sources: &SourceMap) -> u8 {
        match failure {
            Failure::Program(diagnostics) => self.show(diagnostics, sources),
            Failure::Fault(fault) => fault_status(fault),
        }
    }
}

fn status(diagnostic: &Diagnostic) -> u8 {
    match diagnostic.fault {
        Blame::Program => 1,
        Blame::Usage => 2,
        Blame::Data => 3,
    }
}

/// Shows a limit or a bug of ours.
pub fn fault_status(fault: &Fault) -> u8 {
    complain(&format!("error: {fault}"));
    match fault {
        Fault::Bug(_) => 101,
        Fault::Limit(_) => 1,
    }
}

/// The options of a compilation.
pub fn options(compile: &Compile) -> Result<Options, Vec<Diagnostic>> {
    let mut data = Vec::new();
    let mut diagnostics = Vec::new();
    for pair in &compile.data {
        match pair.split_once('=') {
            Some((name, path)) => data.push((name.to_owned(), path.into())),
            None => {
                let text = format!("`--data {pair}` is not `NAME=PATH`");
                diagnostics.push(Diagnostic::usage(&codes::BAD_SETTING, text));
            }
        }
    }
    let precision = compile.precision.as_deref().map(|name| {
        if name == "f64" {
            Precision::F64
        } else {
            Precision::F32
        }
    });
    let options = Options {
        seed: compile.seed,
        precision,
        backend: compile.backend.clone(),
        settings: compile.set.clone(),
        data,
        only: compile.only.clone(),
        without: compile.without.clone(),
        trace: false,
        symbols: bnnc_kernels::arrays::symbols(),
        ..Options::default()
    };
    if diagnostics.is_empty() {
        Ok(options)
    } else {
        Err(diagnostics)
    }
}

/// Reads the text of a program.
pub fn read(file: &Path) -> Result<String, Box<Diagnostic>> {
    std::fs::read_to_string(file).map_err(|error| {
        let mut diagnostic = Diagnostic::usage(
            &codes::NO_FILE,
            format!("cannot read `{}`: {error}", file.display()),
        );
        diagnostic.fault = Blame::Data;
        diagnostic.at = Place::Nowhere;
        Box::new(diagnostic)
    })
}

/// Reads, parses and checks a program; diagnostics are shown. `Err` is the exit status.
pub fn load(file: &Path, options: &Options, display: Display) -> Result<Program, u8> {
    let text = read(file).map_err(|diagnostic| display.show(&[*diagnostic], &SourceMap::default()))?;
    load_text(file, &text, options, display)
}

/// The program of a text that the file holds, or held. `Err` is the exit status.
pub fn load_text(file: &Path, text: &str, options: &Options, display: Display) -> Result<Program, u8> {
    let program = program::load(&file.display().to_string(), text, options);
    let status = display.show(&program.diagnostics, &program.sources);
    if program.has_errors() {
        Err(status)
    } else {
        Ok(program)
    }
}

/// Reads the headers of the data that the chosen infers use. `Err` is the exit status.
pub fn schemas(
    program: &Program,
    options: &Options,
    display: Display,
) -> Result<HashMap<String, Schema>, u8> {
    let specs = bnnc_driver::compile::data(program, options)
        .map_err(|found| display.show(&found, &program.sources))?;
    let mut schemas = HashMap::new();
    let mut diagnostics = Vec::new();
    for spec in specs {
        match bnnc_data::schema(&spec) {
            Ok(schema) => {
                schemas.insert(spec.name.clone(), schema);
            }
            Err(found) => diagnostics.extend(found),
        }
    }
    if diagnostics.is_empty() {
        Ok(schemas)
    } else {
        Err(display.show(&diagnostics, &program.sources))
    }
}

/// A number of bytes: `500M`, `2G`, `1048576`.
pub fn bytes(text: &str) -> Result<u64, Box<Diagnostic>> {
    let trimmed = text
        .trim()
        .trim_end_matches(['B', 'b'])
        .trim_end_matches(['i', 'I']);
    let (digits, unit) = match trimmed.char_indices().last() {
        Some((at, unit)) if unit.is_ascii_alphabetic() => (&trimmed[..at], unit.to_ascii_uppercase()),
        _ => (trimmed, ' '),
    };
    let power = [' ', 'K', 'M', 'G', 'T'].iter().position(|known| *known == unit);
    let number: Option<f64> = digits.trim().parse().ok().filter(|number: &f64| *number >= 0.0);
    match (number, power) {
        (Some(number), Some(power)) => Ok((number * 1024f64.powi(power as i32)) as u64),
        _ => Err(Box::new(Diagnostic::usage(
            &codes::BAD_SETTING,
            format!("`{text}` is not a size such as `500M` or `2G`"),
        ))),
    }
}

/// Writes to standard output; a reader that closed the pipe has seen enough.
pub fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Writes a line to standard error, read or not.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The memory that the machine can give now, where the system says so: a run that needs more is refused before it starts.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The number of threads: as asked, else as many as the machine runs at once.
pub fn threads(asked: Option<usize>) -> usize {
    asked
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
        .clamp(1, 256)
}

/// Every code with an explanation.
pub fn all_codes() -> Vec<&'static bnnc_base::diagnostic::Code> {
    let mut all = codes::all();
    all.extend(bnnc_data::CODES);
    all.extend(bnnc_run::codes::CODES);
    all.extend(bnnc_run::codes::of_sampling());
    all.extend(bnnc_wmi::problem::report::CODES);
    all.sort_by_key(|code| code.id);
    all
}
