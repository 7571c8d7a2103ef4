//! From text to tokens to a syntax tree, and back.

pub mod ast;
