//! Decides whether a function of scalars can be applied to whole arrays at once.

use crate::builtin::Rule;
use crate::tree::{Expr, ExprKind, FnItem};
use crate::walk;
use bnnc_base::source::Span;
use bnnc_grammar::ast::BinaryOp;

/// Returns the first operation of a function that is not elementwise.
pub fn obstacle(function: &FnItem) -> Option<(Span, String)> {
    function
        .body
        .iter()
        .flat_map(walk::expressions)
        .find_map(|expr| in_expr(expr, Noise::Refused))
}

/// How noise is treated. In `draw`, noise counts as elementwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Noise counts as elementwise.
    Allowed,
    /// Noise does not count as elementwise.
    Refused,
}

/// Returns the first operation of an expression that is not elementwise.
pub fn in_expr(expr: &Expr, noise: Noise) -> Option<(Span, String)> {
    let what = match &expr.kind {
        ExprKind::Builtin(builtin, args) => match builtin.rule {
            // `max(x)` with a single array is a reduction.
            Rule::Extremum(..) if args.len() == builtin.params.len() => None,
            Rule::Elementwise(_) | Rule::Same(_) => None,
            Rule::Noise(_) if noise == Noise::Allowed && args.len() == builtin.params.len() => None,
            _ => Some(format!("`{}`", builtin.name)),
        },
        ExprKind::List(_) => Some("a list".to_owned()),
        ExprKind::Comprehension(_) | ExprKind::Reduce(..) => Some("a range".to_owned()),
        ExprKind::Index(..) => Some("an index".to_owned()),
        ExprKind::Binary(BinaryOp::MatMul, ..) => Some("`@`".to_owned()),
        ExprKind::MakeLayer(..) | ExprKind::CallLayer(..) => Some("a layer".to_owned()),
        _ => None,
    };
    match what {
        Some(what) => Some((expr.span, what)),
        None => walk::children(expr)
            .into_iter()
            .find_map(|part| in_expr(part, noise)),
    }
}
