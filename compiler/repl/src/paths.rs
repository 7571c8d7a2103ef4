//! Finds paths such as `fit.beta` and `M.layers[0].w` in expressions, and lists the subexpressions
//! of an expression.

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

/// Returns the name if an expression is a single name, and `None` otherwise.
pub fn name(expr: &Expr) -> Option<&str> {
    match &*expr.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

/// Returns the direct subexpressions that are values. The name of a called function does not count.
pub fn children(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut *expr.kind {
        ExprKind::Name(_)
        | ExprKind::Int(_)
        | ExprKind::Real(..)
        | ExprKind::Text(_)
        | ExprKind::Bool(_)
        | ExprKind::Error => Vec::new(),
        ExprKind::Field(inner, _)
        | ExprKind::Glob(inner)
        | ExprKind::Named(_, inner)
        | ExprKind::Unary(_, inner)
        | ExprKind::Paren(inner) => vec![inner],
        ExprKind::Call(callee, args) => {
            let callee = Some(callee).filter(|callee| name(callee).is_none());
            let args = args.iter_mut().map(|arg| &mut arg.value);
            callee.into_iter().chain(args).collect()
        }
        ExprKind::Reduce(function, inner) => {
            let function = Some(function).filter(|function| name(function).is_none());
            let parts = [&mut inner.from, &mut inner.to, &mut inner.element];
            function.into_iter().chain(parts).collect()
        }
        ExprKind::Comprehension(inner) => vec![&mut inner.from, &mut inner.to, &mut inner.element],
        ExprKind::Index(base, indices) => {
            let mut all = vec![base];
            for index in indices {
                match index {
                    Index::At(at) => all.push(at),
                    Index::Range(from, to) => all.extend([from, to]),
                }
            }
            all
        }
        ExprKind::List(items) => items.iter_mut().collect(),
        ExprKind::Binary(_, left, right) => vec![left, right],
        ExprKind::If(condition, then, other) => vec![condition, then, other],
    }
}

/// Returns the right-hand side of a statement: a value or a distribution.
pub fn value(stmt: &mut Stmt) -> Option<&mut Expr> {
    match &mut stmt.kind {
        StmtKind::Assign { value, .. } | StmtKind::Return(value) => Some(value),
        StmtKind::Sample { dist, .. } => Some(dist),
        StmtKind::For { .. } | StmtKind::Error => None,
    }
}
