//! The probabilistic graph: typed tensor operations held by a registry, functions over them, and their text form.

pub mod attr;
pub mod builder;
pub mod dist;
pub mod function;
pub mod op;
pub mod tensor;
pub mod types;
