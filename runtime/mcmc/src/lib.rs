//! Markov chains: samplers as serialisable state machines, and what is to be said of their draws.
//!
//! A sampler never sees a model, a machine or a file: it asks for log densities and gradients and is answered
//! ([`seam`]). Whoever runs it decides where the answers come from.

pub mod adapt;
pub mod diagnostics;
pub mod hamiltonian;
pub mod hmc;
pub mod loo;
pub mod metropolis;
pub mod noise;
pub mod nuts;
pub mod penalty;
pub mod registry;
pub mod rows;
pub mod saved;
pub mod schedule;
pub mod seam;
pub mod stochastic_gradient;
pub mod vector;
