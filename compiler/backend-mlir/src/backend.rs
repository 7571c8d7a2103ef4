//! A program through the worker and back: text out, object in, kernels in memory.

use crate::module::{Module, module};
use crate::process::Worker;
use crate::processor;
use crate::protocol::Target;
use bnnc_abi::code::{Code, Detached, KernelArgs, Object, ObjectKernel};
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, Form, Options, keys};
use bnnc_loops::ir::Program;
use bnnc_object::LoadedCode;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Names an executable that is a worker.
pub const WORKER: &str = "BNNC_MLIR_WORKER";

/// Kernel `n` of a program that stays in this process is this and `n`.
pub const PREFIX: &str = "kernel_";

/// Compiles through MLIR and LLVM for the machine it runs on.
#[derive(Clone, Debug)]
pub struct Mlir {
    /// The executable that is started as a worker. Where there is none, the environment's [`WORKER`] is, and else this
    /// process's own executable, if it was built with one inside.
    pub worker: Option<PathBuf>,
    /// Bytes of addresses that a worker may use.
    pub memory: u64,
    /// How long it may take for a program.
    pub time: Duration,
}

impl Mlir {
    /// Bounds that no program of ours comes near.
    pub const fn new() -> Mlir {
        Mlir {
            worker: None,
            memory: 8 << 30,
            time: Duration::from_secs(600),
        }
    }

    /// The executable that is started, if there is one.
    pub fn program(&self) -> Option<PathBuf> {
        let named = || std::env::var_os(WORKER).map(PathBuf::from);
        let own = || {
            cfg!(feature = "llvm")
                .then(|| std::env::current_exe().ok())
                .flatten()
        };
        self.worker.clone().or_else(named).or_else(own)
    }

    /// The worker.
    ///
    /// # Errors
    /// Where this build has none.
    pub(crate) fn worker(&self) -> Result<Worker, Fault> {
        let program = self.program();
        Ok(Worker {
            program: program.ok_or_else(|| Fault::Limit("this build has no MLIR worker".to_owned()))?,
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

    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault> {
        let prefix = match &options.form {
            Form::Memory => PREFIX,
            Form::Object { prefix, .. } => prefix,
        };
        let module = module(program, prefix);
        every_symbol_is_known(&module, options)?;
        let bytes = self.worker()?.lower(&module.text, Target::Object)?;
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
        if options.form != Form::Memory {
            return Ok(Arc::new(Detached(object)));
        }
        Ok(Arc::new(Compiled {
            code: LoadedCode::load(&object, &options.symbols)?,
            text: module.text,
        }))
    }
}

fn every_symbol_is_known(module: &Module, options: &Options) -> Result<(), Fault> {
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

/// Kernels in memory, and the module that they were made of.
struct Compiled {
    code: LoadedCode,
    text: String,
}

impl Code for Compiled {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: the caller's promise.
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
