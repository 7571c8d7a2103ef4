//! What the inferences of a run share, and why a run stops.

use crate::checkpoint::Checkpoint;
use crate::interrupt::Interrupt;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_kernels::pool::Pool;
use std::fmt;
use std::sync::Arc;

/// What a run shares between its infers.
#[derive(Clone)]
pub struct Context {
    /// The threads.
    pub pool: Arc<Pool>,
    /// The seed.
    pub seed: u64,
    /// Whether progress lines are shown.
    pub progress: bool,
    /// Where the run is kept while it goes on.
    pub checkpoint: Checkpoint,
    /// The user's wish to stop.
    pub interrupt: Interrupt,
}

impl Context {
    /// Threads and a seed; nothing is shown, kept or interrupted.
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

/// Why a run stopped.
#[derive(Debug)]
pub enum Stop {
    /// The user can do something about it.
    Diagnostics(Vec<Diagnostic>),
    /// Our fault or our limit.
    Fault(Fault),
    /// The user's wish, before there was anything to report.
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
