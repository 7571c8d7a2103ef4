//! The codes of all diagnostics that a run can report.

use bnnc_base::diagnostic::Code;

/// Returns the codes of all crates that a run uses, including the codes of the inference methods.
pub fn all() -> impl Iterator<Item = &'static Code> {
    let lists = [
        bnnc_core::diagnostics::CODES,
        bnnc_training::diagnostics::CODES,
        bnnc_inference::diagnostics::CODES,
        bnnc_audit::diagnostics::CODES,
    ];
    lists.into_iter().flatten().copied().chain(bnnc_methods::codes())
}
