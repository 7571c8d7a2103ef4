//! Checks the columns of data: names, numbers, and functions of columns.

use crate::check::session::CheckSession;
use crate::diagnostics::infer as report;
use bnnc_abi::data::ColumnExpr;
use bnnc_grammar::ast::{self, BinaryOp, UnaryOp};

/// The functions that can be applied to one column.
pub const FUNCTIONS: &[&str] = &["log", "exp", "sqrt", "abs", "zscore"];

/// Reads an entry of `inputs = [..]`. The entry is a column or `name = column`.
pub(super) fn entry(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<ColumnExpr> {
    match &*written.kind {
        ast::ExprKind::Named(name, value) => {
            let inner = column(session, value)?;
            Some(ColumnExpr::Named(
                name.name.to_string(),
                Box::new(inner),
                written.span,
            ))
        }
        _ => column(session, written),
    }
}

/// Reads a column expression such as `log(earn) * male`. Names in a column expression refer to columns.
pub(super) fn column(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<ColumnExpr> {
    let span = written.span;
    let apply = |name: &str, args: Vec<ColumnExpr>| Some(ColumnExpr::Apply(name.to_owned(), args, span));
    match &*written.kind {
        ast::ExprKind::Name(name) => Some(ColumnExpr::Name(name.to_string(), span)),
        // A string is the name of a column that is not an identifier, such as `"hours per week"`.
        ast::ExprKind::Text(name) => Some(ColumnExpr::Name(name.to_string(), span)),
        ast::ExprKind::Int(value) => Some(ColumnExpr::Number(*value as f64)),
        ast::ExprKind::Real(value, _) => Some(ColumnExpr::Number(*value)),
        ast::ExprKind::Paren(inner) => column(session, inner),
        ast::ExprKind::Unary(UnaryOp::Neg, inner) => {
            let inner = column(session, inner)?;
            apply("neg", vec![inner])
        }
        ast::ExprKind::Binary(op, left, right) => {
            let (left, right) = (column(session, left), column(session, right));
            let name = match op {
                BinaryOp::Add => "add",
                BinaryOp::Sub => "sub",
                BinaryOp::Mul => "mul",
                BinaryOp::Div => "div",
                BinaryOp::Pow => "pow",
                BinaryOp::Eq => "eq",
                _ => {
                    let message = format!("columns cannot be combined with `{}`", op);
                    return session.reject(report::column(span, message));
                }
            };
            apply(name, vec![left?, right?])
        }
        ast::ExprKind::Call(callee, args) => match (&*callee.kind, args.as_slice()) {
            (ast::ExprKind::Name(name), [arg]) if FUNCTIONS.contains(&&**name) && arg.name.is_none() => {
                let inner = column(session, &arg.value)?;
                apply(name, vec![inner])
            }
            (ast::ExprKind::Name(name), _) => {
                let message = format!("`{name}` is not a function of one column");
                let diagnostic =
                    report::column(callee.span, message).suggest(name, FUNCTIONS.iter().copied());
                session.reject(diagnostic)
            }
            _ => session.reject(report::column(span, "expected a column".to_owned())),
        },
        ast::ExprKind::Error => None,
        ast::ExprKind::List(_) => {
            let help = "for several outputs, write `-> y1: real, y2: real` in the model and remove `target`";
            let diagnostic = report::column(span, "expected one column, found a list".to_owned());
            session.reject(diagnostic.help(help))
        }
        _ => session.reject(report::column(span, "expected a column".to_owned())),
    }
}
