//! Catches panics of libraries that read damaged input.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic on damaged input. Returns `None` if it panics. A panic hook can
/// recognise such a panic by [`is_catching`] and ignore it.
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

/// Returns whether a call of [`caught`] is running on this thread.
pub fn is_catching() -> bool {
    IS_CATCHING.get()
}
