//! The backend `cuda` on the device of this machine: every operation beside the reference, every example beside cranelift.
//! `BNNC_MLIR_WORKER=WORKER cargo test -p bnnc-tests --features cuda-tests --test cuda`.
#![cfg(feature = "cuda-tests")]
#![allow(clippy::unwrap_used)]

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

use bnnc_base::dtype::Precision;
use bnnc_base::scalar::Scalar;

/// The backend under test.
pub static BACKEND: device::OnDevice = device::OnDevice;

/// How many random kernels are compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The relative error of a single operation, as the tests of the same instructions on the host bound it.
pub fn tolerance(scalar: Scalar, precision: Precision) -> f64 {
    match (precision, scalar) {
        (Precision::F32, _) => 1e-6,
        (Precision::F64, Scalar::Digamma) => 1e-14,
        (Precision::F64, Scalar::Lgamma) => 3e-14,
        (Precision::F64, _) => 4e-15,
    }
}
