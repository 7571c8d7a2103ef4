//! The diagnostic for a command that needs one inference of a run with several inferences.

use bnnc_base::codes;
use bnnc_base::diagnostic::Diagnostic;

codes! {
    /// The run has several inferences, and the command needs the name of one of them.
    pub WHICH_INFER = "E0617", "an inference must be chosen":
        "The run holds results of several inferences. Choose the inference to predict with by `--infer NAME`.\n\n\
         ```\nbnnc predict folder --data new.csv --infer fit\n```";
}

/// Reports that `--infer` is missing for a run with several inferences.
pub fn which_infer(names: &[&str]) -> Diagnostic {
    let text = format!(
        "the run holds results of {} inferences: {}",
        names.len(),
        names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    Diagnostic::usage(&WHICH_INFER, text).help("choose one: `--infer NAME`")
}
