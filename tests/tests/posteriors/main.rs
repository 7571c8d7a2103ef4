//! The models of `examples/posteriors`: their densities match those of the published models, and their posteriors are found.
#![allow(clippy::unwrap_used)]

mod by_hand;
mod density;
mod exact;
mod sampled;
