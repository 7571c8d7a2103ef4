//! Makes executables from compiled programs: finds the runtime, runs the C linker, and writes the
//! executable.

pub mod diagnostics;
pub mod output;

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use std::path::{Path, PathBuf};

/// The reason why the executable was not built.
pub enum BuildFailure {
    /// An error outside the compiler, such as a missing file, a failed linker or a full disk.
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

/// The environment variable with the path of the runtime library or executable, or of the folder
/// that contains it.
const VARIABLE: &str = "BNNC_RUNTIME";

/// The file from which executables are made. It is either the static library of the runtime, or an
/// executable that does not contain a program yet.
pub struct Runtime {
    /// The path of the file.
    pub path: PathBuf,
}

impl Runtime {
    /// Finds the static library of the runtime, with which the linker makes executables. `given`
    /// is the path of the library or of its folder.
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

    /// Finds the executable to which `bnnc build` appends a program. `given` is the path of this
    /// executable or of its folder.
    ///
    /// # Errors
    /// Fails if the executable is not found.
    pub fn runner(given: Option<&Path>) -> Result<Runtime, Box<Diagnostic>> {
        find(given, &format!("bnnc-runner{}", std::env::consts::EXE_SUFFIX))
    }
}

/// Searches for a file. The places, in order, are the path on the command line, the path in the
/// environment variable, the folder of this executable, and `../lib/bnnc`.
fn find(given: Option<&Path>, name: &str) -> Result<Runtime, Box<Diagnostic>> {
    let given_places = given
        .map(Path::to_path_buf)
        .or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let places = match given_places {
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
