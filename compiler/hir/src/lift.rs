//! Decides whether a function of scalars can be applied to whole arrays at once.

use crate::builtin::BuiltinRule;
use crate::tree::{FnItem, TypedExpr, TypedExprKind};
use crate::walk;
use bnnc_base::source::Span;
use bnnc_grammar::ast::BinaryOp;

/// Returns the first operation of a function that is not elementwise.
pub fn obstacle(function: &FnItem) -> Option<(Span, String)> {
    function
        .body
        .iter()
        .flat_map(walk::expressions)
        .find_map(|expr| in_expr(expr, NoisePolicy::Rejected))
}

/// How noise is treated in this analysis. In the `draw` of a distribution, it is elementwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoisePolicy {
    /// A call for noise is treated as elementwise.
    Allowed,
    /// A call for noise is not treated as elementwise.
    Rejected,
}

/// Returns the first operation of an expression that is not elementwise.
pub fn in_expr(expr: &TypedExpr, noise: NoisePolicy) -> Option<(Span, String)> {
    let what = match &expr.kind {
        TypedExprKind::Builtin(builtin, args) => match builtin.rule {
            // `max(x)` with a single array is a reduction.
            BuiltinRule::Extremum(..) if args.len() == builtin.params.len() => None,
            BuiltinRule::Elementwise(_) | BuiltinRule::Same(_) => None,
            BuiltinRule::Noise(_) if noise == NoisePolicy::Allowed && args.len() == builtin.params.len() => {
                None
            }
            _ => Some(format!("`{}`", builtin.name)),
        },
        TypedExprKind::List(_) => Some("a list".to_owned()),
        TypedExprKind::Comprehension(_) | TypedExprKind::Reduce(..) => Some("a range".to_owned()),
        TypedExprKind::Index(..) => Some("an index".to_owned()),
        TypedExprKind::Binary(BinaryOp::MatMul, ..) => Some("`@`".to_owned()),
        TypedExprKind::MakeLayer(..) | TypedExprKind::Compose(..) | TypedExprKind::CallLayer(..) => {
            Some("a layer".to_owned())
        }
        _ => None,
    };
    match what {
        Some(what) => Some((expr.span, what)),
        None => walk::children(expr)
            .into_iter()
            .find_map(|part| in_expr(part, noise)),
    }
}
