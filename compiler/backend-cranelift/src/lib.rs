//! The backend `cranelift`: compiles kernels of the loop IR to machine code for the host.
//!
//! `compile` translates the kernels of a program to functions, and `machine` compiles these functions
//! on several threads. `jit` places the functions in memory, and compiles them only when a thread needs
//! them. `object` places them in an object file. In each kernel, axes are merged, and `schedule`
//! decides where each instruction is computed. `func` emits the outer loops, and `stmt` emits the
//! innermost loop. `tile` emits an innermost loop that covers several rows. `sweep` emits sums over
//! draws, and `reduce` emits reductions. `scalar` emits single operations, and `call` emits calls
//! of runtime primitives.

mod access;
mod call;
mod compile;
mod entry;
mod func;
mod isa;
mod jit;
mod machine;
mod object;
mod reduce;
mod scalar;
mod schedule;
mod stmt;
mod sweep;
mod tile;

use bnnc_abi::code::{Detached, KernelCode};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions, CodePlacement};
use bnnc_loops::ir::LoopProgram;
pub use entry::entry;
use std::sync::Arc;

/// The backend that compiles for the host, in this process.
pub struct Cranelift;

impl Backend for Cranelift {
    fn name(&self) -> &'static str {
        "cranelift"
    }

    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        match &options.form {
            CodePlacement::Memory => Ok(Arc::new(jit::compile(program, options)?)),
            CodePlacement::Object { prefix, .. } => {
                Ok(Arc::new(Detached(object::compile(program, options, prefix)?)))
            }
        }
    }
}
