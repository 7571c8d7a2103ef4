//! The options of a run that need no compiler.

use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use clap::Args;
use std::path::{Path, PathBuf};

/// How a run is made.
#[derive(Args, Clone, Debug, Default)]
pub struct Running {
    /// Write results into this folder, and keep the run there while it goes on.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the run in this folder after an interruption, to the same numbers; or with more draws.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Replace the run that the folder given with `--out` holds, whichever run it is.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Fail with status 4 where the diagnostics of chains warn.
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Threads (results do not depend on them).
    #[arg(long)]
    pub threads: Option<usize>,
    /// Refuse to start above this predicted memory: `500M`, `2G`.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
}

impl Running {
    /// The folder of the results.
    pub fn folder(&self) -> Option<&Path> {
        self.resume.as_deref().or(self.out.as_deref())
    }

    /// The memory that is allowed, in bytes, if the command line says so.
    ///
    /// # Errors
    /// A text that is no size.
    pub fn memory(&self) -> Result<Option<u64>, Box<Diagnostic>> {
        self.max_memory.as_deref().map(settings::bytes).transpose()
    }
}
