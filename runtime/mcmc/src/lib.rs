//! Markov chain Monte Carlo: samplers and the diagnostics of their draws. Samplers are serialisable
//! state machines.
//!
//! A sampler does not access models, devices or files. A sampler requests log densities and
//! gradients ([`seam`]), and its caller computes these.

pub mod adapt;
pub mod diagnostics;
pub mod hamiltonian;
pub mod loo;
pub mod noise;
pub mod rows;
pub mod samplers;
pub mod saved;
pub mod schedule;
pub mod seam;
pub mod setup;
pub mod vector;
