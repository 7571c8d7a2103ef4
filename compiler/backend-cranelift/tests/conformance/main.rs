//! Machine code against the reference interpreter: every operation, random kernels, kernels of training.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod harness;
mod kernels;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
mod random_kernels;
mod scalars;
mod sweeps;

use bnnc_backend_cranelift::Cranelift;

/// The backend under test.
pub static BACKEND: Cranelift = Cranelift;

/// How many random kernels are compared in each precision.
pub const RANDOM_KERNELS: u64 = 1000;

/// Relative errors of single operations. The array primitives of the harness round the reference's results.
pub const TOLERANCE_F32: f64 = 1e-6;
/// The same in double precision.
pub const TOLERANCE_F64: f64 = 1e-15;
