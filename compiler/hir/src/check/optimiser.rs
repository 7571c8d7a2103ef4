//! Checks optimisers: the states, the next values of the states, and the step.

use super::body::{BodyKind, Checker};
use super::expr::Want;
use super::session::CheckSession;
use crate::constant::constant;
use crate::diagnostics::{statements as report, types};
use crate::lift;
use crate::tree::{Local, LocalId, LocalKind, Locals, OptimiserId, OptimiserItem, TypedExpr};
use crate::types::Ty;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, DefinitionKind};
use std::collections::HashMap;
use std::sync::Arc;

const DEFINITIONS: &[&str] = &["state", "next", "step"];

/// Returns an optimiser that has not been checked yet.
pub fn empty(name: Arc<str>, doc: String, span: Span) -> OptimiserItem {
    let mut locals = Locals::default();
    let [gradient, parameter, iteration] = predefined(&mut locals, span);
    OptimiserItem {
        name,
        doc,
        locals,
        params: Vec::new(),
        gradient,
        parameter,
        iteration,
        states: Vec::new(),
        step: None,
    }
}

fn predefined(locals: &mut Locals, span: Span) -> [LocalId; 3] {
    ["gradient", "parameter", "iteration"].map(|name| {
        locals.push(Local {
            name: name.into(),
            ty: Ty::real(),
            span,
            kind: LocalKind::Param,
        })
    })
}

/// Checks an `optimiser` item.
pub fn check(session: &mut CheckSession<'_>, id: OptimiserId, item: &ast::OptimiserDecl, library: bool) {
    let mut body = session.body(BodyKind::Optimiser, library, &item.name.name);
    let predefined = predefined(&mut body.locals, item.name.span);
    body.used.extend(predefined);
    let names = ["gradient", "parameter", "iteration"].map(Arc::from);
    if let Some(scope) = body.scopes.last_mut() {
        scope.extend(names.into_iter().zip(predefined));
    }
    let mut params = body.params(&[&item.params], true).pop().unwrap_or_default();
    body.defaults(&item.params, &mut params);
    if params.is_empty() {
        let message = format!("`{}` has no learning rate", item.name.name);
        let help = "add it as the first parameter: `rate: positive`";
        body.report(report::definition_missing(item.name.span, message, help));
    }
    for (param, written) in params.iter().zip(&item.params) {
        if !param.param.ty.is_scalar() && param.param.ty != Ty::Error {
            body.report(types::mismatch(
                written.ty.span,
                "a scalar parameter",
                "another type",
            ));
        }
    }
    let (states, step) = definitions(&mut body, item);
    let (locals, diagnostics) = body.finish();
    session.diagnostics.extend(diagnostics);
    session.module.optimisers[id] = OptimiserItem {
        locals,
        params,
        states,
        step,
        ..session.module.optimisers[id].clone()
    };
}

type States = Vec<(LocalId, TypedExpr, TypedExpr)>;

fn definitions(body: &mut Checker<'_>, item: &ast::OptimiserDecl) -> (States, Option<TypedExpr>) {
    let mut starts: Vec<(LocalId, Arc<str>, Span, TypedExpr)> = Vec::new();
    for line in item.body.iter().filter(|line| line.kind == DefinitionKind::State) {
        let value = elementwise(body, &line.value);
        if value.ty != Ty::Error && constant(body.module, &value).is_none() {
            body.report(types::not_constant(value.span, "the start of a state"));
        }
        let local = body.declare(&line.name.name, line.name.span, Ty::real(), LocalKind::Assigned);
        starts.push((local, line.name.name.clone(), line.name.span, value));
    }
    let mut next: HashMap<Arc<str>, (Span, TypedExpr)> = HashMap::new();
    let mut step: Option<(Span, TypedExpr)> = None;
    for line in &item.body {
        let (name, span) = (&line.name.name, line.name.span);
        match &line.kind {
            DefinitionKind::State => {}
            DefinitionKind::Next => {
                let value = elementwise(body, &line.value);
                if !starts.iter().any(|(_, state, ..)| state == name) {
                    let states: Vec<&str> = starts.iter().map(|(_, state, ..)| &**state).collect();
                    body.report(report::unknown_definition(span, "this optimiser", name, &states));
                }
                if let Some((first, _)) = next.get(name) {
                    body.report(report::definition_twice(name, *first, span));
                }
                next.insert(name.clone(), (span, value));
            }
            DefinitionKind::Value if &**name == "step" => {
                let value = elementwise(body, &line.value);
                if let Some((first, _)) = &step {
                    body.report(report::definition_twice(name, *first, span));
                }
                step = Some((span, value));
            }
            DefinitionKind::Value | DefinitionKind::Function(_) => {
                body.report(report::unknown_definition(
                    span,
                    "an optimiser",
                    name,
                    DEFINITIONS,
                ));
            }
        }
    }
    let mut states = Vec::new();
    for (local, name, span, start) in starts {
        match next.remove(&name) {
            Some((_, value)) => states.push((local, start, value)),
            None => {
                let message = format!("the state `{name}` has no next value");
                let help = format!("add `next {name} = ..`");
                body.report(report::definition_missing(span, message, &help));
            }
        }
    }
    if step.is_none() {
        let message = format!("`{}` has no step", item.name.name);
        let help = "add `step = -rate * gradient`";
        body.report(report::definition_missing(item.name.span, message, help));
    }
    (states, step.map(|(_, value)| value))
}

fn elementwise(body: &mut Checker<'_>, written: &ast::Expr) -> TypedExpr {
    let value = body.expr(written, Want::Any);
    body.expect(&value, &Ty::real());
    if let Some((at, what)) = lift::in_expr(&value, lift::NoisePolicy::Rejected) {
        let owner = body.owner.clone();
        body.report(report::not_elementwise(at, &owner, &what));
    }
    value
}
