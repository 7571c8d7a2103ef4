//! Makes executables from compiled programs: finds the runtime, runs the C linker, and writes the file.

pub mod diagnostics;
pub mod output;

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use std::path::{Path, PathBuf};

/// The reason why no executable was built.
pub enum BuildFailure {
    /// An error outside of the compiler, such as a missing file, a failed linker or a full disk.
    Diagnostic(Box<Diagnostic>),
    /// A limit or a bug of the compiler.
    Fault(Fault),
}

impl From<Box<Diagnostic>> for BuildFailure {
    fn from(diagnostic: Box<Diagnostic>) -> BuildFailure {
        BuildFailure::Diagnostic(diagnostic)
    }
}

impl From<Fault> for BuildFailure {
    fn from(fault: Fault) -> BuildFailure {
        BuildFailure::Fault(fault)
    }
}

/// The environment variable with the path of the runtime library or executable, or of its folder.
const VARIABLE: &str = "BNNC_RUNTIME";

/// The file from which executables are made: the static library of the runtime, or an executable without a program.
pub struct Runtime {
    /// The path of the file.
    pub path: PathBuf,
}

impl Runtime {
    /// Finds the static library of the runtime, for a linker; `given` is the path of the library or of its folder.
    ///
    /// # Errors
    /// Fails if the library is not found.
    pub fn library(given: Option<&Path>) -> Result<Runtime, Box<Diagnostic>> {
        let name = match cfg!(windows) {
            true => "bnnc_runner.lib",
            false => "libbnnc_runner.a",
        };
        find(given, name)
    }

    /// Finds the executable without a program; `given` is the path of the executable or of its folder.
    ///
    /// # Errors
    /// Fails if the executable is not found.
    pub fn runner(given: Option<&Path>) -> Result<Runtime, Box<Diagnostic>> {
        find(given, &format!("bnnc-runner{}", std::env::consts::EXE_SUFFIX))
    }
}

/// Looks for a file at the path from the command line, then at the path in the environment variable, then beside this executable and in
/// `../lib/bnnc`.
fn find(given: Option<&Path>, name: &str) -> Result<Runtime, Box<Diagnostic>> {
    let said = given
        .map(Path::to_path_buf)
        .or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let places = match said {
        Some(place) => vec![place.join(name), place],
        None => {
            let own = std::env::current_exe().ok();
            let folder = own.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
            vec![folder.join(name), folder.join("../lib/bnnc").join(name)]
        }
    };
    match places.iter().find(|place| place.is_file()) {
        Some(path) => Ok(Runtime { path: path.clone() }),
        None => Err(Box::new(diagnostics::no_runtime(name, &places))),
    }
}
