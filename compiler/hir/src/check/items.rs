//! Checks constants and functions.

use super::body::BodyKind;
use super::expr::Want;
use super::session::CheckSession;
use crate::constant::{constant, integer};
use crate::diagnostics::types as report;
use crate::tree::{ConstId, ConstItem, ConstValue, FnId, FnItem, TypedExpr};
use crate::types::Ty;
use bnnc_grammar::ast;

/// Checks a `const` item. The value of the constant must be an arithmetic expression on numbers.
pub fn check_const(session: &mut CheckSession<'_>, id: ConstId, item: &ast::ConstDecl, library: bool) {
    let mut body = session.body(BodyKind::Constant, library, &item.name.name);
    let mut value = body.expr(&item.value, Want::Any);
    // `const HALF = 50 / 2` is an integer and can be a dimension, while `const THIRD = 50 / 3` is a real.
    let number = constant(&session.module, &value);
    if value.ty == Ty::real() && body.diagnostics.is_empty() && number.is_some() {
        let rounded = body.expr(&item.value, Want::Int);
        if rounded.ty == Ty::int() && constant(&session.module, &rounded) == number {
            value = rounded;
        }
        body.diagnostics.clear();
    }
    if value.ty != Ty::Error && constant(&session.module, &value).is_none() {
        body.report(report::not_constant(value.span, &format!("`{}`", item.name.name)));
        value.ty = Ty::Error;
    }
    let (_, diagnostics) = body.finish();
    session.diagnostics.extend(diagnostics);
    let whole = |value: &TypedExpr| integer(&session.module, value).map(ConstValue::Integer);
    let number = match value.ty {
        Ty::Error => None,
        _ => whole(&value).or_else(|| constant(&session.module, &value).map(ConstValue::Real)),
    };
    session.module.consts[id] = ConstItem {
        name: item.name.name.clone(),
        value,
        number,
    };
}

/// Checks a `fn` item.
pub fn check_fn(session: &mut CheckSession<'_>, id: FnId, item: &ast::FnDecl, library: bool) {
    let mut body = session.body(BodyKind::Function, library, &item.name.name);
    let mut params = body.params(&[&item.params], true).pop().unwrap_or_default();
    body.defaults(&item.params, &mut params);
    let result = body.ty(&item.result, false);
    let statements = body.block(&item.body, Some((&result, item.result.span)), item.name.span);
    let (locals, diagnostics) = body.finish();
    session.diagnostics.extend(diagnostics);
    session.module.fns[id] = FnItem {
        locals,
        params,
        result,
        body: statements,
        ..session.module.fns[id].clone()
    };
}
