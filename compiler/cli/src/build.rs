//! Executables from compiled programs: where the runtime is found, the C linker, and how the file comes to be.

pub mod codes;
pub mod output;

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use std::path::{Path, PathBuf};

/// Why there is no executable.
pub enum Failure {
    /// Something outside of us.
    Diagnostic(Box<Diagnostic>),
    /// A limit or a bug of ours.
    Fault(Fault),
}

impl From<Box<Diagnostic>> for Failure {
    fn from(diagnostic: Box<Diagnostic>) -> Failure {
        Failure::Diagnostic(diagnostic)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Fault(fault)
    }
}

/// The environment variable that says where the runtime is: its folder or its file.
const VARIABLE: &str = "BNNC_RUNTIME";

/// A file that holds the runtime of executables.
pub struct Runtime {
    /// Where it is.
    pub path: PathBuf,
}

impl Runtime {
    /// The static library, for a linker; `given` is a folder or the file.
    ///
    /// # Errors
    /// It is not there.
    pub fn library(given: Option<&Path>) -> Result<Runtime, Box<Diagnostic>> {
        let name = match cfg!(windows) {
            true => "bnnc_runner.lib",
            false => "libbnnc_runner.a",
        };
        find(given, name)
    }

    /// The executable without a program; `given` is a folder or the file.
    ///
    /// # Errors
    /// It is not there.
    pub fn runner(given: Option<&Path>) -> Result<Runtime, Box<Diagnostic>> {
        find(given, &format!("bnnc-runner{}", std::env::consts::EXE_SUFFIX))
    }
}

/// Looks where the command line says, else where the environment says, else beside this executable and in `../lib/bnnc`.
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
        None => Err(Box::new(codes::no_runtime(name, &places))),
    }
}
