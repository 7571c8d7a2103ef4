//! The backend `mlir`: translates kernels of the loop IR to MLIR. LLVM then compiles them to vector
//! code for the host.
//!
//! `module` writes a program as text, with one function per kernel. `schedule` decides where each
//! instruction is computed. `func` emits the loops, and `stmt` the innermost loops. `access` emits
//! the addresses, and `reduce` emits the outputs. `scalar` emits single operations, and `call`
//! emits calls of runtime primitives. `gpu` does the same work for GPUs. The text is sent to a
//! worker process (`process`), because LLVM may abort or use up the memory.

mod access;
mod approximation;
mod backend;
mod call;
#[cfg(feature = "llvm")]
mod diagnostics;
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
pub use module::{MlirModule, module};
