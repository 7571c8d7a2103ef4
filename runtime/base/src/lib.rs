//! The basic types that every other crate uses: spans, diagnostics, dtypes, shapes, arenas.
//!
//! These types do not depend on syntax, graphs or backends.

pub mod arena;
pub mod caught;
pub mod checksum;
pub mod diagnostic;
pub mod diagnostics;
pub mod dtype;
pub mod fault;
pub mod named;
pub mod nearest;
pub mod number;
pub mod quoted;
pub mod render;
pub mod shape;
pub mod source;
pub mod spellings;
pub mod support;
pub mod synonyms;
pub mod text;
pub mod threads;
