//! What is said where one of several has to be chosen.

use bnnc_base::diagnostic::{Code, Diagnostic};

/// One infer is asked for, and there are several.
pub static WHICH_INFER: Code = Code {
    id: "E0617",
    title: "one of several infers has to be chosen",
    explain: "The run holds results of several infers, and predictions are those of one: `--infer NAME` says which.\n\n```\nbnnc predict \
              folder --data new.csv --infer fit\n```",
};

/// A run of several infers, of which none is named.
pub fn which_infer(names: &[&str]) -> Diagnostic {
    let text = format!(
        "the run holds results of {} infers: {}",
        names.len(),
        names.join(", ")
    );
    Diagnostic::usage(&WHICH_INFER, text).help("say which one is to predict: `--infer NAME`")
}
