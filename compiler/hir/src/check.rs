//! From syntax trees to the resolved, typed tree.

use bnnc_abi::settings::Files;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_grammar::ast;
use std::path::PathBuf;

mod activation;
pub mod body;
mod builtins;
pub mod call;
mod compare;
mod data;
mod dist;
mod expr;
pub mod fit;
mod images;
mod infer;
mod items;
mod layer;
mod mentions;
mod model;
pub mod names;
mod operators;
mod optimiser;
mod options;
mod order;
mod outputs;
mod parameterisation;
mod posterior;
mod sample;
mod session;
pub mod solve;
mod statements;
pub mod types;

pub use expr::Want;

use crate::tree::Module;

/// `--set ITEM.KEY=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The infer or data item.
    pub item: String,
    /// The option.
    pub key: String,
    /// The value; its span points into a source of its own.
    pub value: ast::Expr,
}

/// What a check needs besides the program.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// From `--set`, in order; they win over the program.
    pub overrides: Vec<Override>,
    /// The folder against which file names in data items are resolved.
    pub folder: PathBuf,
    /// From `--data NAME=PATH`: the files that replace those of a data item, or by `NAME.test` and `NAME.outliers` these.
    pub data_overrides: Files,
    /// The paths of the library's modules in the same order (`layers/dense.bnn`), which `use` is checked against;
    /// empty where they are not known.
    pub library_paths: Vec<String>,
}

/// Resolves and types a program. Errors never stop later checks.
pub fn check(library: &[ast::Module], program: &ast::Module, context: &Context) -> (Module, Vec<Diagnostic>) {
    session::check(library, program, context)
}
