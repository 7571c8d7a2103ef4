//! Checks `infer` items: the method, its target and data, and the options.

use super::names::Def;
use super::options;
use super::session::CheckSession;
use crate::diagnostics::{count, infer as report, names as report_names};
use crate::sites;
use crate::tree::{
    DataId, InferId, InferItem, InferenceTarget, ModelId, PosteriorId, PosteriorLine, PosteriorValue,
    StartValue,
};
use bnnc_abi::method::{self, MethodDef, Takes};
use bnnc_base::quoted::quoted;
use bnnc_base::source::Span;
use bnnc_grammar::ast;
use std::collections::HashSet;
use std::sync::Arc;

/// Checks an `infer` item.
pub fn check(session: &mut CheckSession<'_>, id: InferId, item: &ast::InferDecl) {
    let method = method::lookup(&item.method.name);
    if method.is_none() {
        session.report(report::unknown_method(item.method.span, &item.method.name));
    }
    let (target, data) = arguments(session, item, method);
    let span = session.module.infers[id].span;
    if let Some((target, _)) = target {
        let model = match target {
            InferenceTarget::Model(model) => Some(model),
            InferenceTarget::Posterior(posterior) => session.models.get(&Def::Posterior(posterior)).copied(),
        };
        session.models.extend(model.map(|model| (Def::Infer(id), model)));
    }
    let Some(method) = method else { return };
    if let Some((InferenceTarget::Posterior(posterior), at)) = target {
        match method.takes {
            Takes::Posterior => all_sites(session, posterior, method, at),
            Takes::ModelOrFixed => only_fixed(session, posterior, method, at),
            Takes::Model | Takes::Either => {}
        }
    }
    let options = options::check(session, method, &item.name.name, &item.options);
    let (Some((target, _)), Some(data)) = (target, data) else {
        return;
    };
    session.module.infers[id] = InferItem {
        name: item.name.name.clone(),
        method,
        target,
        data,
        options,
        span,
    };
}

/// Resolves the two arguments of an inference block: a model or a posterior, and a data item.
fn arguments(
    session: &mut CheckSession<'_>,
    item: &ast::InferDecl,
    method: Option<&'static MethodDef>,
) -> (Option<(InferenceTarget, Span)>, Option<DataId>) {
    let wanted = match method.map(|method| method.takes) {
        Some(Takes::Model) => "a model",
        Some(Takes::Posterior) => "a posterior",
        Some(Takes::Either | Takes::ModelOrFixed) | None => "a model or a posterior",
    };
    let name = &item.method.name;
    if item.args.len() != 2 {
        let message = format!(
            "`{name}` needs {wanted} and data, found {}",
            count(item.args.len(), "argument")
        );
        let help = format!("write `{name}(target, data)`");
        session.report(report::wrong_target(item.method.span, message, &help));
    }
    for arg in &item.args {
        if let Some(word) = &arg.name {
            let message = format!("the arguments of `{name}` are {wanted} and data, without names");
            session.report(report::wrong_target(word.span, message, "options go in braces"));
        }
    }
    let target = item
        .args
        .first()
        .and_then(|arg| target(session, &arg.value, wanted, method));
    let data = item.args.get(1).and_then(|arg| data(session, &arg.value));
    (target, data)
}

/// Resolves an argument, which is the name of an item that `pick` accepts. If `pick` rejects the
/// item, it returns advice, or an empty text.
fn argument<T>(
    session: &mut CheckSession<'_>,
    written: &ast::Expr,
    expected: &str,
    kind: fn(Def) -> bool,
    pick: impl Fn(Def) -> Result<T, &'static str>,
) -> Option<T> {
    let stripped = written.without_parentheses();
    let Some(name) = stripped.as_name() else {
        if *stripped.kind != ast::ExprKind::Error {
            let message = format!("expected the name of {expected}");
            session.report(report::wrong_target(stripped.span, message, ""));
        }
        return None;
    };
    let Some((def, at)) = session.find(name) else {
        let names = session.names.all(kind);
        let diagnostic = report_names::unknown_name(stripped.span, name, names);
        return session.reject(diagnostic);
    };
    let def = def?;
    pick(def)
        .map_err(|help| {
            let message = format!("expected {expected}, found {}", def.kind());
            let diagnostic = report::wrong_target(written.span, message, help);
            session.report(diagnostic.also_if(at, "it is declared here"));
        })
        .ok()
}

fn target(
    session: &mut CheckSession<'_>,
    written: &ast::Expr,
    wanted: &str,
    method: Option<&'static MethodDef>,
) -> Option<(InferenceTarget, Span)> {
    let kind = |def| matches!(def, Def::Model(_) | Def::Posterior(_));
    let takes = method.map_or(Takes::Either, |method| method.takes);
    let target = argument(session, written, wanted, kind, |def| match (def, takes) {
        (Def::Model(_), Takes::Posterior) => Err("declare one: `posterior Q of Model { .. }`"),
        (Def::Model(model), _) => Ok(InferenceTarget::Model(model)),
        (Def::Posterior(id), Takes::Posterior | Takes::Either | Takes::ModelOrFixed) => {
            Ok(InferenceTarget::Posterior(id))
        }
        _ => Err(""),
    })?;
    Some((target, written.span))
}

fn data(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<DataId> {
    let kind = |def| matches!(def, Def::Data(_));
    argument(session, written, "data", kind, |def| match def {
        Def::Data(id) => Ok(id),
        _ => Err(""),
    })
}

/// Checks that the posterior has a line for every site. This check is for methods that require a
/// posterior.
fn all_sites(session: &mut CheckSession<'_>, id: PosteriorId, method: &MethodDef, span: Span) {
    let posterior = &session.module.posteriors[id];
    let Some(model) = session.models.get(&Def::Posterior(id)).copied() else {
        return;
    };
    let left = uncovered(session, id, model);
    if !left.is_empty() {
        let place = (&*posterior.name, posterior.span);
        let diagnostic = report::sites_missing(span, method.name, place, &left);
        session.report(diagnostic);
    }
}

/// Checks that every line of the posterior fixes a site. It is for methods that sample sites and do
/// not accept variational families.
fn only_fixed(session: &mut CheckSession<'_>, id: PosteriorId, method: &MethodDef, span: Span) {
    let posterior = &session.module.posteriors[id];
    let family = |line: &&PosteriorLine| match &line.value {
        PosteriorValue::Family(_, starts) => !starts
            .iter()
            .any(|(_, start)| matches!(start, StartValue::Fixed(_))),
        PosteriorValue::From(..) => false,
    };
    let Some(line) = posterior.lines.iter().find(family) else {
        return;
    };
    let names = quoted(line.sites.iter().map(|(path, _)| &**path));
    let message = format!(
        "`{}` samples {names} directly, so a family cannot be given",
        method.name
    );
    let help = "remove the line with the family; to fix a parameter, write `w = fit.w` with an earlier inference `fit`, or \
                `w ~ Point(fixed(1.0))`";
    let diagnostic = report::wrong_target(span, message, help).also(line.span, "a family is given here");
    session.report(diagnostic);
}

fn uncovered(session: &CheckSession<'_>, id: PosteriorId, model: ModelId) -> Vec<String> {
    let mut known = sites::paths(&session.module, model);
    let paths = session.module.posteriors[id]
        .lines
        .iter()
        .flat_map(|line| &line.sites);
    let matching = |(path, _): &(Arc<str>, Span)| sites::matching(path, &known);
    let given: HashSet<String> = paths.flat_map(matching).map(str::to_owned).collect();
    known.retain(|site| !given.contains(site));
    known
}
