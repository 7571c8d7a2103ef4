//! What Laplace's approximation asks of Jacobians and second derivatives: against differences, and in little memory.
#![allow(clippy::unwrap_used)]

mod collapsed;
mod convolutions;
mod memory;
mod programs;
mod setup;
