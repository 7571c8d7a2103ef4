//! The backend `mlir`: kernels of the loop IR as MLIR, which LLVM turns into vector code of the host.
//!
//! `module` writes a program as text, with a function per kernel: `schedule` decides what is computed where, `func` writes
//! the loops, `stmt` the innermost ones, `access` addresses, `reduce` outputs, `scalar` single operations and `call` calls
//! of runtime primitives; `gpu` does so for graphics processors. The text goes to a worker process (`process`), because LLVM
//! may abort or take all memory.

mod access;
mod approximation;
mod backend;
mod call;
mod func;
pub mod gpu;
#[cfg(feature = "llvm")]
mod llvm;
mod module;
pub mod passes;
pub mod process;
mod processor;
pub mod protocol;
mod reduce;
mod scalar;
mod schedule;
mod stmt;
mod sweep;
mod text;
#[cfg(feature = "llvm")]
pub mod worker;

pub use backend::{Mlir, PREFIX, WORKER};
pub use module::{Module, module};
