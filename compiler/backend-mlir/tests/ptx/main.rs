//! Compares GPU code with the reference interpreter, on an emulator of PTX.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod arithmetic;
mod bounds;
mod device;
#[path = "../../../backend-cranelift/tests/conformance/harness.rs"]
mod harness;
mod machine;
mod primitives;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
#[path = "../../../backend-cranelift/tests/conformance/random_kernels.rs"]
mod random_kernels;
mod reductions;
#[path = "../../../backend-cranelift/tests/conformance/scalars.rs"]
mod scalars;
#[path = "../../../backend-cranelift/tests/conformance/sweeps.rs"]
mod sweeps;

pub use bounds::{RANDOM_KERNELS, tolerance};

/// The backend under test.
pub static BACKEND: device::Emulated = device::Emulated;
