//! What code generators ask of a kernel: which axes are one, what depends on which axis, what is called in blocks.

pub mod collapse;
pub mod motion;
pub mod staging;
pub mod sweep;
