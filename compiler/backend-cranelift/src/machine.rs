//! Machine code of several functions. Register allocation takes most of the time of a compilation. Functions do not
//! depend on each other, so several threads can compile them together.

use bnnc_base::fault::Fault;
use bnnc_base::threads::processors;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_module::{FuncId, ModuleReloc};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Builder};

/// The largest number of threads. Programs have tens of functions, and each takes a fraction of a millisecond.
const MOST_THREADS: usize = 8;

/// The code of a function, before a module stores it.
pub(crate) struct MachineCode {
    /// The function in Cranelift's intermediate form, as it was compiled.
    pub clif: Function,
    /// The instructions.
    pub bytes: Vec<u8>,
    /// The alignment of the code in bytes.
    pub alignment: u64,
    /// The places in `bytes` that depend on addresses.
    pub relocations: Vec<ModuleReloc>,
}

/// The functions of a program. Any number of threads may compile them together. The code does not depend on the number of threads.
pub(crate) struct Functions {
    /// The functions, in the order of the program's kernels.
    pub drafts: Vec<Draft>,
    isa: OwnedTargetIsa,
    /// The first function that no thread has started to compile.
    next: AtomicUsize,
    results: Vec<OnceLock<Result<MachineCode, Fault>>>,
}

/// A function that is not compiled yet.
pub(crate) struct Draft {
    /// The id of the function in the module.
    pub function: FuncId,
    /// The name of the kernel.
    pub name: String,
    /// The number of bytes of scratch memory that one invocation needs.
    pub scratch: usize,
    /// The function in Cranelift's intermediate form. The thread that compiles the function takes it.
    pub clif: Mutex<Option<Function>>,
}

impl Functions {
    /// Creates the functions of a program. They are compiled later.
    pub fn new(isa: OwnedTargetIsa, drafts: Vec<Draft>) -> Functions {
        Functions {
            results: drafts.iter().map(|_| OnceLock::new()).collect(),
            next: AtomicUsize::new(0),
            isa,
            drafts,
        }
    }

    /// Compiles functions until each of them is compiled, or is being compiled by another thread.
    pub fn work(&self) {
        while let Some(at) =
            Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < self.drafts.len())
        {
            self.results[at].get_or_init(|| one(&*self.isa, &self.drafts[at]));
        }
    }

    /// Compiles all functions on several threads.
    pub fn work_on_threads(&self) {
        let threads = processors();
        thread::scope(|scope| {
            for _ in 1..threads.min(MOST_THREADS).min(self.drafts.len()) {
                // If a thread does not start, the others do its work.
                let _ = Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
    }

    /// Returns the code of each function, in order. Waits for functions that other threads are compiling.
    pub fn codes(&self) -> impl Iterator<Item = &Result<MachineCode, Fault>> {
        let pairs = self.results.iter().zip(&self.drafts);
        pairs.map(|(result, draft)| result.get_or_init(|| one(&*self.isa, draft)))
    }
}

fn one(isa: &dyn TargetIsa, draft: &Draft) -> Result<MachineCode, Fault> {
    let clif = draft.clif.lock().unwrap_or_else(PoisonError::into_inner).take();
    let clif = clif.ok_or_else(|| Fault::Bug(format!("the compilation of `{}` panicked", draft.name)))?;
    let mut context = Context::for_function(clif);
    let code = context
        .compile(isa, &mut ControlPlane::default())
        .map_err(|error| Fault::Bug(format!("Cranelift: {}", error.inner)))?;
    let alignment = u64::from(code.buffer.alignment);
    let bytes = code.code_buffer().to_vec();
    let code = code.buffer.relocs().to_vec();
    let relocation = |reloc| ModuleReloc::from_mach_reloc(reloc, &context.func, draft.function);
    Ok(MachineCode {
        relocations: code.iter().map(relocation).collect(),
        clif: context.func,
        bytes,
        alignment,
    })
}
