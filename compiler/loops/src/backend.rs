//! What a code generator is: from a program to code behind [`bnnc_abi::code::Code`].

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
    /// The runtime's array primitives (see [`bnnc_abi::symbols`]).
    pub symbols: Vec<Address>,
    /// Where the code goes.
    pub form: Form,
    /// The oldest graphics processor that has to run it, such as `sm_90`, where it is for one; the backend's own choice where nothing is said.
    pub gpu: Option<&'static str>,
}

/// Where code goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Into memory of this process.
    #[default]
    Memory,
    /// Into a relocatable object: [`Code::object`] gives it, and [`Code::launch`] must not be called.
    Object {
        /// Kernel `n` is the global symbol that is this and `n`.
        prefix: String,
        /// Who will read it.
        format: ObjectFormat,
    },
}

/// The format of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// The system's own, for its linker.
    Native,
    /// ELF, for the runtime, which reads no other.
    Elf,
}

/// The integer slots of a kernel that hold keys of noise sites, each once: what [`ObjectKernel::keys`] says.
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
    /// Also the value of `--backend`.
    fn name(&self) -> &'static str;

    /// The only precision that it computes in, if it has only one.
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
    /// A limit or a bug; never the user's fault.
    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault>;
}
