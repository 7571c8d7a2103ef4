//! The vocabulary every other crate speaks: spans, diagnostics, dtypes, shapes, scalar operations, arenas.
//!
//! Nothing here knows about syntax, graphs or backends.

pub mod approx;
pub mod arena;
pub mod checksum;
pub mod diagnostic;
pub mod dtype;
pub mod fault;
pub mod gamma;
pub mod nearest;
pub mod philox;
pub mod render;
pub mod scalar;
pub mod shape;
pub mod source;
pub mod special;
pub mod support;
pub mod synonyms;
pub mod text;
