//! The semantic analysis of programs: turns a syntax tree into a resolved, typed tree, and this tree into the probabilistic graph.

pub mod builtin;
pub mod check;
pub mod constant;
pub mod diagnostics;
pub mod dims;
pub mod elaborate;
pub mod lift;
pub mod parts;
pub mod print;
pub mod prompt;
pub mod range;
pub mod show;
mod sign;
pub mod sites;
pub mod tree;
pub mod types;
pub mod verify;
pub mod walk;
