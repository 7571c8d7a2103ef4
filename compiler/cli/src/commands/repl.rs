//! `bnnc repl`: read, extend the session, evaluate, print.

use crate::arguments::Repl;

/// Runs the command.
pub fn run(arguments: &Repl) -> u8 {
    let _ = arguments;
    2
}
