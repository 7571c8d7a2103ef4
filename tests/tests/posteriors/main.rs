//! The models of `examples/posteriors` have the densities of the published models. Samplers find
//! their posteriors.
#![allow(clippy::unwrap_used)]

mod by_hand;
mod density;
mod exact;
mod sampled;
