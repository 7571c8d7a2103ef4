//! The semantic analysis: turns syntax trees into the resolved, typed tree.

use bnnc_abi::settings::Files;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_grammar::ast;
use std::path::PathBuf;

mod activation;
pub mod body;
mod builtins;
pub mod call;
mod compare;
mod compose;
mod data;
mod dist;
mod expr;
pub mod fit;
mod fold;
mod images;
mod infer;
mod items;
mod layer;
pub mod made;
mod mentions;
mod model;
pub mod names;
mod operators;
mod optimiser;
mod options;
mod order;
mod output_uses;
mod outputs;
mod parameterisation;
mod posterior;
mod prior_support;
mod program;
mod sample;
mod session;
pub mod solve;
mod statements;
pub mod types;

pub use data::options as data_options;
pub use expr::Want;
pub use parameterisation::applied_twice_to_data;

use crate::tree::Module;

/// An option that is set on the command line with `--set ITEM.KEY=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The name of the `infer` or `data` item.
    pub item: String,
    /// The option.
    pub key: String,
    /// The value, as an expression. Its source contains nothing else.
    pub value: ast::Expr,
}

/// The items of the library that a check covers. All names of the library are known in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LibraryItems {
    /// All items.
    #[default]
    Whole,
    /// The items that the program needs, directly or through other items, and those that the compiler itself uses: the constants,
    /// the optimisers, and the families of point estimates. All other items stay without content. This is enough to compile the program,
    /// and takes a fraction of the time.
    Reached,
}

/// The inputs of a check, apart from the program.
#[derive(Clone, Debug, Default)]
pub struct CheckContext {
    /// The options from `--set`, in the order of the command line. They take precedence over the
    /// options in the program.
    pub overrides: Vec<Override>,
    /// The folder to which relative file names in data items refer.
    pub folder: PathBuf,
    /// The files from `--data NAME=PATH`. The file at `PATH` replaces the files of the data item
    /// `NAME`. For the names `NAME.test` and `NAME.outliers`, it replaces the files of test rows
    /// and of outliers.
    pub data_overrides: Files,
    /// The paths of the library's modules, such as `layers/dense.bnn`, in the same order as the
    /// modules. They are needed to check `use` items. The list is empty if the paths are not known.
    pub library_paths: Vec<String>,
    /// The items of the library to check.
    pub library_items: LibraryItems,
}

/// Resolves and types a program. After an error, the checker continues with the remaining checks.
pub fn check(
    library: &[ast::SourceFile],
    program: &ast::SourceFile,
    context: &CheckContext,
) -> (Module, Vec<Diagnostic>) {
    program::check(library, program, context)
}
