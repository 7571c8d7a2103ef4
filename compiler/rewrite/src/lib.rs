//! Passes and rules that transform the graph. The passes compute derivatives, batches,
//! densities, KL divergences, and the objectives of the inference methods.

pub mod batch;
pub mod constrain;
pub mod density;
pub mod diagnostics;
pub mod differentiate;
pub mod group;
pub mod kl;
pub mod methods;
pub mod nodes;
mod parallel;
pub mod pass;
pub mod pipeline;
pub mod pipelines;
pub mod recurrence;
pub mod rule;
pub mod rules;
pub mod simplify;
pub mod term;
pub mod unroll;

#[cfg(test)]
mod tests;
