//! The passes of MLIR and LLVM, with the reason for each.

/// The passes that turn the text of a module into the LLVM dialect.
pub const TO_LLVM: &[&str] = &[
    // Replaces loops and conditionals by blocks and branches, which LLVM's loop passes need.
    "convert-scf-to-cf",
    // Replaces arithmetic by LLVM's, with the same rounding and the same flags.
    "convert-arith-to-llvm",
    // Replaces branches by those of LLVM.
    "convert-cf-to-llvm",
    // Removes the casts between the three conversions; a cast that cannot be removed is an error here and not later.
    "reconcile-unrealized-casts",
];

/// The passes that turn the text of a GPU module into assembly. Kernels are already functions of the LLVM dialect. The conversion from the `gpu`
/// dialect would turn square roots and similar operations into library calls.
pub const TO_PTX: &[&str] = &[
    // Replaces loops and conditionals by blocks and branches.
    "convert-scf-to-cf",
    // Replaces arithmetic by LLVM's, with the same rounding and the same flags.
    "convert-arith-to-llvm",
    // Replaces branches by those of LLVM.
    "convert-cf-to-llvm",
    // Removes the casts between the conversions.
    "reconcile-unrealized-casts",
    // LLVM optimises the module and writes assembly, which the driver of the processor at hand assembles.
    "gpu-module-to-binary{format=isa}",
];

/// The passes that optimise LLVM IR before code generation. They move invariants out of loops, vectorise loops for the host's width, unroll the
/// other loops and clean up.
pub const OPTIMISE: &str = "default<O3>";

/// Returns the passes as the text of a pipeline.
pub fn pipeline(passes: &[&str]) -> String {
    format!("builtin.module({})", passes.join(","))
}
