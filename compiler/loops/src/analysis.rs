//! Analyses of kernels for code generators: which axes can be merged, how values depend on axes, and which
//! calls process blocks.

pub mod collapse;
pub mod motion;
pub mod staging;
pub mod sweep;
