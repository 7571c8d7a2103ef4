//! The worker process: reads the text of a module from standard input, and writes an artefact to
//! standard output.

use crate::diagnostics::LoweringError;
use crate::llvm;
use crate::passes::{TO_LLVM, TO_PTX, pipeline};
use crate::protocol::{CodeTarget, MISUNDERSTOOD, WorkerRequest, frame};
use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::operation::OperationLike;
use melior::ir::{AttributeLike, BlockLike, Module};
use melior::pass::PassManager;
use melior::utility::{
    parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes,
};
use mlir_sys::{
    mlirArrayAttrGetElement, mlirArrayAttrGetNumElements, mlirAttributeIsAArray, mlirGPUObjectAttrGetObject,
};
use std::io::{Read, Write};

/// Handles the request that is given by the arguments after the subcommand, and returns the exit status.
pub fn run(arguments: &[String]) -> u8 {
    let Some(request) = WorkerRequest::parse(arguments) else {
        eprintln!("an MLIR worker needs a target and a number of bytes");
        return MISUNDERSTOOD as u8;
    };
    limit_addresses(request.memory);
    match answer(request.target) {
        Ok(()) => 0,
        Err(complaint) => {
            eprintln!("{complaint}");
            1
        }
    }
}

fn answer(target: CodeTarget) -> Result<(), LoweringError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(LoweringError::Read)?;
    let artefact = lower(&text, target)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&frame(&artefact))
        .and_then(|()| out.flush())
        .map_err(LoweringError::Write)
}

/// Lowers a module in this process.
///
/// # Errors
/// Returns the error message of MLIR or LLVM.
pub fn lower(text: &str, target: CodeTarget) -> Result<Vec<u8>, LoweringError> {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    register_all_passes();
    let context = Context::new_with_registry(&registry, false);
    register_all_llvm_translations(&context);
    context.attach_diagnostic_handler(|diagnostic| {
        eprintln!("{}: {diagnostic}", diagnostic.location());
        true
    });
    context.load_all_available_dialects();
    let mut module = Module::parse(&context, text)
        .ok_or_else(|| LoweringError::Mlir("MLIR does not accept the module".to_owned()))?;
    let passes = match target {
        CodeTarget::Object => TO_LLVM,
        CodeTarget::Ptx => TO_PTX,
    };
    let manager = PassManager::new(&context);
    manager.enable_verifier(true);
    parse_pass_pipeline(manager.as_operation_pass_manager(), &pipeline(passes))
        .map_err(|error| LoweringError::Mlir(error.to_string()))?;
    manager
        .run(&mut module)
        .map_err(|error| LoweringError::Mlir(error.to_string()))?;
    match target {
        CodeTarget::Object => llvm::object(module.as_operation().to_raw()),
        CodeTarget::Ptx => assembly(&module),
    }
}

/// Returns the assembly text in the GPU binaries of a module.
fn assembly(module: &Module<'_>) -> Result<Vec<u8>, LoweringError> {
    let mut operation = module.body().first_operation();
    while let Some(each) = operation {
        if let Ok(objects) = each.attribute("objects") {
            // SAFETY: the attribute of a binary is a list of objects. Only positions inside the
            // list are accessed. The text is copied while the module still exists.
            unsafe {
                let objects = objects.to_raw();
                if mlirAttributeIsAArray(objects) && mlirArrayAttrGetNumElements(objects) == 1 {
                    let text = mlirGPUObjectAttrGetObject(mlirArrayAttrGetElement(objects, 0));
                    let bytes = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
                    return Ok(bytes.strip_suffix(&[0]).unwrap_or(bytes).to_vec());
                }
            }
        }
        operation = each.next_in_block();
    }
    Err(LoweringError::Mlir("MLIR made no assembly".to_owned()))
}

/// Limits the address space to `bytes`, or to the limit that the user has set, if it is lower.
/// Allocations of the worker then fail before the whole machine runs out of memory.
#[cfg(unix)]
fn limit_addresses(bytes: u64) {
    #[repr(C)]
    struct Limits {
        soft: u64,
        hard: u64,
    }
    unsafe extern "C" {
        fn getrlimit(resource: i32, limits: *mut Limits) -> i32;
        fn setrlimit(resource: i32, limits: *const Limits) -> i32;
    }
    const ADDRESS_SPACE: i32 = if cfg!(target_os = "linux") { 9 } else { 5 };
    let mut limits = Limits {
        soft: u64::MAX,
        hard: u64::MAX,
    };
    // SAFETY: the functions only read and write the two numbers. If `setrlimit` fails, the worker
    // runs without a limit, which is acceptable.
    unsafe {
        getrlimit(ADDRESS_SPACE, &raw mut limits);
        limits.soft = limits.soft.min(bytes);
        limits.hard = limits.hard.min(bytes);
        setrlimit(ADDRESS_SPACE, &raw const limits);
    }
}

#[cfg(not(unix))]
fn limit_addresses(_: u64) {}
