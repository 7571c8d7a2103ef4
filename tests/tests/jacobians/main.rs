//! The Jacobians and second derivatives of Laplace approximations agree with finite differences,
//! and need little memory.
#![allow(clippy::unwrap_used)]

mod collapsed;
mod convolutions;
mod groups;
mod memory;
mod programs;
mod setup;
