//! Running a compiled file: training, prediction, results.

mod audit;
pub mod core;
pub mod inference;
pub mod methods;
pub mod report;
pub mod run;
pub mod training;
