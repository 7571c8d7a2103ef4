//! The diagnostic for a command that needs one inference of a run with several inferences.

use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};

codes! {
    /// The run has several inferences, and the command needs the name of one of them.
    pub WHICH_INFER = "E0617", "an inference must be chosen":
        "The run holds results of several inferences. Choose the inference to predict with by `--infer NAME`.\n\n\
         ```\nbnnc predict folder --data new.csv --infer fit\n```";
}

reports! {
    /// Reports that `--infer` is missing for a run with several inferences.
    fn which_infer(names: &[&str])
        = usage(WHICH_INFER,
            "the run holds results of {} inferences: {}", names.len(), quoted(names))
        .help("choose one: `--infer NAME`");
}
