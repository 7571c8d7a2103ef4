//! Analyses of kernels for code generators: axes that merge, dependences on axes, and calls on blocks.

pub mod collapse;
pub mod motion;
pub mod staging;
pub mod sweep;
