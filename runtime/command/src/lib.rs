//! The parts that the command lines of `bnnc` and of built executables share: the options of a run, the run itself, the terminal output.

pub mod arguments;
pub mod diagnostics;
pub mod execute;
pub mod memory;
pub mod terminal;
