//! Machine code against the reference interpreter: every operation, random kernels, kernels of training.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod harness;
mod kernels;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
mod random_kernels;
mod scalars;
mod sweeps;
