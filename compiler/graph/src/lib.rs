//! The probabilistic graph. The crate contains a registry of typed tensor operations, functions
//! that consist of these operations, and the text form of functions.

pub mod analysis;
pub mod attr;
pub mod builder;
pub mod diagnostics;
pub mod dist;
pub mod elementwise;
pub mod eval;
pub mod example;
pub mod function;
pub mod higher_order;
pub mod infer;
pub mod interval;
pub mod labels;
pub mod map;
pub mod model;
mod node_images;
pub mod op;
pub mod ops;
pub mod parse;
pub mod print;
pub mod spec;
pub mod tensor;
pub mod types;
pub mod verify;
