//! The Jacobians and second derivatives of Laplace approximations: against differences, and within little memory.
#![allow(clippy::unwrap_used)]

mod collapsed;
mod convolutions;
mod memory;
mod programs;
mod setup;
