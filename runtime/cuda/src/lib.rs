//! Plans on an NVIDIA device: [`attach`] puts code with PTX images there.
//!
//! The driver is loaded when it is first asked for; nothing of CUDA is needed to build, and where there is none every call says so.

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
