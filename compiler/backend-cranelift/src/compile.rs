//! Translates kernels to functions of a Cranelift module. The module determines where the functions
//! are stored.

use crate::access::Accesses;
use crate::call::{callee, calls, scratch_bytes, signature};
use crate::func::{Emitter, Source};
use crate::machine::{Draft, Functions};
use crate::schedule::Schedule;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_loops::analysis::collapse::collapse;
use bnnc_loops::analysis::staging::KernelStaging;
use bnnc_loops::analysis::sweep::order;
use bnnc_loops::backend::BackendOptions;
use bnnc_loops::ir::{Kernel, LoopProgram};
use cranelift_codegen::ir::{FuncRef, Function, Signature, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module, ModuleError};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// Translates every kernel of a program to Cranelift's intermediate form. If a `prefix` is given, kernel `n` becomes a
/// global symbol whose name is `prefix` followed by `n`.
///
/// # Errors
/// Fails if a kernel calls a function of the runtime whose address is not known.
pub(crate) fn translate<M: Module>(
    module: &mut M,
    program: &LoopProgram,
    options: &BackendOptions,
    prefix: Option<&str>,
) -> Result<Vec<Draft>, Fault> {
    let known = options.symbols.iter().map(|symbol| symbol.name.as_str());
    let mut compiler = Compiler {
        module,
        functions: FunctionBuilderContext::new(),
        known: known.collect(),
        precision: program.plan.precision,
    };
    let kernels = program.kernels.iter().enumerate();
    kernels
        .map(|(number, kernel)| compiler.kernel(kernel, prefix.map(|prefix| format!("{prefix}{number}"))))
        .collect()
}

/// Stores the code of all functions in `module`. Compiles the functions that are not compiled yet.
///
/// # Errors
/// Fails if a function cannot be compiled.
pub(crate) fn define(module: &mut impl Module, functions: &Functions) -> Result<(), Fault> {
    for (draft, code) in functions.drafts.iter().zip(functions.codes()) {
        let code = code.as_ref().map_err(Clone::clone)?;
        module
            .define_function_bytes(draft.function, code.alignment, &code.bytes, &code.relocations)
            .map_err(bug)?;
    }
    Ok(())
}

struct Compiler<'a, M> {
    module: &'a mut M,
    functions: FunctionBuilderContext,
    known: HashSet<&'a str>,
    precision: Precision,
}

impl<M: Module> Compiler<'_, M> {
    fn kernel(&mut self, kernel: &Kernel, symbol: Option<String>) -> Result<Draft, Fault> {
        let (kernel, factor) = collapse(kernel);
        let (kernel, divided) = &order(kernel);
        let schedule = &Schedule::of(kernel, self.precision);
        let staging = &schedule.staging;
        let accesses = &Accesses::of(kernel, &staging.live);
        let mut clif = Function::new();
        clif.signature = signature(self.module.make_signature(), &[types::I64]);
        let callees = &self.callees(&mut clif, kernel, staging)?;
        let source = Source {
            kernel,
            factor,
            divided: *divided,
            staging,
            schedule,
            accesses,
            precision: self.precision,
            callees,
        };
        let builder = FunctionBuilder::new(&mut clif, &mut self.functions);
        Emitter::emit(&source, builder).finalize(self.module.target_config());
        let function = declare(self.module, symbol.as_deref(), &clif.signature).map_err(bug)?;
        let scratch = scratch_bytes(&source);
        Ok(Draft {
            function,
            name: kernel.name.clone(),
            scratch,
            clif: Mutex::new(Some(clif)),
        })
    }

    /// Returns references to the runtime functions that a kernel calls.
    fn callees(
        &mut self,
        clif: &mut Function,
        kernel: &Kernel,
        staging: &KernelStaging,
    ) -> Result<HashMap<String, FuncRef>, Fault> {
        let mut callees = HashMap::new();
        for id in calls(kernel, staging) {
            let (symbol, parameters) = callee(kernel, id, self.precision);
            if !self.known.contains(symbol.as_str()) {
                return Err(Fault::Bug(format!(
                    "kernel `{}` needs `{symbol}`, which has no address",
                    kernel.name
                )));
            }
            let signature = signature(self.module.make_signature(), &parameters);
            let function = self
                .module
                .declare_function(&symbol, Linkage::Import, &signature)
                .map_err(bug)?;
            let reference = self.module.declare_func_in_func(function, clif);
            callees.insert(symbol, reference);
        }
        Ok(callees)
    }
}

fn declare(
    module: &mut impl Module,
    symbol: Option<&str>,
    signature: &Signature,
) -> Result<FuncId, ModuleError> {
    match symbol {
        Some(symbol) => module.declare_function(symbol, Linkage::Export, signature),
        None => module.declare_anonymous_function(signature),
    }
}

/// Converts an error of the module to a compiler bug, because valid input cannot cause such an error.
pub(crate) fn bug(error: ModuleError) -> Fault {
    Fault::Bug(format!("Cranelift: {error}"))
}
