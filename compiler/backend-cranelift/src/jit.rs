//! A program as machine code in this process.

use crate::access::Accesses;
use crate::call::{callee, calls, scratch_bytes, signature};
use crate::func::{Emitter, Source};
use crate::isa::host;
use crate::schedule::Schedule;
use crate::sweep::order;
use bnnc_abi::code::{Code, KernelArgs};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_loops::analysis::collapse::collapse;
use bnnc_loops::backend::Options;
use bnnc_loops::ir::{Kernel, Program};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{FuncRef, Function, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Mutex;

/// What [`Code::text`] shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Cranelift's intermediate form.
    Clif,
    /// Machine instructions.
    Assembly,
}

/// Compiled kernels and the memory they lie in.
pub(crate) struct Compiled {
    kernels: Vec<Entry>,
    /// Only to be freed.
    module: Mutex<Option<JITModule>>,
}

type KernelFunction = unsafe extern "C" fn(*const KernelArgs);

struct Entry {
    name: String,
    function: KernelFunction,
    scratch: usize,
    clif: Function,
    assembly: Option<String>,
}

impl Code for Compiled {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: the caller's promise is that of the generated code, which lives as long as `self`.
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
            let clif = || entry.clif.display().to_string();
            let code = entry.assembly.clone().unwrap_or_else(clif);
            // Writing to a string does not fail.
            let _ = write!(text, "; kernel {at} \"{}\"\n{code}\n", entry.name);
        }
        text
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let module = self.module.get_mut().map(Option::take);
        if let Ok(Some(module)) = module {
            // SAFETY: `launch` borrows `self`, so no kernel is running, and none can be called hereafter.
            unsafe { module.free_memory() }
        }
    }
}

/// Compiles every kernel.
pub(crate) fn compile(program: &Program, options: &Options, listing: Listing) -> Result<Compiled, Fault> {
    let mut builder = JITBuilder::with_isa(host()?, default_libcall_names());
    for symbol in &options.symbols {
        builder.symbol(&symbol.name, symbol.pointer as *const u8);
    }
    let known = options
        .symbols
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    let module = JITModule::new(builder);
    let precision = program.plan.precision;
    let functions = FunctionBuilderContext::new();
    let mut compiler = Compiler {
        context: module.make_context(),
        module,
        functions,
        known,
        precision,
        listing,
    };
    let drafts = program
        .kernels
        .iter()
        .map(|kernel| compiler.kernel(kernel))
        .collect::<Result<Vec<_>, _>>();
    let drafts = match drafts.and_then(|drafts| {
        compiler
            .module
            .finalize_definitions()
            .map_err(bug)
            .map(|()| drafts)
    }) {
        Ok(drafts) => drafts,
        Err(fault) => {
            // SAFETY: no address of this memory has been handed out.
            unsafe { compiler.module.free_memory() };
            return Err(fault);
        }
    };
    let module = compiler.module;
    let entry = |draft: Draft| Entry {
        // SAFETY: the function was declared with this signature.
        function: unsafe {
            std::mem::transmute::<*const u8, KernelFunction>(module.get_finalized_function(draft.function))
        },
        name: draft.name,
        scratch: draft.scratch,
        clif: draft.clif,
        assembly: draft.assembly,
    };
    let kernels = drafts.into_iter().map(entry).collect();
    Ok(Compiled {
        kernels,
        module: Mutex::new(Some(module)),
    })
}

/// A kernel whose address is not known yet.
struct Draft {
    function: FuncId,
    name: String,
    scratch: usize,
    clif: Function,
    assembly: Option<String>,
}

struct Compiler<'a> {
    context: Context,
    module: JITModule,
    functions: FunctionBuilderContext,
    known: HashSet<&'a str>,
    precision: Precision,
    listing: Listing,
}

impl Compiler<'_> {
    fn kernel(&mut self, kernel: &Kernel) -> Result<Draft, Fault> {
        let (kernel, factor) = collapse(kernel);
        let (kernel, divided) = &order(kernel);
        let schedule = &Schedule::of(kernel, self.precision);
        let accesses = &Accesses::of(kernel, &schedule.live);
        self.context.func.signature = signature(self.module.make_signature(), &[types::I64]);
        let callees = &self.callees(kernel, schedule)?;
        let source = Source {
            kernel,
            factor,
            divided: *divided,
            schedule,
            accesses,
            precision: self.precision,
            callees,
        };
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.functions);
        Emitter::emit(&source, builder).finalize(self.module.target_config());
        let function = self
            .module
            .declare_anonymous_function(&self.context.func.signature)
            .map_err(bug)?;
        let assembly = self.listing == Listing::Assembly;
        self.context.set_disasm(assembly);
        self.module
            .define_function(function, &mut self.context)
            .map_err(bug)?;
        let assembly = self
            .context
            .compiled_code()
            .filter(|_| assembly)
            .and_then(|code| code.vcode.clone());
        let clif = std::mem::replace(&mut self.context.func, Function::new());
        self.module.clear_context(&mut self.context);
        let scratch = scratch_bytes(schedule, self.precision);
        Ok(Draft {
            function,
            name: kernel.name.clone(),
            scratch,
            clif,
            assembly,
        })
    }

    /// The runtime functions that a kernel calls.
    fn callees(&mut self, kernel: &Kernel, schedule: &Schedule) -> Result<HashMap<String, FuncRef>, Fault> {
        let mut callees = HashMap::new();
        for id in calls(kernel, schedule) {
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
            let reference = self.module.declare_func_in_func(function, &mut self.context.func);
            callees.insert(symbol, reference);
        }
        Ok(callees)
    }
}

fn bug(error: ModuleError) -> Fault {
    Fault::Bug(format!("Cranelift: {error}"))
}
