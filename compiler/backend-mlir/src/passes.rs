//! The passes of MLIR and LLVM. The comment on each pass gives the reason for it.

/// The passes that turn the text of a module into the LLVM dialect.
pub const TO_LLVM: &[&str] = &[
    // Replaces loops and conditionals by blocks and branches, which the loop passes of LLVM need.
    "convert-scf-to-cf",
    // Replaces operations of the arithmetic dialect by operations of LLVM, with the same rounding
    // and the same flags.
    "convert-arith-to-llvm",
    // Replaces branches by branches of LLVM.
    "convert-cf-to-llvm",
    // Removes the casts that the three conversions leave. A cast that cannot be removed causes an
    // error already here.
    "reconcile-unrealized-casts",
];

/// The passes that turn the text of a GPU module into assembly. Kernels are already functions of
/// the LLVM dialect. The conversion from the `gpu` dialect is not used, because it would turn
/// square roots and similar operations into library calls.
pub const TO_PTX: &[&str] = &[
    // Replaces loops and conditionals by blocks and branches.
    "convert-scf-to-cf",
    // Replaces operations of the arithmetic dialect by operations of LLVM, with the same rounding
    // and the same flags.
    "convert-arith-to-llvm",
    // Replaces branches by branches of LLVM.
    "convert-cf-to-llvm",
    // Removes the casts that the conversions leave.
    "reconcile-unrealized-casts",
    // Optimises the module with LLVM and writes assembly. The GPU driver of the machine that runs
    // the program assembles it.
    "gpu-module-to-binary{format=isa}",
];

/// The passes that optimise LLVM IR before code generation. They move invariants out of loops,
/// vectorise loops for the vector width of the host, unroll other loops, and remove unused code.
pub const OPTIMISE: &str = "default<O3>";

/// Returns the passes as the text of a pass pipeline.
pub fn pipeline(passes: &[&str]) -> String {
    format!("builtin.module({})", passes.join(","))
}
