//! The pass pipelines, as lists with reasons.

/// A pass by its name in MLIR or LLVM, and what it is there for.
pub struct MlirPass {
    /// As in a textual pipeline, with options.
    pub name: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// From the text of a module to the LLVM dialect.
pub const TO_LLVM: &[MlirPass] = &[
    MlirPass {
        name: "convert-scf-to-cf",
        reason: "loops and conditionals become blocks and branches, which LLVM's loop passes look for",
    },
    MlirPass {
        name: "convert-arith-to-llvm",
        reason: "arithmetic becomes that of LLVM, with the same rounding and the same flags",
    },
    MlirPass {
        name: "convert-cf-to-llvm",
        reason: "branches become those of LLVM",
    },
    MlirPass {
        name: "reconcile-unrealized-casts",
        reason: "the three conversions meet in casts that must cancel; one that does not is an error here and not later",
    },
];

/// From the text of a module for graphics processors to assembly. Kernels are functions of the LLVM dialect already: the
/// conversion from the `gpu` dialect would turn square roots and the like into calls of a library.
pub const TO_PTX: &[MlirPass] = &[
    MlirPass {
        name: "convert-scf-to-cf",
        reason: "loops and conditionals become blocks and branches",
    },
    MlirPass {
        name: "convert-arith-to-llvm",
        reason: "arithmetic becomes that of LLVM, with the same rounding and the same flags",
    },
    MlirPass {
        name: "convert-cf-to-llvm",
        reason: "branches become those of LLVM",
    },
    MlirPass {
        name: "reconcile-unrealized-casts",
        reason: "the conversions meet in casts that must cancel",
    },
    MlirPass {
        name: "gpu-module-to-binary{format=isa}",
        reason: "LLVM optimises the module and writes assembly, which the driver of the processor at hand assembles",
    },
];

/// From LLVM's form to what machine code is made of.
pub const OPTIMISE: &[MlirPass] = &[MlirPass {
    name: "default<O3>",
    reason: "invariants leave loops, loops become vectors of the host's width, the rest is unrolled and cleaned up",
}];

/// The passes of a module, as text.
pub fn pipeline(passes: &[MlirPass]) -> String {
    format!("builtin.module({})", names(passes))
}

/// The passes, with commas.
pub fn names(passes: &[MlirPass]) -> String {
    let names: Vec<&str> = passes.iter().map(|pass| pass.name).collect();
    names.join(",")
}
