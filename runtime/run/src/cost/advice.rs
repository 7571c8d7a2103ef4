//! The diagnostic for an inference block that needs too much memory. The diagnostic recommends
//! options that need less memory.

use super::fitting::{self, Offer};
use super::{peaks, precision};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_abi::methods::laplace::Laplace;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::diagnostics::{TOO_LITTLE_MEMORY, size};
use bnnc_methods::laplace::memory;

/// Returns the diagnostic for an inference block whose predicted memory is above the limit.
pub fn too_little_memory(manifest: &Manifest, infer: &InferenceBlock, limit: u64) -> Diagnostic {
    let name = &infer.name;
    let text = format!(
        "`{name}` needs {} of memory, but the limit is {}",
        size(infer.cost.peak_bytes),
        size(limit)
    );
    let mut diagnostic = Diagnostic::of_program(&TOO_LITTLE_MEMORY, text);
    let earlier = peaks::earlier(manifest, infer);
    if earlier > 0 {
        let text = format!(
            "of this memory, {} hold the results of earlier inferences",
            size(earlier)
        );
        diagnostic = diagnostic.note(text);
    }
    if peaks::fits_alone(manifest, infer, limit) {
        let help = format!(
            "`{name}` fits into memory without the inferences that it does not need: `--only {name}`"
        );
        diagnostic = diagnostic.help(help);
    }
    match infer.laplace() {
        Some(laplace) => too_large((manifest, infer), laplace, limit, diagnostic),
        None => diagnostic.help(bnnc_methods::of(infer).smaller()),
    }
}

/// Adds advice for a Laplace approximation if its matrices take most of the memory.
fn too_large(
    (manifest, infer): (&Manifest, &InferenceBlock),
    laplace: &Laplace,
    limit: u64,
    mut diagnostic: Diagnostic,
) -> Diagnostic {
    if let Some(bytes) = precision(manifest, infer) {
        diagnostic = diagnostic.note(format!(
            "the {} precision matrix of {} weights alone takes {} of memory",
            memory::name(laplace.options.structure),
            memory::selected(laplace),
            size(bytes)
        ));
    }
    if let Some(bytes) = memory::choosing(laplace) {
        diagnostic = diagnostic.note(format!(
            "`by = marginal` needs the full precision matrix of all {} weights, which alone takes {} of memory",
            memory::all(laplace),
            size(bytes)
        ));
    }
    let offers = fitting::offers(manifest, infer, limit);
    if offers.is_empty() {
        let help = "the smaller approximations that bnnc tried would not fit either: the data, the search and the predictions need too much memory; try a smaller `batch` or fewer `predictive_draws`";
        return diagnostic.help(help);
    }
    offers.iter().fold(diagnostic, |diagnostic, offer| {
        diagnostic.help(match offer {
            Offer::Subnetwork { size, options } => {
                format!("the largest subnetwork that would fit has {size} weights: `{options}`")
            }
            Offer::Chosen(options) => format!("it would fit with a cheaper selection: `{options}`"),
            Offer::Rows(rows) => {
                format!("the largest kernel that would fit has {rows} random rows: `structure = functional({rows})`")
            }
            Offer::Diagonal => "`structure = diagonal` would fit for the same weights".to_owned(),
        })
    })
}
