//! Analyses of kernels for code generators. The analyses find axes that can be merged, the axes on
//! which each value depends, and calls that process blocks.

pub mod collapse;
pub mod motion;
pub mod staging;
pub mod sweep;
