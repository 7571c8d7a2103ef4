//! The wish that a run stop soon and keep what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that whoever listens to the user raises and that long work looks at: chains before each gradient (iterations that end in a
/// moment are ended), training after each epoch.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
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
        self.raised.load(Ordering::Relaxed)
    }
}
