//! The closed list of stages.

/// What `bnnc emit` can print, in order of the compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// One token per line.
    Tokens,
    /// The program as parsed, formatted.
    Ast,
    /// The program with every type written out.
    Hir,
    /// The probabilistic graph of each model.
    Graph,
    /// The density functions of each model.
    Density,
    /// The loop program of a training step.
    Loops,
    /// Cranelift's text of it.
    Clif,
    /// MLIR of it.
    Mlir,
    /// Code of it for a graphics processor, and what is to be launched.
    Ptx,
    /// The graph for graphviz.
    Dot,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Stage; 10] = [
        Stage::Tokens,
        Stage::Ast,
        Stage::Hir,
        Stage::Graph,
        Stage::Density,
        Stage::Loops,
        Stage::Clif,
        Stage::Mlir,
        Stage::Ptx,
        Stage::Dot,
    ];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Hir => "hir",
            Stage::Graph => "graph",
            Stage::Density => "density",
            Stage::Loops => "loops",
            Stage::Clif => "clif",
            Stage::Mlir => "mlir",
            Stage::Ptx => "ptx",
            Stage::Dot => "dot",
        }
    }

    /// The stage with this name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}
