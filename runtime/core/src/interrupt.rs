//! The wish that a run stop soon and keep what it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long the predictions of a fit that was interrupted may take: those of most programs take less, and whoever presses Ctrl-C waits no longer.
const GRACE: Duration = Duration::from_secs(1);

/// A flag that whoever listens to the user raises and that long work looks at: chains before each gradient (iterations that end in a
/// moment are ended), training after each epoch, predictions after each block of rows once they have had `GRACE`.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    /// When work first saw it raised.
    seen: Arc<OnceLock<Instant>>,
}

impl Interrupt {
    /// A flag that this one follows, for whoever raises it (from a signal, for example).
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.raised.clone()
    }

    /// Asks the work to stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether the work has been asked to stop.
    pub fn is_raised(&self) -> bool {
        let raised = self.raised.load(Ordering::Relaxed);
        if raised {
            self.seen.get_or_init(Instant::now);
        }
        raised
    }

    /// Returns whether the work was interrupted so long ago that predictions end too.
    pub fn is_overdue(&self) -> bool {
        self.is_raised() && self.seen.get().is_some_and(|seen| seen.elapsed() >= GRACE)
    }
}
