//! The interface of code generators. A code generator compiles a program to code that implements
//! [`bnnc_abi::code::KernelCode`].

use crate::ir::{InstOp, Kernel, LoopProgram, LoopSize};
use bnnc_abi::code::KernelCode;
#[cfg(doc)]
use bnnc_abi::code::ObjectKernel;
use bnnc_abi::symbols::Address;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// Options of a backend.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    /// The addresses of the runtime's array primitives (see [`bnnc_abi::symbols`]).
    pub symbols: Vec<Address>,
    /// Where the code is stored.
    pub form: CodePlacement,
    /// The oldest GPU on which the code must run, such as `sm_90`. Only backends that
    /// generate GPU code use this option. `None` leaves the choice to the backend.
    pub gpu: Option<&'static str>,
}

/// Where code is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodePlacement {
    /// The code is in the memory of this process.
    #[default]
    Memory,
    /// The code is in a relocatable object. [`KernelCode::object`] returns this object. [`KernelCode::launch`] must
    /// not be called.
    Object {
        /// The prefix of global symbols. The symbol of kernel `n` consists of `prefix` and `n`.
        prefix: String,
        /// The format of the object, which depends on the program that reads it.
        format: ObjectFormat,
    },
}

/// The format of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// The native object format of the system. The system's linker reads this format.
    Native,
    /// ELF, the only format that the runtime itself can read.
    Elf,
}

/// Returns the integer slots of a kernel that hold keys of noise sites. As in
/// [`ObjectKernel::keys`], each slot is listed once.
pub fn keys(kernel: &Kernel) -> Vec<u32> {
    let mut keys = Vec::new();
    for inst in kernel.body.iter() {
        if let InstOp::Noise(noise) = &inst.op
            && let LoopSize::Slot(slot) = noise.key
            && !keys.contains(&slot)
        {
            keys.push(slot);
        }
    }
    keys
}

/// A code generator.
pub trait Backend {
    /// Returns the name of the backend. It is also the value of `--backend`.
    fn name(&self) -> &'static str;

    /// Returns the only precision that the backend supports. Returns `None` if the backend supports
    /// both precisions.
    fn fixed_precision(&self) -> Option<Precision> {
        None
    }

    /// Returns whether the backend works in this build and on this machine.
    fn is_available(&self) -> bool {
        true
    }

    /// Returns whether the code calls the primitive `contraction`. This primitive reads operands through index maps. Otherwise, such
    /// operands are copied first.
    fn reads_views(&self) -> bool {
        true
    }

    /// Compiles the kernels of a verified program. A backend may leave a part of the work to [`KernelCode::ready`].
    ///
    /// # Errors
    /// Fails if a limit is exceeded, or because of a bug. It never fails because of an error in the
    /// user's program.
    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault>;
}
