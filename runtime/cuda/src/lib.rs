//! Runs plans on an NVIDIA device: [`attach`] puts code with PTX images on it.
//!
//! The driver is loaded at its first use, and building needs no part of CUDA. Without a driver, every call returns an error with that
//! diagnostic.

mod blas;
mod capture;
pub mod code;
pub mod codes;
pub mod device;
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
