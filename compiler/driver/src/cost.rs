//! Sizes that the cost report assumes.

use bnnc_abi::manifest::Training;
use bnnc_base::shape::{Sizes, Symbol};

/// The sizes of a training step.
pub fn sizes(options: &Training, rows: usize) -> Sizes {
    let batch = if options.batch == 0 {
        rows
    } else {
        options.batch.min(rows)
    };
    Sizes::default()
        .with(Symbol::Batch, batch.max(1))
        .with(Symbol::Draws, options.samples)
        .with(Symbol::KlDraws, options.kl_draws.max(1))
        .with(Symbol::Examples, rows)
}
