//! Runs plans on an NVIDIA device. [`attach`] connects code that has PTX images with the device.
//!
//! The driver is loaded at its first use, so building this crate does not require CUDA. If the
//! driver is missing, calls return a diagnostic that states this.

mod blas;
mod capture;
pub mod code;
pub mod device;
pub mod diagnostics;
pub mod driver;
mod exchange;
pub mod factors;
mod gather;
mod memory;
mod module;
pub mod products;
mod schedule;
mod session;
pub mod systems;

pub use code::attach;
