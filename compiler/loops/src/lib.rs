//! The loop IR: kernels over rectangular domains, and the plan that launches them.

pub mod backend;
pub mod ir;
