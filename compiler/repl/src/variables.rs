//! The variables of a REPL session.

use bnnc_base::dtype::DType;
use bnnc_grammar::ast;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::tree::{LocalId, TypedExpr};
use std::sync::Arc;

/// A variable and its value. A later variable hides an earlier variable with the same name.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name of the variable.
    pub name: Arc<str>,
    /// The checked variable.
    pub local: LocalId,
    /// The statement that the user entered. If an item is redefined, the session checks and
    /// evaluates this statement again. `None` for a hidden variable that the session added itself.
    pub written: Option<ast::Stmt>,
    /// The draw number with which the variable was computed.
    pub draw: u32,
    /// The value.
    pub held: VariableValue,
    /// The value as text.
    pub text: String,
}

/// The value of a variable.
#[derive(Clone, Debug)]
pub enum VariableValue {
    /// An integer that can be used in dimensions.
    Static(i64),
    /// A tensor.
    Tensor(Tensor, DType),
    /// A number or an array at each posterior draw, `[draws, ..]`.
    Draws(Tensor, DType),
    /// A distribution, a layer, a list of layers or a function. The session elaborates such a value
    /// again at each use.
    Made(TypedExpr),
}
