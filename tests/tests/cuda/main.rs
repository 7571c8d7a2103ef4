//! Tests of the backend `cuda` on the device of this machine: every operation agrees with the
//! reference, and every example agrees with cranelift. Run them with
//! `BNNC_MLIR_WORKER=WORKER cargo test -p bnnc-tests --features cuda-tests --test cuda`.
#![cfg(feature = "cuda-tests")]
#![allow(clippy::unwrap_used)]

#[path = "../../../compiler/backend-mlir/tests/ptx/bounds.rs"]
mod bounds;
mod device;
mod examples;
#[path = "../../../compiler/backend-cranelift/tests/conformance/harness.rs"]
mod harness;
#[path = "../../../compiler/loops/tests/random/mod.rs"]
mod random;
#[path = "../../../compiler/backend-cranelift/tests/conformance/random_kernels.rs"]
mod random_kernels;
#[path = "../../../compiler/backend-cranelift/tests/conformance/scalars.rs"]
mod scalars;
#[path = "../../../compiler/backend-cranelift/tests/conformance/sweeps.rs"]
mod sweeps;
mod systems;

pub use bounds::{RANDOM_KERNELS, tolerance};

/// The backend under test.
pub static BACKEND: device::OnDevice = device::OnDevice;
