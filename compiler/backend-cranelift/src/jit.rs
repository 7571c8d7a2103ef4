//! Compiles a program to machine code in this process.

use crate::compile::{bug, define, translate};
use crate::isa::host;
use crate::machine::Functions;
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::BackendOptions;
use bnnc_loops::ir::LoopProgram;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::default_libcall_names;
use std::fmt::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The kernels of a program, with the memory that contains their code. The first calls of [`KernelCode::ready`] compile
/// the code, and all threads that call it at that time share the work.
pub(crate) struct Compiled {
    functions: Functions,
    /// The entry of each kernel, after the code was compiled.
    entries: OnceLock<Result<Vec<KernelFunction>, Fault>>,
    /// The module. It is kept so that its memory can be freed later.
    module: Mutex<Option<JITModule>>,
}

type KernelFunction = unsafe extern "C" fn(*const KernelArgs);

impl Compiled {
    /// Returns the entries of the kernels. The first calls compile them.
    fn entries(&self) -> Result<&[KernelFunction], &Fault> {
        if let Some(entries) = self.entries.get() {
            return entries.as_deref();
        }
        self.functions.work();
        self.entries.get_or_init(|| self.finish()).as_deref()
    }

    /// Stores the code in executable memory.
    fn finish(&self) -> Result<Vec<KernelFunction>, Fault> {
        let mut module = self.module.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(module) = module.as_mut() else {
            return Err(Fault::Bug("the memory of the code was freed".to_owned()));
        };
        define(module, &self.functions)?;
        module.finalize_definitions().map_err(bug)?;
        let drafts = self.functions.drafts.iter();
        let addresses = drafts.map(|draft| module.get_finalized_function(draft.function));
        // SAFETY: the functions were declared with this signature.
        let entry = |address| unsafe { std::mem::transmute::<*const u8, KernelFunction>(address) };
        Ok(addresses.map(entry).collect())
    }
}

impl KernelCode for Compiled {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        match self.entries() {
            // SAFETY: the caller guarantees the preconditions of the generated code, and the code lives as long as `self`.
            Ok(entries) => unsafe { (entries[kernel])(args) },
            Err(fault) => unreachable!("a kernel is launched without its code: {fault}"),
        }
    }

    fn ready(&self) -> Result<(), Fault> {
        self.entries().map(|_| ()).map_err(Clone::clone)
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.functions.drafts[kernel].scratch
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.functions.work();
        let mut text = String::new();
        let pairs = self.functions.drafts.iter().zip(self.functions.codes());
        for (at, (draft, code)) in pairs.enumerate() {
            // Writing to a string cannot fail.
            let _ = match code {
                Ok(code) => write!(
                    text,
                    "; kernel {at} \"{}\"\n{}\n",
                    draft.name,
                    code.clif.display()
                ),
                Err(fault) => writeln!(text, "; kernel {at} \"{}\": {fault}", draft.name),
            };
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

/// Translates every kernel of a program. The result compiles them when they are first needed.
///
/// # Errors
/// Fails if a kernel calls a function of the runtime whose address is not known.
pub(crate) fn compile(program: &LoopProgram, options: &BackendOptions) -> Result<Compiled, Fault> {
    let isa = host(&options.form)?;
    let mut builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
    for symbol in &options.symbols {
        builder.symbol(&symbol.name, symbol.pointer as *const u8);
    }
    let mut module = JITModule::new(builder);
    let drafts = match translate(&mut module, program, options, None) {
        Ok(drafts) => drafts,
        Err(fault) => {
            // SAFETY: no address in this memory was returned to a caller.
            unsafe { module.free_memory() };
            return Err(fault);
        }
    };
    Ok(Compiled {
        functions: Functions::new(isa, drafts),
        entries: OnceLock::new(),
        module: Mutex::new(Some(module)),
    })
}
