//! Code for graphics processors against the reference interpreter, on a machine that runs PTX, and through `ptxas` where it is.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod arithmetic;
mod device;
#[path = "../../../backend-cranelift/tests/conformance/harness.rs"]
mod harness;
mod machine;
mod primitives;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
#[path = "../../../backend-cranelift/tests/conformance/random_kernels.rs"]
mod random_kernels;
#[path = "../../../backend-cranelift/tests/conformance/scalars.rs"]
mod scalars;
#[path = "../../../backend-cranelift/tests/conformance/sweeps.rs"]
mod sweeps;

/// The backend under test.
pub static BACKEND: device::Emulated = device::Emulated;

/// How many random kernels are compared in each precision.
pub const RANDOM_KERNELS: u64 = 150;

/// Relative errors of single operations: those of the inlined approximations, as the array primitives' own tests bound them.
pub const TOLERANCE_F32: f64 = 1e-6;
/// The same in double precision. Digamma and the logarithm of gamma, which the array primitives take from the reference, add
/// terms here whose rounding counts where the sum is small: `4e-15` of their size.
pub const TOLERANCE_F64: f64 = 3e-14;
