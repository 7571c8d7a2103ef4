//! The diagnostics of ensembles.

use bnnc_base::{codes, reports};

codes! {
    ONE_MEMBER = "E0584", "an ensemble of one member":
        "The uncertainty of an ensemble is the spread of its members. With one member, the spread is zero, and the predictions are the \
         predictions of `map`.\n\nWrong: `ensemble(Model, \
         data) { members = 1 }`.\n\nRight: `members = 5`.";
}

reports! {
    /// A warning: the ensemble has only one member, so its predictions do not have a spread.
    fn one_member(infer: &str)
        = data_warning(ONE_MEMBER, "`{infer}` is an ensemble of one member: its predictions have no spread")
        .help("train several members: `members = 5`");
}
