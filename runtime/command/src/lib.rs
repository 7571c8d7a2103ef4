//! Code that `bnnc` and built executables share: the options of a run, the run itself, and the
//! output to the terminal.

pub mod arguments;
pub mod diagnostics;
pub mod execute;
pub mod memory;
pub mod terminal;
