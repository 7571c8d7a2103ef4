//! Numerical functions: scalar operations with their reference values, special functions, random numbers, and approximations for generated code.
//!
//! These functions do not depend on the syntax of programs, on graphs or on backends.

pub mod approx;
pub mod gamma;
pub mod philox;
pub mod scalar;
pub mod special;
pub mod triangle;
