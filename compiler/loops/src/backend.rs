//! The interface of code generators: from a program to code behind [`bnnc_abi::code::Code`].

use crate::ir::{InstOp, Kernel, Program, Size};
use bnnc_abi::code::Code;
#[cfg(doc)]
use bnnc_abi::code::ObjectKernel;
use bnnc_abi::symbols::Address;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// Options of a backend.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The addresses of the runtime's array primitives (see [`bnnc_abi::symbols`]).
    pub symbols: Vec<Address>,
    /// The destination of the code.
    pub form: Form,
    /// The oldest GPU that must be able to run the code, such as `sm_90`, for a backend of GPUs; `None`
    /// leaves the choice to the backend.
    pub gpu: Option<&'static str>,
}

/// The destination of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Memory of this process.
    #[default]
    Memory,
    /// A relocatable object, which [`Code::object`] returns. [`Code::launch`] must not be called.
    Object {
        /// The prefix of global symbols: kernel `n` has the symbol `prefix` followed by `n`.
        prefix: String,
        /// The object format, which depends on the reader.
        format: ObjectFormat,
    },
}

/// The format of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// The native format of the system, for its linker.
    Native,
    /// ELF, the only format that the runtime reads.
    Elf,
}

/// Returns the integer slots of a kernel that hold keys of noise sites, each once, as in
/// [`ObjectKernel::keys`].
pub fn keys(kernel: &Kernel) -> Vec<u32> {
    let mut keys = Vec::new();
    for inst in kernel.body.iter() {
        if let InstOp::Noise {
            key: Size::Slot(slot),
            ..
        } = &inst.op
            && !keys.contains(slot)
        {
            keys.push(*slot);
        }
    }
    keys
}

/// A code generator.
pub trait Backend {
    /// Returns the name, which is also the value of `--backend`.
    fn name(&self) -> &'static str;

    /// Returns the only precision that the backend supports, if there is only one.
    fn fixed_precision(&self) -> Option<Precision> {
        None
    }

    /// Returns whether the backend works in this build and on this machine.
    fn is_available(&self) -> bool {
        true
    }

    /// Compiles the kernels of a verified program.
    ///
    /// # Errors
    /// A limit or a bug, never an error in the user's program.
    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault>;
}
