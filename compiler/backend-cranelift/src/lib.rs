//! The backend `cranelift`: kernels of the loop IR as machine code of the host.
//!
//! `compile` makes functions of a program's kernels, which `jit` puts into memory and `object` into an object. For each
//! kernel axes are merged, `schedule` decides what is computed where, `func` emits the outer loops, `stmt` the innermost one,
//! `tile` the innermost one of several rows at once, `sweep` sums over draws, `reduce` reductions, `scalar` single operations
//! and `call` calls of runtime primitives.

mod access;
mod call;
mod compile;
mod entry;
mod func;
mod isa;
mod jit;
mod object;
mod reduce;
mod scalar;
mod schedule;
mod stmt;
mod sweep;
mod tile;

use bnnc_abi::code::{Code, Detached};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, Form, Options};
use bnnc_loops::ir::Program;
use compile::Listing;
pub use entry::entry;
use std::sync::Arc;

/// Compiles in process for the machine it runs on.
pub struct Cranelift;

impl Backend for Cranelift {
    fn name(&self) -> &'static str {
        "cranelift"
    }

    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault> {
        match &options.form {
            Form::Memory => Ok(Arc::new(jit::compile(program, options, Listing::Clif)?)),
            Form::Object { prefix, .. } => Ok(Arc::new(Detached(object::compile(program, options, prefix)?))),
        }
    }
}

impl Cranelift {
    /// The machine instructions of all kernels as text, for `bnnc emit asm`.
    ///
    /// # Errors
    /// As for [`Backend::compile`].
    pub fn assembly(&self, program: &Program, options: &Options) -> Result<String, Fault> {
        Ok(jit::compile(program, options, Listing::Assembly)?.text())
    }
}
