//! Returns the parts of expressions.

use crate::ast::{Comprehension, Expr, ExprKind, Index};

/// Defines a function that returns the direct parts of an expression, by reference or by mutable
/// reference. The callee of a call comes first, and the counter of a range is not a part.
macro_rules! children {
    ($(#[$doc:meta])* $name:ident $($mutable:tt)?) => {
        $(#[$doc])*
        pub fn $name(expr: &$($mutable)? Expr) -> Vec<&$($mutable)? Expr> {
            let parts = |over| {
                let Comprehension { from, to, element, .. }: &$($mutable)? Comprehension = over;
                [from, to, element]
            };
            match &$($mutable)? *expr.kind {
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
                    let args = args.into_iter().map(|arg| &$($mutable)? arg.value);
                    std::iter::once(callee).chain(args).collect()
                }
                ExprKind::Reduce(callee, over) => std::iter::once(callee).chain(parts(over)).collect(),
                ExprKind::Comprehension(over) => parts(over).into(),
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
                ExprKind::List(elements) => Vec::from_iter(elements),
                ExprKind::Binary(_, left, right) => vec![left, right],
                ExprKind::If(condition, yes, no) => vec![condition, yes, no],
            }
        }
    };
}

children! {
    /// Returns the direct parts of an expression.
    children
}

children! {
    /// Returns the direct parts of an expression, so that they can be replaced.
    children_mut mut
}
