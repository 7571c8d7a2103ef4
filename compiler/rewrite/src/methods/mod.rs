//! The functions that inference methods compute in each step. Each method has a file, and a folder
//! for the passes that only this method uses. Parts that several methods share have their own
//! files.

pub mod collapse;
pub mod divergence;
pub mod dropout;
pub mod laplace;
pub mod likelihood;
mod mix;
pub mod plan;
mod plausible;
pub mod positions;
pub mod predict;
pub mod prior;
pub mod sample;
pub mod states;
pub mod task;
pub mod train;
