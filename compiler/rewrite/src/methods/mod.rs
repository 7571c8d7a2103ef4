//! The functions that inference methods compute in each step: a file for each method, with the passes of this method alone in its folder,
//! and a file for each part that several methods share.

pub mod collapse;
pub mod divergence;
pub mod dropout;
pub mod laplace;
pub mod likelihood;
pub mod plan;
mod plausible;
pub mod positions;
pub mod predict;
pub mod prior;
pub mod sample;
pub mod states;
pub mod train;
