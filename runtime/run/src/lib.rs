//! Running a compiled file: training, prediction, results.

mod audit;
pub mod collapsed;
pub mod comparison;
pub mod core;
pub mod cost;
pub mod draws;
pub mod evaluate;
pub mod fit;
pub mod folder;
mod held;
pub mod inference;
pub mod iterates;
pub mod laplace;
pub mod leave_one_out;
pub mod online;
pub mod out;
pub mod positions;
pub mod prune;
pub mod report;
pub mod result;
pub mod run;
pub mod sample;
mod scales;
pub mod start;
pub mod step;
pub mod summary;
