//! Compares code that MLIR has compiled with the reference interpreter. The tests are the same as
//! for the Cranelift backend, except that functions are inlined here.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod faults;
#[path = "../../../backend-cranelift/tests/conformance/harness.rs"]
mod harness;
mod inlined;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
#[path = "../../../backend-cranelift/tests/conformance/random_kernels.rs"]
mod random_kernels;
#[path = "../../../backend-cranelift/tests/conformance/scalars.rs"]
mod scalars;
#[path = "../../../backend-cranelift/tests/conformance/sweeps.rs"]
mod sweeps;

use bnnc_backend_mlir::Mlir;
use bnnc_base::dtype::Precision;
use bnnc_math::scalar::Scalar;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The backend under test.
pub static BACKEND: LazyLock<Mlir> = LazyLock::new(|| Mlir {
    worker: Some(PathBuf::from(env!("CARGO_BIN_EXE_bnnc-mlir-worker"))),
    ..Mlir::new()
});

/// The number of random kernels that are compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// The tolerated relative error of a single operation: the largest error of the inlined
/// approximations. This error is known from the tests of the array primitives, which use the same
/// approximations.
pub fn tolerance(_: Scalar, precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-6,
        Precision::F64 => 4e-15,
    }
}
