//! Compiles a program in a worker process. The compiler sends the text of a module, receives an
//! object, and loads the object's kernels into memory.

use crate::module::{MlirModule, module};
use crate::process::Worker;
use crate::processor;
use crate::protocol::CodeTarget;
use bnnc_abi::code::{Detached, KernelArgs, KernelCode, Object, ObjectKernel};
use bnnc_base::diagnostics::NO_WORKER;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions, CodePlacement, keys};
use bnnc_loops::ir::LoopProgram;
use bnnc_object::LoadedCode;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The environment variable that contains the path of a worker's executable.
pub const WORKER: &str = "BNNC_MLIR_WORKER";

/// The prefix of the symbols of kernels in a program that stays in this process. The number of the
/// kernel follows.
pub const PREFIX: &str = "kernel_";

/// The backend that compiles through MLIR and LLVM for the host.
#[derive(Clone, Debug)]
pub struct Mlir {
    /// The executable of the worker. If `None`, the environment variable [`WORKER`] names it. If
    /// this is not set either, it is the executable of this process, provided that it includes a
    /// worker.
    pub worker: Option<PathBuf>,
    /// The limit on the address space of a worker in bytes.
    pub memory: u64,
    /// The time limit for compiling one program.
    pub time: Duration,
}

impl Mlir {
    /// Creates a backend with limits that no program reaches in practice: 8 GiB and 600 seconds.
    pub const fn new() -> Mlir {
        Mlir {
            worker: None,
            memory: 8 << 30,
            time: Duration::from_secs(600),
        }
    }

    /// Returns the executable that is started as a worker. Returns `None` if no worker is
    /// available.
    pub fn program(&self) -> Option<PathBuf> {
        let named = || std::env::var_os(WORKER).map(PathBuf::from);
        let own = || {
            cfg!(feature = "llvm")
                .then(|| std::env::current_exe().ok())
                .flatten()
        };
        self.worker.clone().or_else(named).or_else(own)
    }

    /// Returns the worker.
    ///
    /// # Errors
    /// Fails if this build does not have a worker.
    pub(crate) fn worker(&self) -> Result<Worker, Fault> {
        let program = self.program();
        Ok(Worker {
            program: program
                .ok_or_else(|| Fault::limit(&NO_WORKER, "this build has no MLIR worker".to_owned()))?,
            memory: self.memory,
            time: self.time,
        })
    }
}

impl Default for Mlir {
    fn default() -> Mlir {
        Mlir::new()
    }
}

impl Backend for Mlir {
    fn name(&self) -> &'static str {
        "mlir"
    }

    fn is_available(&self) -> bool {
        self.program().is_some()
    }

    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        let prefix = match &options.form {
            CodePlacement::Memory => PREFIX,
            CodePlacement::Object { prefix, .. } => prefix,
        };
        let module = module(program, prefix);
        every_symbol_is_known(&module, options)?;
        let bytes = self.worker()?.lower(&module.text, CodeTarget::Object)?;
        let kernels = module.kernels.into_iter().zip(&program.kernels);
        let object = Object {
            bytes,
            features: processor::features(),
            kernels: kernels
                .map(|((symbol, scratch), kernel)| ObjectKernel {
                    symbol,
                    scratch,
                    keys: keys(kernel),
                })
                .collect(),
            device: None,
        };
        if options.form != CodePlacement::Memory {
            return Ok(Arc::new(Detached(object)));
        }
        Ok(Arc::new(Compiled {
            code: LoadedCode::load(&object, &options.symbols)?,
            text: module.text,
        }))
    }
}

fn every_symbol_is_known(module: &MlirModule, options: &BackendOptions) -> Result<(), Fault> {
    let known: HashSet<&str> = options.symbols.iter().map(|symbol| &*symbol.name).collect();
    let unknown = module
        .symbols
        .iter()
        .find(|(symbol, _)| !known.contains(symbol.as_str()));
    match unknown {
        Some((symbol, kernel)) => Err(Fault::Bug(format!(
            "kernel `{kernel}` needs `{symbol}`, which has no address"
        ))),
        None => Ok(()),
    }
}

/// Compiled kernels in memory, and the text of their MLIR module.
struct Compiled {
    code: LoadedCode,
    text: String,
}

impl KernelCode for Compiled {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.code.launch(kernel, args) }
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.code.scratch_bytes(kernel)
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.text.clone()
    }

    fn object(&self) -> Option<&Object> {
        self.code.object()
    }
}
