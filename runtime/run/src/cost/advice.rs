//! The diagnostic for an inference block that needs too much memory. The diagnostic recommends
//! options that need less memory.

use super::fitting::{self, Offer};
use super::{peaks, precision};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_base::reports;
use bnnc_core::diagnostics::{TOO_LITTLE_MEMORY, size};
use bnnc_methods::laplace::memory;

reports! {
    /// Returns the diagnostic for an inference block whose predicted memory is above the limit.
    fn too_little_memory(manifest: &Manifest, infer: &InferenceBlock, limit: u64)
        let name = &infer.name;
        let earlier = Some(peaks::earlier(manifest, infer)).filter(|bytes| *bytes > 0);
        let fits_alone = peaks::fits_alone(manifest, infer, limit);
        let choosing = infer.laplace().and_then(|laplace| Some((laplace, memory::choosing(laplace)?)));
        = of_program(TOO_LITTLE_MEMORY, "`{name}` needs {} of memory, but the limit is {}", size(infer.cost.peak_bytes), size(limit))
        .notes(earlier.map(|bytes| format!("of this memory, {} hold the results of earlier inferences", size(bytes))))
        .notes(precision(manifest, infer).zip(infer.laplace()).map(|(bytes, laplace)| format!(
            "the {} precision matrix of {} weights alone takes {} of memory",
            memory::name(laplace.options.structure), memory::selected(laplace), size(bytes))))
        .notes(choosing.map(|(laplace, bytes)| format!(
            "`by = marginal` needs the full precision matrix of all {} weights, which alone takes {} of memory",
            memory::all(laplace), size(bytes))))
        .help_if(fits_alone.then(|| format!("`{name}` fits into memory without the inferences that it does not need: `--only {name}`")))
        .helps(match infer.laplace() {
            Some(_) => smaller(&fitting::offers(manifest, infer, limit)),
            None => vec![bnnc_methods::of(infer).smaller().to_owned()],
        });
}

/// Returns the advice for a Laplace approximation. The advice consists of options with which the approximation would fit.
fn smaller(offers: &[Offer]) -> Vec<String> {
    if offers.is_empty() {
        let help = "the smaller approximations that bnnc tried would not fit either: the data, the search and the predictions need too much memory; try a smaller `batch` or fewer `predictive_draws`";
        return vec![help.to_owned()];
    }
    let text = |offer: &Offer| match offer {
        Offer::Subnetwork { size, options } => {
            format!("the largest subnetwork that would fit has {size} weights: `{options}`")
        }
        Offer::Chosen(options) => format!("it would fit with a cheaper selection: `{options}`"),
        Offer::Rows(rows) => {
            format!(
                "the largest kernel that would fit has {rows} random rows: `structure = functional({rows})`"
            )
        }
        Offer::Diagonal => "`structure = diagonal` would fit for the same weights".to_owned(),
    };
    offers.iter().map(text).collect()
}
