//! The codes of all diagnostics that a run can report.

use bnnc_base::diagnostic::Code;

/// Returns the codes of all crates that a run uses, including the codes of the inference methods.
pub fn all() -> impl Iterator<Item = &'static Code> {
    static MODULES: &[&[&[&Code]]] = &[
        bnnc_core::diagnostics::CODES,
        bnnc_training::diagnostics::CODES,
        bnnc_audit::diagnostics::CODES,
        &[bnnc_inference::diagnostics::CODES],
    ];
    let of_crates = MODULES.iter().copied().flatten().copied().flatten().copied();
    of_crates.chain(bnnc_methods::codes())
}
