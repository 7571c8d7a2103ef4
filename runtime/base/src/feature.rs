//! The diagnostic for a cargo feature that is not included in this build of bnnc.

use crate::diagnostic::{Code, Diagnostic};

/// The program needs a part of bnnc that this build does not include.
pub static NOT_IN_BUILD: Code = Code {
    id: "E0618",
    title: "not in this build",
    explain: "Some parts of bnnc are cargo features, so that a build can leave them out: the method `collapsed`, and the \
              code that runs programs on an NVIDIA GPU (`cuda`). The message names the feature that is missing. Build bnnc \
              and its runtime with this feature, then build your executables (`bnnc build`) again.\n\n\
              Wrong: `infer f = collapsed(M, d)`, with a `bnnc` of `cargo build --release --no-default-features`.\n\n\
              Right: the same with a `bnnc` of `cargo build --release -p bnnc -p bnnc-runner --no-default-features \
              --features collapsed`.",
};

/// Returns the error for a missing part of bnnc. `part` is missing because the cargo feature
/// `feature` is off.
pub fn not_in_build(part: &str, feature: &str) -> Diagnostic {
    Diagnostic::usage(
        &NOT_IN_BUILD,
        format!("this build of bnnc does not include {part}"),
    )
    .label(format!("needs the cargo feature `{feature}`"))
    .help(format!(
        "build it with `cargo build --release -p bnnc -p bnnc-runner --features {feature}`"
    ))
}
