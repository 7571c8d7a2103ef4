//! Analyses of kernels for code generators. The analyses find the axes that can be merged, the axes
//! that each value depends on, and the calls that process blocks.

pub mod collapse;
pub mod motion;
pub mod staging;
pub mod sweep;
