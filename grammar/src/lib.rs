//! The lexer, the parser, the syntax tree and the formatter of the language.

pub mod ast;
pub mod diagnostics;
pub mod expected;
pub mod lexer;
pub mod parse;
pub mod print;
pub mod token;
pub mod walk;

pub use token::is_keyword;

mod brackets;
mod depth;
mod faults;
mod foreign;
mod layout;
mod nodes;
mod recover;
mod rows;

// The lints of this workspace do not apply to the generated parser.
#[allow(
    clippy::all,
    clippy::too_many_lines,
    clippy::unwrap_used,
    missing_docs,
    unused
)]
mod grammar {
    lalrpop_util::lalrpop_mod!(bnn);
    pub use bnn::ItemsParser;
}
