//! Catches panics of libraries that read damaged input.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic on damaged input; returns `None` if it panics. A panic hook can ignore such panics by [`is_catching`].
///
/// ```
/// use bnnc_base::caught::caught;
/// assert_eq!(caught(|| 1), Some(1));
/// assert_eq!(caught(|| [0][usize::MAX..].len()), None);
/// ```
pub fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    let outer = IS_CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_CATCHING.set(outer);
    result.ok()
}

/// Returns whether [`caught`] runs on this thread.
pub fn is_catching() -> bool {
    IS_CATCHING.get()
}
