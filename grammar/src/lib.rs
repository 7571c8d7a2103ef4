//! From text to tokens to a syntax tree, and back.

pub mod ast;
pub mod codes;
pub mod expected;
pub mod lexer;
pub mod parse;
pub mod print;
pub mod report;
pub mod token;

pub use token::is_keyword;

mod brackets;
mod depth;
mod faults;
mod foreign;
mod layout;
mod nodes;
mod recover;
mod rows;

// Generated code is not ours to tidy.
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
