//! The types that all parts of a run share: the context, the values and rows that programs read,
//! and the data that are stored between runs. This crate does not depend on an inference method.

pub mod blocks;
pub mod checkpoint;
pub mod columns;
pub mod context;
pub mod date;
pub mod diagnostics;
pub mod feed;
pub mod fingerprint;
pub mod forecast;
pub mod impossible;
pub mod interrupt;
pub mod memory;
pub mod number;
pub mod ports;
pub mod positions;
pub mod predict;
pub mod progress;
pub mod rows;
pub mod score;
pub mod sources;
pub mod states;
pub mod store;
pub mod tally;
pub mod thinned;
