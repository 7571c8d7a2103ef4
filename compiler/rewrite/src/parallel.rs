//! Runs two parts of a compilation on two threads.

use crate::pass::PassContext;
use bnnc_base::threads::STACK;
use std::thread::{self, Builder};

/// Runs `first` on this thread, and at the same time `second` on another thread. The additions of `second` to the context follow
/// those of `first`, so the context does not depend on the order in which the threads finish.
///
/// # Errors
/// Returns the error of `first`. If `first` succeeds, returns the error of `second`.
pub fn both<A, B: Send, E: Send>(
    context: &mut PassContext,
    first: impl FnOnce(&mut PassContext) -> Result<A, E>,
    second: impl Fn(&mut PassContext) -> Result<B, E> + Sync,
) -> Result<(A, B), E> {
    let fork = context.fork();
    let (first, second) = thread::scope(|scope| {
        let second = || {
            let mut fork = fork.clone();
            second(&mut fork).map(|result| (result, fork))
        };
        let worker = Builder::new().stack_size(STACK).spawn_scoped(scope, second);
        let first = first(context);
        // If the thread did not start, or if it panicked, this thread does its work.
        let result = worker.ok().and_then(|worker| worker.join().ok());
        (first, result.unwrap_or_else(second))
    });
    let (first, (second, fork)) = (first?, second?);
    context.absorb(fork);
    Ok((first, second))
}
