//! The diagnostics of ensembles.

use bnnc_base::diagnostic::{Code, Diagnostic, FaultyInput, Severity};
use bnnc_core::diagnostics::error;

/// All codes of this file, sorted.
pub static CODES: &[&Code] = &[&ONE_MEMBER];

static ONE_MEMBER: Code = Code {
    id: "E0584",
    title: "an ensemble of one member",
    explain: "The uncertainty of an ensemble is the spread of its members. One member has no spread: the predictions are those of `map`.\n\nWrong: `ensemble(Model, \
              data) { members = 1 }`.\n\nRight: `members = 5`.",
};

fn warn(code: &'static Code, text: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..error(code, FaultyInput::Data, text)
    }
}

/// An ensemble without spread.
pub fn one_member(infer: &str) -> Diagnostic {
    let text = format!("`{infer}` is an ensemble of one member: its predictions have no spread");
    warn(&ONE_MEMBER, text).help("train several members: `members = 5`")
}
