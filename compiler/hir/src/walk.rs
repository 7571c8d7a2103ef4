//! Traversal helpers for analyses of the typed tree.

use crate::tree::{TypedExpr, TypedExprKind, TypedIndex, TypedStmt};

/// Returns the direct subexpressions of an expression, in order.
pub fn children(expr: &TypedExpr) -> Vec<&TypedExpr> {
    match &expr.kind {
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
        | TypedExprKind::MakeDist(_, args)
        | TypedExprKind::List(args) => args.iter().collect(),
        TypedExprKind::CallLayer(callee, _, args) => std::iter::once(&**callee).chain(args).collect(),
        TypedExprKind::DistPart(base, _, argument) => {
            std::iter::once(&**base).chain(argument.as_deref()).collect()
        }
        TypedExprKind::Comprehension(inner) | TypedExprKind::Reduce(_, inner) => {
            vec![&inner.from, &inner.to, &inner.element]
        }
        TypedExprKind::Index(base, indices) => {
            let mut parts = vec![&**base];
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

/// Returns the direct subexpressions of an expression, for modification.
pub fn children_mut(expr: &mut TypedExpr) -> Vec<&mut TypedExpr> {
    match &mut expr.kind {
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
        | TypedExprKind::MakeDist(_, args)
        | TypedExprKind::List(args) => args.iter_mut().collect(),
        TypedExprKind::CallLayer(callee, _, args) => std::iter::once(&mut **callee).chain(args).collect(),
        TypedExprKind::DistPart(base, _, argument) => std::iter::once(&mut **base)
            .chain(argument.as_deref_mut())
            .collect(),
        TypedExprKind::Comprehension(inner) | TypedExprKind::Reduce(_, inner) => {
            let inner = &mut **inner;
            vec![&mut inner.from, &mut inner.to, &mut inner.element]
        }
        TypedExprKind::Index(base, indices) => {
            let mut parts = vec![&mut **base];
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

/// Returns whether `test` holds for the expression or any of its subexpressions.
pub fn any(expr: &TypedExpr, test: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
    test(expr) || children(expr).into_iter().any(|part| any(part, test))
}

/// Returns the expressions of a statement, including those in the body of a `for`.
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
