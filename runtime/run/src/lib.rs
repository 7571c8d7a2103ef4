//! Running a compiled file: training, prediction, results.

pub mod checkpoint;
pub mod codes;
pub mod columns;
pub mod cost;
pub mod feed;
pub mod fingerprint;
pub mod fit;
pub mod interrupt;
pub mod online;
pub mod out;
pub mod ports;
pub mod predict;
pub mod progress;
pub mod prune;
pub mod report;
pub mod result;
pub mod rows;
pub mod run;
pub mod sample;
pub mod score;
pub mod states;
pub mod step;
pub mod store;
pub mod summary;
