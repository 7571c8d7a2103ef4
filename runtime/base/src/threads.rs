//! Properties of the threads of a process.

use std::num::NonZero;
use std::thread;

/// The stack in bytes of a thread that compiles programs. The compiler visits nested expressions by recursion.
pub const STACK: usize = 64 << 20;

/// Returns the number of processors that this process may use, at least one.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
