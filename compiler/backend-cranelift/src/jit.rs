//! Compiles a program to machine code in this process.

use crate::compile::{Draft, bug, define};
use crate::isa::host;
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::BackendOptions;
use bnnc_loops::ir::LoopProgram;
use cranelift_codegen::ir::Function;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::default_libcall_names;
use std::fmt::Write;
use std::sync::Mutex;

/// Compiled kernels, with the memory that contains their code.
pub(crate) struct Compiled {
    kernels: Vec<Entry>,
    /// The module. It is kept so that its memory can be freed later.
    module: Mutex<Option<JITModule>>,
}

type KernelFunction = unsafe extern "C" fn(*const KernelArgs);

struct Entry {
    name: String,
    function: KernelFunction,
    scratch: usize,
    clif: Function,
}

impl KernelCode for Compiled {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: the caller guarantees the preconditions of the generated code, and the code lives as long as `self`.
        unsafe { (self.kernels[kernel].function)(args) }
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.kernels[kernel].scratch
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (at, entry) in self.kernels.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "; kernel {at} \"{}\"\n{}\n",
                entry.name,
                entry.clif.display()
            );
        }
        text
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let module = self.module.get_mut().map(Option::take);
        if let Ok(Some(module)) = module {
            // SAFETY: `launch` borrows `self`. Therefore no kernel is running, and no kernel can be called afterwards.
            unsafe { module.free_memory() }
        }
    }
}

/// Compiles every kernel of a program.
pub(crate) fn compile(program: &LoopProgram, options: &BackendOptions) -> Result<Compiled, Fault> {
    let mut builder = JITBuilder::with_isa(host(&options.form)?, default_libcall_names());
    for symbol in &options.symbols {
        builder.symbol(&symbol.name, symbol.pointer as *const u8);
    }
    let mut module = JITModule::new(builder);
    let drafts = define(&mut module, program, options, None)
        .and_then(|drafts| module.finalize_definitions().map_err(bug).map(|()| drafts));
    let drafts = match drafts {
        Ok(drafts) => drafts,
        Err(fault) => {
            // SAFETY: no address in this memory was returned to a caller.
            unsafe { module.free_memory() };
            return Err(fault);
        }
    };
    let entry = |draft: Draft| Entry {
        // SAFETY: the function was declared with this signature.
        function: unsafe {
            std::mem::transmute::<*const u8, KernelFunction>(module.get_finalized_function(draft.function))
        },
        name: draft.name,
        scratch: draft.scratch,
        clif: draft.clif,
    };
    let kernels = drafts.into_iter().map(entry).collect();
    Ok(Compiled {
        kernels,
        module: Mutex::new(Some(module)),
    })
}
