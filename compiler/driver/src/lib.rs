//! The path from a program text to a manifest that the runtime runs, and the views of every stage between.

mod abreast;
pub mod backends;
pub mod codes;
#[cfg(feature = "collapsed")]
mod collapsed;
mod compare;
pub mod compile;
pub mod concrete;
mod densities;
mod design;
pub mod documented;
pub mod emit;
pub mod infer;
mod intercepts;
mod iterates;
mod laplace;
mod methods;
mod names;
pub mod new_levels;
pub mod observed;
pub mod options;
mod positions;
mod prior;
pub mod program;
pub mod render;
mod sampling;
pub mod stage;
mod start;
mod taken;
mod training;
