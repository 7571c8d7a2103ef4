//! Compares machine code with the reference interpreter. The tests cover every operation, random
//! kernels, and kernels of training.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod harness;
mod kernels;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
mod random_kernels;
mod scalars;
mod sweeps;

use bnnc_backend_cranelift::Cranelift;
use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;

/// The backend under test.
pub static BACKEND: Cranelift = Cranelift;

/// The number of random kernels that are compared in each precision.
pub const RANDOM_KERNELS: u64 = 1000;

/// The tolerated relative error of a single operation. The array primitives of the harness use the
/// functions of the reference, so only the rounding of the result can differ.
pub fn tolerance(_: Scalar, precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-6,
        Precision::F64 => 1e-15,
    }
}
