//! The semantic analysis of programs. First, it turns a syntax tree into a resolved, typed tree.
//! Then, it turns the typed tree into the probabilistic graph.

pub mod builtin;
pub mod check;
pub mod composition;
pub mod constant;
pub mod diagnostics;
pub mod dims;
pub mod elaborate;
pub mod ids;
pub mod lift;
pub mod parts;
pub mod print;
pub mod prompt;
pub mod range;
pub mod show;
mod sign;
pub mod sites;
pub mod start_rules;
pub mod tree;
pub mod types;
pub mod verify;
pub mod walk;
