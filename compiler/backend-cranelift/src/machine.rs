//! Machine code of several functions, compiled on several threads. Register allocation takes most of the time of a
//! compilation, and functions do not depend on each other.

use crate::compile::Draft;
use bnnc_base::fault::Fault;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::ModuleReloc;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Compiles the functions of kernels to machine code. The result has their order, and does not depend on the number of threads.
pub(crate) fn compile(isa: &dyn TargetIsa, drafts: &[Draft]) -> Result<Vec<MachineCode>, Fault> {
    let results: Vec<OnceLock<Result<MachineCode, Fault>>> = drafts.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < drafts.len()) {
            results[at].get_or_init(|| one(isa, &drafts[at]));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 1..threads.min(MOST_THREADS).min(drafts.len()) {
            // Without a further thread, the other threads do its work.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let missing = || Err(Fault::Bug("a function was not compiled".to_owned()));
    results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(missing))
        .collect()
}

fn one(isa: &dyn TargetIsa, draft: &Draft) -> Result<MachineCode, Fault> {
    let mut context = Context::for_function(draft.clif.clone());
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
