//! Numerical functions: scalar operations with their reference values, special functions, random numbers, and approximations for generated code.
//!
//! These functions do not depend on syntax, graphs or backends.

pub mod approx;
pub mod gamma;
pub mod philox;
pub mod scalar;
pub mod special;
pub mod triangle;
