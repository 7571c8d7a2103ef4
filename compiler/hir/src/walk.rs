//! Traversal helpers for analyses of the typed tree.

use crate::tree::{TypedExpr, TypedExprKind, TypedIndex, TypedStmt};

/// Defines a traversal, for reading or for modification.
macro_rules! children {
    ($(#[$doc:meta])* $name:ident $($mutable:tt)?) => {
        $(#[$doc])*
        pub fn $name(expr: &$($mutable)? TypedExpr) -> Vec<&$($mutable)? TypedExpr> {
            match &$($mutable)? expr.kind {
                TypedExprKind::Real(_)
                | TypedExprKind::Int(_)
                | TypedExprKind::Bool(_)
                | TypedExprKind::Local(_)
                | TypedExprKind::Const(_)
                | TypedExprKind::Row
                | TypedExprKind::FnValue(_)
                | TypedExprKind::BuiltinValue(_)
                | TypedExprKind::Error => Vec::new(),
                TypedExprKind::Builtin(_, args)
                | TypedExprKind::CallFn(_, args)
                | TypedExprKind::CallLocal(_, args)
                | TypedExprKind::MakeLayer(_, args)
                | TypedExprKind::Compose(_, args)
                | TypedExprKind::MakeDist(_, args)
                | TypedExprKind::List(args) => Vec::from_iter(args),
                TypedExprKind::CallLayer(callee, _, args) => {
                    std::iter::once(&$($mutable)? **callee).chain(args).collect()
                }
                TypedExprKind::DistPart(base, _, argument) => {
                    let mut parts = vec![&$($mutable)? **base];
                    if let Some(argument) = argument {
                        parts.push(argument);
                    }
                    parts
                }
                TypedExprKind::Comprehension(inner) | TypedExprKind::Reduce(_, inner) => {
                    let inner = &$($mutable)? **inner;
                    vec![&$($mutable)? inner.from, &$($mutable)? inner.to, &$($mutable)? inner.element]
                }
                TypedExprKind::Index(base, indices) => {
                    let mut parts = vec![&$($mutable)? **base];
                    for index in indices {
                        match index {
                            TypedIndex::At(at) => parts.push(at),
                            TypedIndex::Range(from, to) => parts.extend([from, to]),
                        }
                    }
                    parts
                }
                TypedExprKind::Unary(_, operand) => vec![operand],
                TypedExprKind::Binary(_, left, right) => vec![left, right],
                TypedExprKind::If(condition, yes, no) => vec![condition, yes, no],
            }
        }
    };
}

children! {
    /// Returns the direct subexpressions of an expression, in order.
    children
}

children! {
    /// Returns the direct subexpressions of an expression, for modification.
    children_mut mut
}

/// Returns whether `test` holds for the expression or any of its subexpressions.
pub fn any(expr: &TypedExpr, test: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
    test(expr) || children(expr).into_iter().any(|part| any(part, test))
}

/// Returns the expressions of a statement, including the expressions in the body of a `for`.
pub fn expressions(stmt: &TypedStmt) -> Vec<&TypedExpr> {
    match stmt {
        TypedStmt::Let(_, value) | TypedStmt::Return(value) => vec![value],
        TypedStmt::Sample(sample) => sample.index.iter().chain([&sample.dist]).collect(),
        TypedStmt::For { from, to, body, .. } => [from, to]
            .into_iter()
            .chain(body.iter().flat_map(expressions))
            .collect(),
    }
}
