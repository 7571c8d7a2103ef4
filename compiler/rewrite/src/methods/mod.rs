//! The functions that inference methods compute in each step.

pub mod collapse;
pub mod divergence;
pub mod dropout;
pub mod elements;
pub mod hoist;
mod jumps;
pub mod laplace;
pub mod likelihood;
pub mod noncentre;
pub mod plan;
mod plausible;
pub mod positions;
pub mod predict;
pub mod prior;
pub mod prune;
pub mod sample;
pub mod states;
pub mod train;
