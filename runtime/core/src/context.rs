//! The context that all inference blocks of a run share, and the reasons why a run stops.

use crate::checkpoint::Checkpoint;
use crate::interrupt::Interrupt;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_kernels::pool::Pool;
use std::fmt;
use std::sync::Arc;

/// The context that all inference blocks of a run share.
#[derive(Clone)]
pub struct Context {
    /// The threads on which computations run.
    pub pool: Arc<Pool>,
    /// The seed of the run.
    pub seed: u64,
    /// True if progress lines are shown.
    pub progress: bool,
    /// The checkpoint of the run.
    pub checkpoint: Checkpoint,
    /// The flag that is raised when the user interrupts the run.
    pub interrupt: Interrupt,
}

impl Context {
    /// Returns a context with these threads and this seed. The context does not show progress, does
    /// not write a checkpoint, and is not interrupted.
    pub fn new(pool: Arc<Pool>, seed: u64) -> Context {
        Context {
            pool,
            seed,
            progress: false,
            checkpoint: Checkpoint::none(),
            interrupt: Interrupt::default(),
        }
    }
}

/// The reason why a run stopped.
#[derive(Debug)]
pub enum Stop {
    /// An error that the user can correct.
    Diagnostics(Vec<Diagnostic>),
    /// A bug or a limit of bnnc.
    Fault(Fault),
    /// The user interrupted the run before it had results to report.
    Interrupted,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Diagnostics(diagnostics) => {
                let lines: Vec<String> = diagnostics
                    .iter()
                    .map(|diagnostic| format!("{}: {}", diagnostic.code.id, diagnostic.message))
                    .collect();
                f.write_str(&lines.join("\n"))
            }
            Stop::Fault(fault) => fault.fmt(f),
            Stop::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Diagnostics(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Stop {
    fn from(diagnostics: Vec<Diagnostic>) -> Stop {
        Stop::Diagnostics(diagnostics)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}
