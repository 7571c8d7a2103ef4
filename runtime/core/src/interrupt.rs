//! A user's request to stop a run soon and to keep its results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The time that predictions may still take after an interruption. Most programs compute their
/// predictions in less time. A user who presses Ctrl-C does not want to wait longer.
const GRACE: Duration = Duration::from_secs(1);

/// A flag that a signal handler raises and that long computations check. Chains check the flag
/// before each gradient, but complete an iteration that ends soon. Training checks it after each
/// step. Predictions check after each block of rows whether the flag has been raised for longer
/// than `GRACE`.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    /// The time when a computation first found the flag raised.
    seen: Arc<OnceLock<Instant>>,
}

impl Interrupt {
    /// Returns an interrupt that uses this flag. Earlier runs may use the same flag.
    pub fn of(raised: Arc<AtomicBool>) -> Interrupt {
        Interrupt {
            raised,
            seen: Arc::default(),
        }
    }

    /// Returns the underlying flag. A signal handler can raise it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.raised.clone()
    }

    /// Raises the flag.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Returns whether the flag is raised.
    pub fn is_raised(&self) -> bool {
        let raised = self.raised.load(Ordering::Relaxed);
        if raised {
            self.seen.get_or_init(Instant::now);
        }
        raised
    }

    /// Returns whether the flag has been raised for longer than predictions may still take.
    pub fn is_overdue(&self) -> bool {
        self.is_raised() && self.seen.get().is_some_and(|seen| seen.elapsed() >= GRACE)
    }
}
