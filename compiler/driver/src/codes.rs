//! Every diagnostic code of the compiler, and those of the command line.

use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_hir::tree::InferItem;
use std::sync::Arc;

/// `--set` without an item, a key and a value.
pub static BAD_SETTING: Code = Code {
    id: "E0601",
    title: "bad setting",
    explain: "`--set` takes `ITEM.KEY=VALUE`: the name of an `infer` or `data` item, one of its options, and a value as it \
              would be written in the file.\n\n```\nbnnc model.bnn --set radial.epochs=10 --set yacht.split=7\n```",
};

/// A backend that this build does not have.
pub static NO_BACKEND: Code = Code {
    id: "E0602",
    title: "no such backend",
    explain: "`--backend` names a code generator of this build. `cranelift` compiles for this machine's processor; \
              `reference` is a slow interpreter in double precision, made to check the other.",
};

/// An infer that does not exist.
pub static NO_INFER: Code = Code {
    id: "E0603",
    title: "no such infer",
    explain: "`--only` and `--infer` take names of `infer` items of the program.",
};

/// A stage that does not exist.
pub static NO_STAGE: Code = Code {
    id: "E0604",
    title: "no such stage",
    explain: "`bnnc emit STAGE FILE` prints one stage of the compilation: tokens, ast, hir, graph, density, loops, clif, dot.",
};

/// A file that cannot be read.
pub static NO_FILE: Code = Code {
    id: "E0605",
    title: "cannot read the program",
    explain: "The program file named on the command line does not exist or is not readable UTF-8 text.",
};

/// Nothing to run.
pub static NO_INFERS: Code = Code {
    id: "E0606",
    title: "nothing to run",
    explain: "A program without an `infer` item declares things but asks for nothing. Add, for example, \
              `infer fit = vi(Posterior, data) { epochs = 100 }`.",
};

/// A command of the prompt that does not exist or is used wrongly.
pub static BAD_COMMAND: Code = Code {
    id: "E0607",
    title: "bad command",
    explain: "At the prompt a line that starts with `:` is a command. `:help` lists the commands and what they take; arguments \
              are separated by blanks, so an expression with blanks goes into parentheses.\n\n```\n:kl Normal(0, 1) Laplace(0, 1)\n:draw Normal(0, 1) 1000\n```",
};

/// A rewrite that does not exist.
pub static NO_REWRITE: Code = Code {
    id: "E0608",
    title: "no such rewrite",
    explain: "`--without` names a rewrite to switch off, for example `--without exact-kl`. `--trace-rewrites` shows the names \
              of those that fire.",
};

/// `patience` without rows to watch.
pub static NO_VALIDATION: Code = Code {
    id: "E0609",
    title: "patience without validation rows",
    explain: "`patience` stops a fit when the log likelihood of the validation rows no longer improves, so the data item must \
              hold some rows out.\n\nWrong: `infer fit = vi(Q, d) { patience = 10 }` with `data d = csv(\"d.csv\")`.\n\n\
              Right: `data d = csv(\"d.csv\") { validation = 0.1 }`.",
};

/// `prune` without a site that has weights.
pub static NOTHING_TO_PRUNE: Code = Code {
    id: "E0610",
    title: "nothing to prune",
    explain: "`prune` ranks weights by the ratio of mean and standard deviation under the posterior and sets the lowest to \
              zero. That takes sites on the reals whose family states a mean and a variance.\n\n\
              Wrong: `w ~ Cauchy(0, 0.1)` in the posterior of a model with no other site.\n\nRight: `w ~ Normal(0, 0.1)`.",
};

/// A port that cannot be served on.
pub static NO_PORT: Code = Code {
    id: "E0611",
    title: "no such port",
    explain: "`bnnc explore` serves its page on a port of this machine alone. Another program may hold the port, or ports below \
              1024 may need rights.\n\nWrong: `bnnc explore --port 80`.\n\nRight: `bnnc explore --port 0`, which takes a free one.",
};

static OWN: &[&Code] = &[
    &NO_PORT,
    &NOTHING_TO_PRUNE,
    &NO_REWRITE,
    &NO_VALIDATION,
    &BAD_COMMAND,
    &BAD_SETTING,
    &NO_BACKEND,
    &NO_INFER,
    &NO_STAGE,
    &NO_FILE,
    &NO_INFERS,
];

/// Every code that this crate and those below it can raise.
pub fn all() -> Vec<&'static Code> {
    let lists = [
        bnnc_grammar::report::CODES,
        bnnc_hir::report::CODES,
        bnnc_rewrite::report::CODES,
        OWN,
    ];
    let elaborate = [
        &bnnc_hir::elaborate::model::LIMIT,
        &bnnc_hir::elaborate::model::NO_PART,
        &bnnc_hir::elaborate::posterior::TOO_LARGE,
        &bnnc_hir::elaborate::bind::NO_COLUMN,
        &bnnc_hir::elaborate::bind::WRONG_COLUMN,
    ];
    let mut codes: Vec<&'static Code> = lists.concat();
    codes.extend(elaborate);
    codes.sort_by_key(|code| code.id);
    codes
}

/// A backend that does not exist.
pub fn no_backend(name: &str) -> Diagnostic {
    Diagnostic::usage(&NO_BACKEND, format!("there is no backend `{name}`"))
        .suggest(name, super::backends::names())
        .note(format!("this build has {}", super::backends::names().join(", ")))
}

/// No site of the posterior has weights.
pub fn nothing_to_prune(infer: &InferItem, untouched: &[(Arc<str>, String)]) -> Diagnostic {
    let span = infer.options.iter().find(|setting| &*setting.name == "prune");
    let span = span.map_or(infer.span, |setting| setting.span);
    let text = format!("no site of `{}` can be pruned", infer.name);
    let diagnostic = Diagnostic::error(&NOTHING_TO_PRUNE, span, text).label("asked for here");
    untouched.iter().fold(diagnostic, |diagnostic, (site, why)| {
        diagnostic.note(format!("`{site}` stays: {why}"))
    })
}

/// A rewrite that does not exist.
pub fn no_rewrite(name: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::usage(&NO_REWRITE, format!("there is no rewrite `{name}`"))
        .suggest(name, known.iter().copied())
        .note(format!("the rewrites are {}", known.join(", ")))
}

/// An infer that does not exist.
pub fn no_infer(name: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::usage(&NO_INFER, format!("there is no infer `{name}`"))
        .suggest(name, known.iter().copied())
        .note(format!("the program has {}", known.join(", ")))
}
