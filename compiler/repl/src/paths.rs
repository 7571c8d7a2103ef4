//! Finds paths such as `fit.beta` and `M.layers[0].w` in expressions, and lists subexpressions.

use bnnc_grammar::ast::{Expr, ExprKind, Index, Stmt, StmtKind};

/// Returns the expression at the start of a path, and the rest of the path as text. For
/// `fit.layers[0].w`, the result is `fit` and `layers[0].w`.
pub fn path(expr: &Expr) -> (&Expr, String) {
    match &*expr.kind {
        ExprKind::Field(base, field) => {
            let (start, rest) = path(base);
            let dot = if rest.is_empty() { "" } else { "." };
            (start, format!("{rest}{dot}{}", field.name))
        }
        ExprKind::Index(base, indices) => match indices.as_slice() {
            [Index::At(at)] => match (&*at.kind, path(base)) {
                (ExprKind::Int(number), (start, rest)) if !rest.is_empty() => {
                    (start, format!("{rest}[{number}]"))
                }
                _ => (expr, String::new()),
            },
            _ => (expr, String::new()),
        },
        _ => (expr, String::new()),
    }
}

/// Returns the direct subexpressions that are values, which the name of a called function is not.
pub fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    let is_named = match &*expr.kind {
        ExprKind::Call(callee, _) | ExprKind::Reduce(callee, _) => callee.as_name().is_some(),
        _ => false,
    };
    let parts = bnnc_grammar::walk::children_mut(expr).into_iter();
    parts.skip(usize::from(is_named)).collect()
}

/// Returns the right-hand side of a statement: a value or a distribution.
pub fn value(stmt: &mut Stmt) -> Option<&mut Expr> {
    match &mut stmt.kind {
        StmtKind::Assign { value, .. } | StmtKind::Return(value) => Some(value),
        StmtKind::Sample { dist, .. } => Some(dist),
        StmtKind::For { .. } | StmtKind::Error => None,
    }
}
