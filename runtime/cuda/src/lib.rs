//! Runs plans on an NVIDIA device: [`attach`] connects code that has PTX images with the device.
//!
//! The driver is loaded at its first use, and no part of CUDA is needed to build this crate. If there is no driver, calls return an error
//! with a diagnostic that states this.

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
