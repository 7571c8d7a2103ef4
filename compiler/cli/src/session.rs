//! Functions that the commands share: they read programs and data, and show diagnostics.

use crate::arguments::Compile;
use bnnc_abi::schema::Schema;
use bnnc_abi::settings;
use bnnc_base::diagnostic::{Diagnostic, FaultyInput as Blame, Place};
use bnnc_base::dtype::Precision;
use bnnc_base::source::SourceMap;
use bnnc_command::{memory, terminal};
use bnnc_data::LoadedData;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::options::{CompileOptions, LibraryItems};
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_driver::{diagnostics, render};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The format in which diagnostics are printed.
#[derive(Clone, Copy, Debug)]
pub struct Display {
    /// True if each diagnostic is one JSON object on its own line.
    pub json: bool,
}

impl Display {
    /// Shows diagnostics on standard error, and returns the corresponding exit status.
    pub fn show(self, diagnostics: &[Diagnostic], sources: &SourceMap) -> u8 {
        terminal::show(diagnostics, sources, (self.json, render::text))
    }

    /// Shows a diagnostic that is not about a place in a program, and returns the exit status.
    pub fn alone(self, diagnostic: &Diagnostic) -> u8 {
        self.show(std::slice::from_ref(diagnostic), &SourceMap::default())
    }

    /// Shows the reason why a compilation failed, and returns the exit status.
    pub fn failure(self, failure: &CompileFailure, sources: &SourceMap) -> u8 {
        match failure {
            CompileFailure::Program(diagnostics) => self.show(diagnostics, sources),
            CompileFailure::Fault(fault) => terminal::fault_status(fault, &|found| self.show(found, sources)),
        }
    }
}

/// Returns the options of a compilation from the arguments of the command line. The error is the exit
/// status.
pub fn options(compile: &Compile, display: Display) -> Result<CompileOptions, u8> {
    let precision = compile.precision.as_deref().map(|name| match name {
        "f64" => Precision::F64,
        _ => Precision::F32,
    });
    let data = settings::pairs(&compile.data).map_err(|found| display.show(&found, &SourceMap::default()))?;
    Ok(CompileOptions {
        seed: compile.seed,
        precision,
        backend: compile.backend.clone(),
        settings: compile.set.clone(),
        data,
        only: compile.only.clone(),
        without: compile.without.clone(),
        verify: compile.verify,
        trace: false,
        library_items: LibraryItems::Reached,
        symbols: bnnc_kernels::arrays::symbols(),
        ..CompileOptions::default()
    })
}

/// Adds the extension `.bnn` to a path such as `yacht`, and returns the new path if a program
/// exists there.
pub fn with_ending(file: &Path) -> Option<PathBuf> {
    let mut name = file.as_os_str().to_owned();
    name.push(".bnn");
    let program = PathBuf::from(name);
    (!file.is_file() && program.is_file()).then_some(program)
}

/// Reads the text of a program.
pub fn read(file: &Path) -> Result<String, Box<Diagnostic>> {
    bnnc_driver::program::read(file).map_err(|error| {
        let mut diagnostic = Diagnostic::usage(
            &diagnostics::NO_FILE,
            format!("cannot read `{}`: {error}", file.display()),
        );
        diagnostic.fault = Blame::Data;
        diagnostic.at = Place::Nowhere;
        Box::new(match with_ending(file) {
            Some(program) => diagnostic.help(format!("did you mean `{}`?", program.display())),
            None => diagnostic,
        })
    })
}

/// Reads, parses and checks a program, and shows its diagnostics. The error is the exit status.
pub fn load(file: &Path, options: &CompileOptions, display: Display) -> Result<CheckedProgram, u8> {
    let text = read(file).map_err(|found| display.alone(&found))?;
    load_text(file, &text, options, display)
}

/// Parses and checks a text, and shows its diagnostics. The text is the current or an earlier
/// content of `file`. The error is the exit status.
pub fn load_text(
    file: &Path,
    text: &str,
    options: &CompileOptions,
    display: Display,
) -> Result<CheckedProgram, u8> {
    let program = program::load(&file.display().to_string(), text, options);
    let status = display.show(&program.diagnostics, &program.sources);
    if program.has_errors() {
        Err(status)
    } else {
        Ok(program)
    }
}

/// Returns the schemas of data items by name.
pub fn schemas_of(sources: &HashMap<String, LoadedData>) -> HashMap<String, Schema> {
    let schema = |(name, source): (&String, &LoadedData)| (name.clone(), source.schema().clone());
    sources.iter().map(schema).collect()
}

/// Reads the schemas of the data that the chosen inferences use. The error is the exit status.
pub fn schemas(
    program: &CheckedProgram,
    options: &CompileOptions,
    display: Display,
) -> Result<HashMap<String, Schema>, u8> {
    sources(program, options, None, display).map(|sources| schemas_of(&sources))
}

/// Reads the data that the chosen inferences use. Each data item may use at most `most` bytes of
/// memory. Without this limit, it may use the available memory. The error is the exit status.
pub fn sources(
    program: &CheckedProgram,
    options: &CompileOptions,
    most: Option<u64>,
    display: Display,
) -> Result<HashMap<String, LoadedData>, u8> {
    read_sources(program, options, most).map_err(|found| display.show(&found, &program.sources))
}

/// Reads the data that the chosen inferences use, as [`sources`] does.
///
/// # Errors
/// Fails with the diagnostics of the data items that cannot be read.
pub fn read_sources(
    program: &CheckedProgram,
    options: &CompileOptions,
    most: Option<u64>,
) -> Result<HashMap<String, LoadedData>, Vec<Diagnostic>> {
    let specs = bnnc_driver::compile::data(program, options)?;
    LoadedData::read_all(&specs, most.or_else(memory::available))
}

/// Returns every diagnostic code of this build, sorted.
pub fn all_codes() -> Vec<&'static bnnc_base::diagnostic::Code> {
    let mut all = diagnostics::all();
    all.extend(bnnc_data::CODES);
    all.extend(bnnc_run::codes::all());
    all.extend(bnnc_core::diagnostics::of_sampling());
    all.extend(crate::build::diagnostics::CODES);
    all.extend(crate::commands::new::diagnostics::CODES);
    all.extend(bnnc_command::diagnostics::CODES);
    #[cfg(feature = "cuda")]
    all.extend(bnnc_cuda::diagnostics::CODES);
    #[cfg(feature = "wmi")]
    all.extend(bnnc_wmi::problem::diagnostics::CODES);
    all.sort_by_key(|code| code.id);
    all
}
