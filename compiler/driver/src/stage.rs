//! The stages of a compilation: a fixed list, and one stage for each pass.

use bnnc_rewrite::pipelines;

/// A stage that `bnnc emit` can print, in the order of the compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// One token per line.
    Tokens,
    /// The parsed program, formatted.
    Ast,
    /// The program with every type written out.
    Hir,
    /// The probabilistic graph of each model.
    Graph,
    /// The density functions of each model.
    Density,
    /// The function that computes a training step or a sampler's log density, reduced to operations
    /// that kernels compute.
    Training,
    /// The loop program of the function at the stage `training`.
    Loops,
    /// The code of the loop program as Cranelift prints it.
    Clif,
    /// The MLIR module of the loop program.
    Mlir,
    /// The GPU code in PTX, and the launches of its kernels.
    Ptx,
    /// The probabilistic graph in the format of Graphviz.
    Dot,
    /// The functions that result from this pass.
    After(&'static str),
}

impl Stage {
    /// Every stage, except the stages that belong to passes.
    pub const ALL: [Stage; 11] = [
        Stage::Tokens,
        Stage::Ast,
        Stage::Hir,
        Stage::Graph,
        Stage::Density,
        Stage::Training,
        Stage::Loops,
        Stage::Clif,
        Stage::Mlir,
        Stage::Ptx,
        Stage::Dot,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Hir => "hir",
            Stage::Graph => "graph",
            Stage::Density => "density",
            Stage::Training => "training",
            Stage::Loops => "loops",
            Stage::Clif => "clif",
            Stage::Mlir => "mlir",
            Stage::Ptx => "ptx",
            Stage::Dot => "dot",
            Stage::After(pass) => pass,
        }
    }

    /// Returns the names of all stages, followed by the names of all passes.
    pub fn names() -> Vec<&'static str> {
        let stages = Stage::ALL.iter().map(|stage| stage.name());
        stages
            .chain(pipelines::ALL.iter().map(|pass| pass.name))
            .collect()
    }

    /// Returns the stage with this name.
    pub fn from_name(name: &str) -> Option<Stage> {
        let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
        stage.or_else(|| pipelines::lookup(name).map(|pass| Stage::After(pass.name)))
    }
}
