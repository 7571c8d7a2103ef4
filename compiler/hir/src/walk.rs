//! Traversal helpers for analyses of the typed tree.

use crate::tree::{Expr, ExprKind, Index, Stmt};

/// Returns the direct subexpressions of an expression, in order.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Real(_)
        | ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::Text(_)
        | ExprKind::Local(_)
        | ExprKind::Const(_)
        | ExprKind::Row
        | ExprKind::FnValue(_)
        | ExprKind::BuiltinValue(_)
        | ExprKind::Error => Vec::new(),
        ExprKind::Builtin(_, args)
        | ExprKind::CallFn(_, args)
        | ExprKind::CallLocal(_, args)
        | ExprKind::MakeLayer(_, args)
        | ExprKind::MakeDist(_, args)
        | ExprKind::List(args) => args.iter().collect(),
        ExprKind::CallLayer(callee, _, args) => std::iter::once(&**callee).chain(args).collect(),
        ExprKind::DistPart(base, _, argument) => {
            std::iter::once(&**base).chain(argument.as_deref()).collect()
        }
        ExprKind::Comprehension(inner) | ExprKind::Reduce(_, inner) => {
            vec![&inner.from, &inner.to, &inner.element]
        }
        ExprKind::Index(base, indices) => {
            let mut parts = vec![&**base];
            for index in indices {
                match index {
                    Index::At(at) => parts.push(at),
                    Index::Range(from, to) => parts.extend([from, to]),
                }
            }
            parts
        }
        ExprKind::Unary(_, operand) => vec![operand],
        ExprKind::Binary(_, left, right) => vec![left, right],
        ExprKind::If(condition, yes, no) => vec![condition, yes, no],
    }
}

/// Returns the direct subexpressions of an expression, for modification.
pub fn children_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.kind {
        ExprKind::Real(_)
        | ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::Text(_)
        | ExprKind::Local(_)
        | ExprKind::Const(_)
        | ExprKind::Row
        | ExprKind::FnValue(_)
        | ExprKind::BuiltinValue(_)
        | ExprKind::Error => Vec::new(),
        ExprKind::Builtin(_, args)
        | ExprKind::CallFn(_, args)
        | ExprKind::CallLocal(_, args)
        | ExprKind::MakeLayer(_, args)
        | ExprKind::MakeDist(_, args)
        | ExprKind::List(args) => args.iter_mut().collect(),
        ExprKind::CallLayer(callee, _, args) => std::iter::once(&mut **callee).chain(args).collect(),
        ExprKind::DistPart(base, _, argument) => std::iter::once(&mut **base)
            .chain(argument.as_deref_mut())
            .collect(),
        ExprKind::Comprehension(inner) | ExprKind::Reduce(_, inner) => {
            let inner = &mut **inner;
            vec![&mut inner.from, &mut inner.to, &mut inner.element]
        }
        ExprKind::Index(base, indices) => {
            let mut parts = vec![&mut **base];
            for index in indices {
                match index {
                    Index::At(at) => parts.push(at),
                    Index::Range(from, to) => parts.extend([from, to]),
                }
            }
            parts
        }
        ExprKind::Unary(_, operand) => vec![operand],
        ExprKind::Binary(_, left, right) => vec![left, right],
        ExprKind::If(condition, yes, no) => vec![condition, yes, no],
    }
}

/// Returns whether `test` holds for the expression or any of its subexpressions.
pub fn any(expr: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    test(expr) || children(expr).into_iter().any(|part| any(part, test))
}

/// Returns the expressions of a statement, including those in the body of a `for`.
pub fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match stmt {
        Stmt::Let(_, value) | Stmt::Return(value) => vec![value],
        Stmt::Sample(sample) => sample.index.iter().chain([&sample.dist]).collect(),
        Stmt::For { from, to, body, .. } => [from, to]
            .into_iter()
            .chain(body.iter().flat_map(expressions))
            .collect(),
    }
}
