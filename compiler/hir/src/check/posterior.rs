//! Checks posteriors: the family of each site, and the starting values for the optimiser.

use super::body::Checker;
use super::call::{Lifts, Signature};
use super::names::Def;
use super::parameterisation;
use super::session::CheckSession;
use crate::constant::constant;
use crate::diagnostics::{infer as report, names as report_names, statements, types};
use crate::sites;
use crate::tree::{
    DistId, ModelId, PosteriorId, PosteriorItem, PosteriorLine, PosteriorValue, ScaledStart, StartValue,
};
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, StmtKind};
use bnnc_graph::dist::Support;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Checks a `posterior` item.
pub fn check(session: &mut CheckSession<'_>, id: PosteriorId, item: &ast::PosteriorDecl) {
    let model = session.resolve(&item.of.name, item.of.span, "a model", |def| match def {
        Def::Model(id) => Some(id),
        _ => None,
    });
    let mut lines = Vec::new();
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    let known = model.map(|model| (model, sites::paths(&session.module, model)));
    for line in &item.body {
        let (targets, value) = match &line.kind {
            StmtKind::Assign { targets, ty, value } => {
                no_type(session, ty.as_ref());
                (targets, fixed_site(session, value))
            }
            StmtKind::Sample {
                targets, ty, dist, ..
            } => {
                no_type(session, ty.as_ref());
                (targets, family(session, dist))
            }
            StmtKind::For { .. } | StmtKind::Return(_) => {
                let help = "write lines such as `w ~ Normal(scale = 0.1)`";
                session.report(statements::wrong_place(line.span, "this", "a posterior", help));
                continue;
            }
            StmtKind::Error => continue,
        };
        let mut found = Vec::new();
        for target in targets {
            let Some(path) = path(session, target) else {
                continue;
            };
            if let Some((model, sites)) = &known {
                covered(session, &path, target.span, (*model, sites), &mut seen);
                if let Some(PosteriorValue::From(infer, source)) = &value {
                    same_sites(session, (&path, sites), (*infer, source), line.span);
                }
            }
            found.push((Arc::from(path), target.span));
        }
        if let Some(value) = value {
            lines.push(PosteriorLine {
                sites: found,
                value,
                span: line.span,
            });
        }
    }
    let Some(model) = model else { return };
    session.models.insert(Def::Posterior(id), model);
    let span = session.module.posteriors[id].span;
    session.module.posteriors[id] = PosteriorItem {
        name: item.name.name.clone(),
        model,
        lines,
        span,
    };
}

fn no_type(session: &mut CheckSession<'_>, ty: Option<&ast::TypeExpr>) {
    if let Some(ty) = ty {
        let expected = "parameters without a type, because the model declares it";
        session.report(statements::target(ty.span, expected));
    }
}

/// Reads the path of a site, such as `hidden[1].w` or `out.*`. Reports any other expression.
pub fn path(session: &mut CheckSession<'_>, target: &ast::Expr) -> Option<String> {
    let text = path_text(session, target);
    if text.is_none() {
        let expected = "a parameter such as `w`, `h1.w`, `hidden[0].w` or `h1.*`";
        session.report(statements::target(target.span, expected));
    }
    text
}

/// Returns the text of a path, or `None` if the expression is not a path.
pub fn path_text(session: &mut CheckSession<'_>, target: &ast::Expr) -> Option<String> {
    match &*target.kind {
        ast::ExprKind::Name(name) => Some(name.to_string()),
        ast::ExprKind::Field(base, part) => Some(format!("{}.{}", path_text(session, base)?, part.name)),
        ast::ExprKind::Glob(base) => Some(format!("{}.*", path_text(session, base)?)),
        ast::ExprKind::Paren(inner) => path_text(session, inner),
        ast::ExprKind::Index(base, indices) => {
            let [ast::Index::At(at)] = indices.as_slice() else {
                return None;
            };
            let base = path_text(session, base)?;
            let at = session
                .number(at, "the position of a layer")
                .filter(|at| at.fract() == 0.0 && *at >= 0.0)?;
            Some(format!("{base}[{at}]"))
        }
        _ => None,
    }
}

/// Checks that a path matches sites of the model, and that no other line of the posterior covers these sites.
fn covered(
    session: &mut CheckSession<'_>,
    path: &str,
    span: Span,
    model: (ModelId, &[String]),
    seen: &mut BTreeMap<String, Span>,
) {
    let matching = sites::matching(path, model.1);
    if matching.is_empty() {
        return unknown(session, path, span, model);
    }
    for site in matching {
        // The paths `layers[0].w` and `layers[1].w` may have separate lines, although both match
        // the site `layers[_].w`.
        let key = if site.contains("[_]") {
            format!("{path} {site}")
        } else {
            site.to_owned()
        };
        if let Some(first) = seen.get(&key) {
            return session.report(report::site_twice(site, *first, span));
        }
        seen.insert(key, span);
    }
}

fn unknown(session: &mut CheckSession<'_>, path: &str, span: Span, model: (ModelId, &[String])) {
    let item = &session.module.models[model.0];
    let layer = model.1.iter().any(|site| sites::below(path, site).is_some());
    session.report(match layer {
        true => report::layer_not_site(span, path, model.1),
        false => report::unknown_site(span, path, (&item.name, item.span), model.1),
    });
}

/// Reads the right-hand side `= other.path` of a line that fixes sites.
fn fixed_site(session: &mut CheckSession<'_>, value: &ast::Expr) -> Option<PosteriorValue> {
    let written = path_text(session, value);
    let Some((name, rest)) = written.as_deref().and_then(|path| path.split_once('.')) else {
        let expected = "a parameter of another inference, such as `map.first.*`";
        let diagnostic = types::mismatch(value.span, expected, "another value");
        return session.reject(diagnostic.help("for a start value write `w ~ Point(fixed(1.0))`"));
    };
    let id = session.infer(name, value.span)?;
    let model = *session.models.get(&Def::Infer(id))?;
    let known = sites::paths(&session.module, model);
    if sites::matching(rest, &known).is_empty() {
        unknown(session, rest, value.span, (model, &known));
        return None;
    }
    Some(PosteriorValue::From(id, rest.into()))
}

/// Checks a line such as `w = other.w`. The other inference block must have the sites that the line
/// fixes.
fn same_sites(
    session: &mut CheckSession<'_>,
    target: (&str, &[String]),
    source: (crate::tree::InferId, &Arc<str>),
    span: Span,
) {
    let Some(model) = session.models.get(&Def::Infer(source.0)).copied() else {
        return;
    };
    let known = sites::paths(&session.module, model);
    let (to, from) = (target.0.strip_suffix(".*"), source.1.strip_suffix(".*"));
    let (Some(to), Some(from)) = (to, from) else {
        if to.is_some() != from.is_some() {
            let expected = "`.*` on both sides or on none";
            session.report(types::mismatch(span, expected, "it on one side"));
        }
        return;
    };
    for site in sites::matching(target.0, target.1) {
        let rest = sites::below(to, site).unwrap_or_default();
        let wanted = format!("{from}{rest}");
        if sites::matching(&wanted, &known).is_empty() {
            unknown(session, &wanted, span, (model, &known));
        }
    }
}

/// Reads the right-hand side `~ Family(start values)`.
fn family(session: &mut CheckSession<'_>, written: &ast::Expr) -> Option<PosteriorValue> {
    let written = written.without_parentheses();
    let (callee, args) = written.as_call();
    let ast::ExprKind::Name(name) = &*callee.kind else {
        let expected = "a family such as `Normal(scale = 0.1)`";
        return session.reject(types::mismatch(written.span, expected, "another expression"));
    };
    let span = callee.span;
    let id = match session.names.find_value(name, false) {
        Some((def, _)) if session.names.broken.contains(&def) => return None,
        Some((Def::Dist(id), _)) => id,
        Some((def, at)) => {
            return session.reject(report_names::wrong_kind(span, name, "a family", def.kind(), at));
        }
        None => {
            let dists = session.names.all(|def| matches!(def, Def::Dist(_)));
            let diagnostic = report_names::unknown_name(span, name, dists);
            return session.reject(diagnostic);
        }
    };
    let id = match parameterisation::chosen(&session.module, id, args) {
        Ok(id) => id,
        Err(diagnostic) => return session.reject(*diagnostic),
    };
    let starts = starts(session, id, args, written.span);
    Some(PosteriorValue::Family(id, starts))
}

fn starts(
    session: &mut CheckSession<'_>,
    id: DistId,
    args: &[ast::Arg],
    span: Span,
) -> Vec<(Arc<str>, StartValue)> {
    let item = session.module.dists[id].clone();
    session.with_constants(|body| {
        let signature = Signature::new(&item.name, &item.params, &item.locals, Lifts::Yes);
        let slots = body.slots(signature, args, span);
        let given = item
            .params
            .iter()
            .zip(slots)
            .filter_map(|(param, slot)| Some((param, slot?)));
        given
            .filter_map(|(param, arg)| {
                Some((
                    param.param.name.clone(),
                    start(body, &param.param.ty, arg, (&param.param.name, signature))?,
                ))
            })
            .collect()
    })
}

impl Checker<'_> {
    /// Returns the rule that an argument names, unless a constant or a function has this name.
    pub fn scaled_start(&self, written: &ast::Expr) -> Option<ScaledStart> {
        let name = written.as_name().filter(|name| self.find_item(name).is_none())?;
        ScaledStart::ALL.into_iter().find(|rule| rule.name() == &**name)
    }
}

/// Reads a start value: a number, `fixed(number)`, a rule such as `he`, or a distribution. If it is a
/// distribution, the start value is drawn from it.
fn start(
    body: &mut Checker<'_>,
    wanted: &Ty,
    arg: &ast::Arg,
    param: (&str, Signature<'_>),
) -> Option<StartValue> {
    let (name, signature) = param;
    let written = arg.value.without_parentheses();
    let inner = match &*written.kind {
        ast::ExprKind::Call(callee, args) if callee.as_name().is_some_and(|word| &**word == "fixed") => {
            let [ast::Arg { name: None, value }] = args.as_slice() else {
                body.report(types::too_many(written.span, "fixed", 1, args.len()));
                return None;
            };
            Some(value)
        }
        _ => None,
    };
    if let (Some(rule), Ty::Tensor(Elem::Real(Support::Real), _)) = (body.scaled_start(written), wanted) {
        return Some(StartValue::Scaled(rule));
    }
    let value = body.argument_value(wanted, inner.unwrap_or(written));
    let start = match inner {
        Some(_) => StartValue::Fixed(value.clone()),
        None if matches!(value.ty, Ty::Dist(_)) && !matches!(wanted, Ty::Dist(_)) => {
            return Some(StartValue::Draw(value));
        }
        None => StartValue::Value(value.clone()),
    };
    let Ty::Tensor(elem, _) = wanted else {
        return body.expect(&value, wanted).then_some(start);
    };
    // A single number is the starting value of all elements.
    let scalar = match elem {
        Elem::Int => Ty::int(),
        elem => Ty::Tensor(elem.clone(), Vec::new()),
    };
    let mut solver = super::solve::Solver::rigid();
    if value.ty == Ty::Error {
        return None;
    }
    let signature = Signature {
        lifts: Lifts::No,
        ..signature
    };
    let slot = super::fit::ParamSlot {
        name,
        signature,
        lifted: &mut None,
    };
    let fits = body.fit(&value, &scalar, &mut solver, Some(slot));
    if fits && constant(body.module, &value).is_none() {
        let what = format!("the start value `{name}`");
        body.report(types::not_constant(value.span, &what));
        return None;
    }
    fits.then_some(start)
}
