//! Compiles programs for GPUs. Writes the kernels and primitives as the text of one `gpu.module`,
//! and describes how they are launched.
//!
//! `mapping` distributes the points of a kernel among threads, `kernel` emits the parts of kernels
//! as functions, and `primitives` emits the primitives that plans call. All functions are emitted
//! in the LLVM dialect. Their only intrinsics are the few that return the position of a thread.
//! Elementary functions are inlined from recordings, so no device library is
//! needed.

mod backend;
pub mod chip;
pub(crate) mod gamma;
mod kernel;
mod mapping;
mod primitives;

pub use backend::Cuda;

use crate::access;
use crate::backend::Mlir;
use crate::call::Needs;
use crate::protocol::CodeTarget;
use crate::text::Text;
use bnnc_abi::device::{self, Image, LaunchSequence};
use bnnc_base::fault::Fault;
use bnnc_loops::ir::LoopProgram;
use chip::Chip;
use kernel::Function;

/// Returns the text of a module for the GPU `chip`, and the device program that launches this
/// module. It does not contain an image yet.
///
/// # Errors
/// Returns [`Fault::Limit`] if the program needs a primitive that is not available on GPUs.
pub fn module(program: &LoopProgram, chip: Chip) -> Result<(String, device::DeviceProgram), Fault> {
    let mut text = Text::default();
    let mut needs = Needs::default();
    text.open("module attributes {gpu.container_module} {");
    text.open(format_args!(
        "gpu.module @kernels [#nvvm.target<chip = \"{}\", features = \"{}\", O = 3>] {{",
        chip.name, chip.features
    ));
    let mut kernels = Vec::new();
    for (number, kernel) in program.kernels.iter().enumerate() {
        text.line(format_args!("// kernel {number} {:?}", kernel.name));
        let shared = access::shared(&program.plan, number as u32);
        let parts = mapping::parts(kernel, &shared);
        let several = parts.len() > 1;
        let part = |(at, part)| {
            let symbol = match several {
                true => format!("kernel_{number}_{at}"),
                false => format!("kernel_{number}"),
            };
            let function = Function {
                kernel,
                part,
                precision: program.plan.precision,
                distinct: shared.is_empty(),
            };
            function.emit((&mut text, &mut needs), symbol)
        };
        let entries: Vec<_> = parts.iter().enumerate().flat_map(part).collect();
        // The parts run one after another, so they can use the same scratch memory.
        let scratch = parts.iter().map(|part| kernel::scratch_bytes(kernel, part)).max();
        kernels.push(LaunchSequence {
            entries,
            scratch: device::Count::Fixed(scratch.unwrap_or(0)),
        });
    }
    let routines = primitives::emit(&program.plan, &mut text);
    kernel::fills(&kernels, program.plan.precision, &mut text);
    for function in &needs.approximations {
        function.define(&mut text, program.plan.precision, true);
    }
    text.close("}");
    text.close("}");
    let launched = device::DeviceProgram {
        images: Vec::new(),
        kernels,
        routines: routines?,
    };
    Ok((text.finish(), launched))
}

/// Compiles a program in a worker, for the GPU `chip` and later GPUs.
///
/// # Errors
/// Fails in the same cases as [`module`], or if the worker fails.
pub fn compile(mlir: &Mlir, program: &LoopProgram, chip: Chip) -> Result<device::DeviceProgram, Fault> {
    let (text, mut launched) = module(program, chip)?;
    let assembly = mlir.worker()?.lower(&text, CodeTarget::Ptx)?;
    let ptx = String::from_utf8(assembly)
        .map_err(|_| Fault::Bug("the assembly code for a GPU is not UTF-8 text".to_owned()))?;
    launched.images.push(Image {
        capability: chip.capability,
        ptx: ptx.into(),
    });
    launched.verify(&program.plan)?;
    Ok(launched)
}
