//! Diagnostics of `bnnc emit`.

use crate::stage::Stage;
use bnnc_base::source::Span;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;
use std::collections::HashSet;

codes! {
    /// A stage that does not exist.
    pub NO_STAGE = "E0604", "no such stage":
        "`bnnc emit STAGE FILE` prints one stage of the compilation: tokens, ast, hir, graph, density, training, loops, \
         clif, mlir, ptx, dot. The backend `cranelift` generates `clif`, `mlir` generates `mlir`, and `cuda` generates \
         `ptx`. If `STAGE` is the name of a pass (`bnnc emit loss model.bnn`), the command prints the functions that \
         this pass returns. The command also reads a `.graph` file (one function) or a `.loops` file (a loop \
         program), and prints a later stage of it.\n\n\
         Wrong: `bnnc emit clif --backend mlir model.bnn`, `bnnc emit density model.loops`.\n\n\
         Right: `bnnc emit mlir model.bnn`, `bnnc emit clif model.bnn`, `bnnc emit clif model.loops`.";

    /// A file whose text is not valid for its stage.
    pub BAD_TEXT = "E0615", "not the text of a stage":
        "A file whose name ends in `.graph` holds one function as `bnnc emit training` prints it. A file whose name \
         ends in `.loops` holds the output of `bnnc emit loops`. bnnc can print a probabilistic graph, with `sample` \
         and `observe`, but cannot read it, because the text does not contain the definitions of its distributions.\n\n\
         Wrong: `bnnc emit graph model.bnn > model.graph`, then `bnnc emit loops model.graph`.\n\n\
         Right: `bnnc emit training model.bnn > model.graph`, then `bnnc emit loops model.graph`.";
}

reports! {
    /// Reports a pass that an inference does not run. `ran` lists the passes that it runs. A pass that
    /// runs several times occurs there several times.
    fn no_pass(infer: &InferItem, pass: &str, ran: &[&str])
        let mut seen = HashSet::new();
        let names = ran.iter().copied().filter(|name| seen.insert(*name)).collect::<Vec<_>>();
        = error(NO_STAGE, infer.span, "`{}` does not run the pass `{pass}`", infer.name)
        .label("method `{}`", infer.method.name)
        .help("its passes are {}", names.join(", "));

    /// Reports that the requested stage comes before the stage in the file.
    fn earlier_stage(stage: Stage, held: Stage)
        let stage = stage.name();
        = usage(NO_STAGE, "bnnc cannot make the stage `{stage}` from a `.{}` file", held.name())
        .help("print it from the program: `bnnc emit {stage} FILE.bnn`");

    /// Reports a stage name that does not exist.
    fn no_stage(name: &str)
        = usage(NO_STAGE, "unknown stage `{name}`")
        .suggest(name, Stage::names());

    /// Reports `emit clif` with a backend that does not generate Cranelift code.
    fn no_clif(backend: &str)
        = usage(NO_STAGE, "`clif` is code of the backend `cranelift`, not of `{backend}`")
        .help("leave `--backend` out, or print the code of another backend: `bnnc emit mlir` for `mlir`, `bnnc emit ptx` for `cuda`");
}

reports! {
    /// Reports a graph with distributions. The text of a graph does not contain their definitions.
    fn undefined_distribution(span: Span, name: &str)
        = error(BAD_TEXT, span, "this graph contains the distribution `{name}`, but not its definition")
        .label("a graph of a model, before densities replace its distributions")
        .help("write the graph of a training step, which has no distributions: `bnnc emit training FILE.bnn > FILE.graph`");

    /// Reports a file whose text of a stage cannot be read back.
    fn bad_text(span: Span, message: String)
        = error(BAD_TEXT, span, "{message}")
        .label("not the text of `bnnc emit training` or `bnnc emit loops`")
        .help("write the file anew: `bnnc emit training FILE.bnn > FILE.graph`, or `bnnc emit loops FILE.bnn > FILE.loops`");
}
