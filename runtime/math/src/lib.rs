//! Numerical functions: scalar operations and their meaning, special functions, random numbers, and approximations for generated code.
//!
//! Nothing here knows about syntax, graphs or backends.

pub mod approx;
pub mod gamma;
pub mod philox;
pub mod scalar;
pub mod special;
pub mod triangle;
