//! The options of a run that do not require a compiler.

use bnnc_abi::settings;
use bnnc_base::diagnostic::Diagnostic;
use clap::Args;
use std::path::{Path, PathBuf};

/// The options of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct Running {
    /// Write the results to this folder, and keep a checkpoint there during the run.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Resume the run in this folder after an interruption (byte-identical results), or extend it with more draws.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Replace the run in the folder given with `--out`, whichever run it is.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Exit with status 4 if a convergence diagnostic of the chains warns.
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Number of threads (results do not depend on it).
    #[arg(long)]
    pub threads: Option<usize>,
    /// Do not start if the predicted memory exceeds this size: `500M`, `2G`.
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<String>,
}

impl Running {
    /// Returns the folder of the results, or `None` if the command line does not name one.
    pub fn folder(&self) -> Option<&Path> {
        self.resume.as_deref().or(self.out.as_deref())
    }

    /// Returns the memory limit that the command line sets, in bytes, or `None` if it does not set
    /// one.
    ///
    /// # Errors
    /// Fails if the text is not a size.
    pub fn memory(&self) -> Result<Option<u64>, Box<Diagnostic>> {
        self.max_memory.as_deref().map(settings::bytes).transpose()
    }
}
