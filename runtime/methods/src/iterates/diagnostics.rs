//! The diagnostics of ensembles.

use bnnc_base::codes;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::diagnostics::data_warning;

codes! {
    ONE_MEMBER = "E0584", "an ensemble of one member":
        "The uncertainty of an ensemble is the spread of its members. With one member, the spread is zero, and the predictions are the \
         predictions of `map`.\n\nWrong: `ensemble(Model, \
         data) { members = 1 }`.\n\nRight: `members = 5`.";
}

/// A warning: the ensemble has only one member, so its predictions do not have a spread.
pub fn one_member(infer: &str) -> Diagnostic {
    let text = format!("`{infer}` is an ensemble of one member: its predictions have no spread");
    data_warning(&ONE_MEMBER, text).help("train several members: `members = 5`")
}
