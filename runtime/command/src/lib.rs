//! The parts that the command line of `bnnc` shares with that of a built executable: the options of a run, the run itself, the terminal output.

pub mod arguments;
pub mod codes;
pub mod execute;
pub mod memory;
pub mod terminal;
