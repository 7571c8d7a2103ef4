//! What names hold at the prompt.

use bnnc_base::dtype::DType;
use bnnc_grammar::ast;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::tree::{Expr, LocalId};
use std::sync::Arc;

/// A name with its meaning. A later one of the same name hides an earlier one.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name.
    pub name: Arc<str>,
    /// The checked variable.
    pub local: LocalId,
    /// As typed: checked and computed again when an item is defined anew.
    pub written: ast::Stmt,
    /// Which draw it took.
    pub draw: u32,
    /// What it is.
    pub held: Held,
    /// The same as text.
    pub text: String,
}

/// The meaning of a name.
#[derive(Clone, Debug)]
pub enum Held {
    /// An integer that may stand in a dimension.
    Static(i64),
    /// Numbers.
    Tensor(Tensor, DType),
    /// A distribution, a layer, a list of layers, a function: elaborated wherever it is mentioned.
    Made(Expr),
}
