//! Analyses of whole functions.

pub mod dataflow;
pub mod dot;
pub mod ranges;
