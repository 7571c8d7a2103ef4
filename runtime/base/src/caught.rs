//! Panics of libraries that are caught, because the input is at fault and not the program.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that may panic on damaged input; `None` where it does. A panic hook can leave such panics out by [`is_catching`].
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

/// True while [`caught`] runs on this thread.
pub fn is_catching() -> bool {
    IS_CATCHING.get()
}
