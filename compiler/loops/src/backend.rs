//! What a code generator is: from a program to code behind [`bnnc_abi::code::Code`].

use crate::ir::Program;
use bnnc_abi::code::Code;
use bnnc_abi::symbols::Address;
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// Options of a backend.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The runtime's array primitives (see [`bnnc_abi::symbols`]).
    pub symbols: Vec<Address>,
}

/// A code generator.
pub trait Backend {
    /// Also the value of `--backend`.
    fn name(&self) -> &'static str;

    /// Compiles the kernels of a verified program.
    ///
    /// # Errors
    /// A limit or a bug; never the user's fault.
    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault>;
}
