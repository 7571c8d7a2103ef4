//! Compiles the text of a program to a manifest, which the runtime executes. This crate also prints
//! every intermediate stage as text.

mod augment;
pub mod backends;
mod background;
pub mod compare;
mod compilation;
pub mod compile;
pub mod concrete;
mod densities;
mod design;
pub mod diagnostics;
pub mod emit;
mod endless;
mod failure;
pub mod infer;
mod intercepts;
pub mod manual;
mod methods;
mod names;
pub mod new_levels;
pub mod observed;
pub mod options;
mod positions;
mod prior;
pub mod program;
pub mod render;
mod running;
pub mod stage;
mod start;
