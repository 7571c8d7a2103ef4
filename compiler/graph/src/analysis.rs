//! Questions about a whole function, answered on its petgraph view.

pub mod dataflow;
pub mod dot;
pub mod ranges;
