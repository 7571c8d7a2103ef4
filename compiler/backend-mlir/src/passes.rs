//! The pass pipelines, as lists with the reason for each pass.

/// A pass of MLIR or LLVM, and the reason for running it.
pub struct MlirPass {
    /// The name and the options of the pass, as in a textual pipeline.
    pub name: &'static str,
    /// The reason why the pass is in the pipeline.
    pub reason: &'static str,
}

/// The passes that turn the text of a module into the LLVM dialect.
pub const TO_LLVM: &[MlirPass] = &[
    MlirPass {
        name: "convert-scf-to-cf",
        reason: "replaces loops and conditionals by blocks and branches, which LLVM's loop passes need",
    },
    MlirPass {
        name: "convert-arith-to-llvm",
        reason: "replaces arithmetic by LLVM's, with the same rounding and the same flags",
    },
    MlirPass {
        name: "convert-cf-to-llvm",
        reason: "replaces branches by those of LLVM",
    },
    MlirPass {
        name: "reconcile-unrealized-casts",
        reason: "removes the casts between the three conversions; a cast that cannot be removed is an error here and not later",
    },
];

/// The passes that turn the text of a GPU module into assembly. Kernels are already functions of the LLVM dialect. The conversion from the `gpu`
/// dialect would turn square roots and similar operations into library calls.
pub const TO_PTX: &[MlirPass] = &[
    MlirPass {
        name: "convert-scf-to-cf",
        reason: "replaces loops and conditionals by blocks and branches",
    },
    MlirPass {
        name: "convert-arith-to-llvm",
        reason: "replaces arithmetic by LLVM's, with the same rounding and the same flags",
    },
    MlirPass {
        name: "convert-cf-to-llvm",
        reason: "replaces branches by those of LLVM",
    },
    MlirPass {
        name: "reconcile-unrealized-casts",
        reason: "removes the casts between the conversions",
    },
    MlirPass {
        name: "gpu-module-to-binary{format=isa}",
        reason: "LLVM optimises the module and writes assembly, which the driver of the processor at hand assembles",
    },
];

/// The passes that optimise LLVM IR before code generation.
pub const OPTIMISE: &[MlirPass] = &[MlirPass {
    name: "default<O3>",
    reason: "moves invariants out of loops, vectorises loops for the host's width, unrolls the other loops and cleans up",
}];

/// Returns the passes as the text of a pipeline.
pub fn pipeline(passes: &[MlirPass]) -> String {
    format!("builtin.module({})", names(passes))
}

/// Returns the names of the passes, separated by commas.
pub fn names(passes: &[MlirPass]) -> String {
    let names: Vec<&str> = passes.iter().map(|pass| pass.name).collect();
    names.join(",")
}
