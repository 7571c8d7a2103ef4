//! What the methods of inference compute in each step, as functions.

pub mod elements;
pub mod plan;
pub mod predict;
pub mod states;
pub mod train;
