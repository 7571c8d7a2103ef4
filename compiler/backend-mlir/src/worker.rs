//! The inside of a worker process: a module's text in, an artefact out.

use crate::llvm;
use crate::passes::{TO_LLVM, pipeline};
use crate::protocol::{Request, Target, frame};
use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::pass::PassManager;
use melior::utility::{
    parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes,
};
use std::io::{Read, Write};

/// Does what the arguments after the subcommand say; returns the exit status.
pub fn run(arguments: &[String]) -> u8 {
    let Some(request) = Request::parse(arguments) else {
        eprintln!("an MLIR worker takes a target and a number of bytes");
        return 2;
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

fn answer(target: Target) -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot read the module: {error}"))?;
    let artefact = lower(&text, target)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&frame(&artefact))
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot answer: {error}"))
}

/// Lowers a module in this process.
///
/// # Errors
/// What MLIR or LLVM complain about.
pub fn lower(text: &str, target: Target) -> Result<Vec<u8>, String> {
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
    let mut module = Module::parse(&context, text).ok_or("MLIR does not accept the module")?;
    let passes = match target {
        Target::Object => TO_LLVM,
    };
    let manager = PassManager::new(&context);
    manager.enable_verifier(true);
    parse_pass_pipeline(manager.as_operation_pass_manager(), &pipeline(passes))
        .map_err(|error| error.to_string())?;
    manager.run(&mut module).map_err(|error| error.to_string())?;
    match target {
        Target::Object => llvm::object(module.as_operation().to_raw()),
    }
}

/// Beyond this many bytes allocations fail, here and not in the whole machine.
#[cfg(unix)]
fn limit_addresses(bytes: u64) {
    #[repr(C)]
    struct Limits {
        soft: u64,
        hard: u64,
    }
    unsafe extern "C" {
        fn setrlimit(resource: i32, limits: *const Limits) -> i32;
    }
    const ADDRESS_SPACE: i32 = if cfg!(target_os = "linux") { 9 } else { 5 };
    let limits = Limits {
        soft: bytes,
        hard: bytes,
    };
    // SAFETY: the function only reads the two numbers. Where it fails there is no limit, which is no error.
    unsafe { setrlimit(ADDRESS_SPACE, &raw const limits) };
}

#[cfg(not(unix))]
fn limit_addresses(_: u64) {}
