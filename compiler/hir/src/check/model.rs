//! Checks models: their inputs and outputs, and whether every output is observed.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::session::CheckSession;
use crate::diagnostics::{model as report, types};
use crate::show;
use crate::tree::{ModelId, ModelItem, ParamBinding, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast;

/// Checks a `model` item.
pub fn check(session: &mut CheckSession<'_>, id: ModelId, item: &ast::ModelDecl) {
    let mut body = session.body(BodyKind::Model, false, &item.name.name);
    let mut lists = body
        .params(&[&item.shared, &item.inputs, &item.outputs], false)
        .into_iter();
    let mut next = || lists.next().unwrap_or_default();
    let (shared, mut inputs, outputs) = (next(), next(), next());
    tensors_only(&mut body, &item.shared, &shared);
    tensors_only(&mut body, &item.inputs, &inputs);
    tensors_only(&mut body, &item.outputs, &outputs);
    rows(&mut body, &item.inputs, &mut inputs);
    for list in [&item.shared, &item.outputs] {
        for param in list {
            if let Some(default) = &param.default {
                body.report(
                    types::mismatch(default.span, "no default here", "one")
                        .help("only `= row` exists, for inputs"),
                );
            }
        }
    }
    body.per_example
        .extend(inputs.iter().chain(&outputs).map(|param| param.local));
    body.used.extend(outputs.iter().map(|output| output.local));
    for output in &outputs {
        body.outputs
            .insert(output.param.name.clone(), (output.local, Vec::new()));
    }
    let statements = body.block(&item.body, None, item.name.span);
    let unreadable = item.body.iter().any(|stmt| stmt.kind == ast::StmtKind::Error);
    for (output, written) in outputs.iter().zip(&item.outputs) {
        let seen = body
            .outputs
            .get(&output.param.name)
            .is_some_and(|(_, seen)| !seen.is_empty());
        if !seen && !unreadable {
            body.report(report::not_observed(written.span, &output.param.name));
        }
    }
    body.needs_in_order();
    body.missing_activations(&[], &statements);
    body.uncalled_layers();
    // Quantities that do not depend on the row appear in the posterior summary, so they are used.
    let quantities = statements.iter().filter_map(|stmt| match stmt {
        TypedStmt::Let(local, _) if !body.per_example.contains(local) => Some(*local),
        _ => None,
    });
    body.used.extend(quantities);
    let (locals, diagnostics) = body.finish();
    session.diagnostics.extend(diagnostics);
    let span = session.module.models[id].span;
    session.module.models[id] = ModelItem {
        name: item.name.name.clone(),
        locals,
        shared,
        inputs,
        outputs,
        body: statements,
        span,
    };
}

fn tensors_only(body: &mut Checker<'_>, written: &[ast::Param], params: &[ParamBinding]) {
    for (param, written) in params.iter().zip(written) {
        if !matches!(param.param.ty, Ty::Tensor(..) | Ty::Error) {
            let found = show::ty(&param.param.ty, &body.locals);
            body.report(types::mismatch(
                written.ty.span,
                "a type of numbers, which data can have",
                &found,
            ));
        }
    }
}

/// Replaces the default `= row` of an integer input by the number of the row.
fn rows(body: &mut Checker<'_>, written: &[ast::Param], inputs: &mut [ParamBinding]) {
    for (input, written) in inputs.iter_mut().zip(written) {
        let Some(default) = &written.default else { continue };
        let is_row = matches!(&*default.kind, ast::ExprKind::Name(name) if &**name == "row");
        if !is_row {
            body.expr(default, Want::Any);
            body.report(types::mismatch(
                default.span,
                "`row`, the only default of an input",
                "another value",
            ));
            continue;
        }
        if !matches!(&input.param.ty, Ty::Tensor(Elem::Index(_) | Elem::Int, dims) if dims.is_empty()) {
            let found = show::ty(&input.param.ty, &body.locals);
            body.report(types::mismatch(
                written.ty.span,
                "index(k), because `row` is the number of the example",
                &found,
            ));
        }
        input.default = Some(TypedExpr::new(
            TypedExprKind::Row,
            input.param.ty.clone(),
            default.span,
        ));
    }
}
