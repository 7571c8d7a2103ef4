//! What the command line of `bnnc` and that of a built executable share: the options of a run, the run itself, what is said.

pub mod arguments;
pub mod codes;
pub mod execute;
pub mod memory;
pub mod terminal;
