//! The native part of the runtime: array primitives, matrix products, a thread pool, and the
//! executor of plans.

pub mod arena;
pub mod arrays;
mod chunks;
pub mod executor;
pub mod library;
pub mod linalg;
pub mod matmul;
mod memory;
mod mirror;
pub mod pool;
pub mod ports;
mod reduction;
mod remote;
mod resolved;
