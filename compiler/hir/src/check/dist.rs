//! Checks distributions: the items, the construction of distributions, and uses of their parts.

mod defined;
mod ends;

use super::body::{BodyKind, Checker, DistValue, error};
use super::call::{Lifts, Signature, lifted};
use super::expr::Want;
use super::names::Def;
use super::parameterisation;
use super::session::CheckSession;
use super::solve::Solver;
use crate::builtin::BuiltinRule;
use crate::diagnostics::{statements, types as report};
use crate::dims::DimExpr;
use crate::parts::{DistributionPart, PartArgument, PartResult};
use crate::tree::{DistId, DistItem, LocalId, LocalKind, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use crate::{lift, show, walk};
use bnnc_base::source::Span;
use bnnc_grammar::ast::{self, Arg, DefinitionKind, DistDecl, Ident};
use bnnc_graph::dist::{MeasureKind, Support};
use defined::{Defined, Flag};
use std::collections::HashMap;

/// Checks a `dist` item.
pub fn check(session: &mut CheckSession<'_>, id: DistId, item: &DistDecl, library: bool) {
    let mut body = session.body(BodyKind::Dist, library, &item.name.name);
    let mut lists = body.params(&[&item.params], true);
    let mut params = lists.pop().unwrap_or_default();
    body.defaults(&item.params, &mut params);
    let on = body.ty(&item.on, false);
    if !matches!(on, Ty::Tensor(..) | Ty::Error) {
        let found = show::ty(&on, &body.locals);
        body.report(report::mismatch(item.on.span, "a type of numbers", &found));
    }
    let scalar = |ty: &Ty| match ty {
        Ty::Tensor(_, dims) => dims.is_empty(),
        Ty::Dist(_) | Ty::Function(_) | Ty::Error => true,
        Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::List(..) => false,
    };
    let joint = matches!(&on, Ty::Tensor(Elem::Real(Support::Real), dims) if dims.len() == 1);
    let mut dist = DistItem {
        groups: joint,
        elementwise: scalar(&on) && params.iter().all(|param| scalar(&param.param.ty)),
        params,
        on,
        ..session.module.dists[id].clone()
    };
    let mut seen: HashMap<Defined, Span> = HashMap::new();
    for line in &item.body {
        let is_definition = matches!(line.kind, DefinitionKind::Value | DefinitionKind::Function(_));
        let Some(defined) = Defined::from_name(&line.name.name).filter(|_| is_definition) else {
            body.report(statements::unknown_definition(
                line.name.span,
                "a distribution",
                &line.name.name,
                &Defined::all().map(Defined::name).collect::<Vec<_>>(),
            ));
            continue;
        };
        if let Some(first) = seen.insert(defined, line.name.span) {
            body.report(statements::definition_twice(
                &line.name.name,
                first,
                line.name.span,
            ));
            continue;
        }
        match defined {
            Defined::Flag(found) => flag(&mut body, line, found, &mut dist),
            Defined::End(end) => ends::definition(&mut body, line, end, &mut dist),
            Defined::Part(part) => definition(&mut body, line, part, &mut dist),
        }
    }
    check_measure(&mut body, item, &dist, &seen);
    let (locals, diagnostics) = body.finish();
    dist.locals = locals;
    session.diagnostics.extend(diagnostics);
    session.module.dists[id] = dist;
}

/// Returns whether a distribution declares `point = true`.
pub fn is_point(item: &DistDecl) -> bool {
    item.body
        .iter()
        .any(|line| *line.name.name == *Flag::Point.name())
}

/// Reads a flag: `point = true`, `improper = true`, `mixture = true` or `per_tensor = true`.
/// `per_tensor = true` is allowed only for a distribution on `real[n]`. Without this flag, such a
/// distribution would be joint across several tensors.
fn flag(body: &mut Checker<'_>, line: &ast::Definition, flag: Flag, dist: &mut DistItem) {
    let name = flag.name();
    let is_flag =
        matches!(line.kind, DefinitionKind::Value) && matches!(*line.value.kind, ast::ExprKind::Bool(true));
    if !is_flag {
        let diagnostic = statements::definition_form(line.span, name);
        return body.report(diagnostic.help(format!("write `{name} = true`, or leave it out")));
    }
    match flag {
        Flag::Point => dist.measure = MeasureKind::Point,
        Flag::Improper => dist.measure = MeasureKind::Improper,
        Flag::Mixture => dist.mixture = true,
        Flag::PerTensor if !dist.groups && dist.on != Ty::Error => {
            body.report(statements::never_shared(line.span, &dist.name));
        }
        Flag::PerTensor => dist.groups = false,
    }
}

/// Checks which parts a point distribution or an improper distribution declares. A point
/// distribution needs a `draw` without noise and cannot have a density. An improper distribution
/// needs `log_density` and cannot have a `draw`.
fn check_measure(body: &mut Checker<'_>, item: &DistDecl, dist: &DistItem, seen: &HashMap<Defined, Span>) {
    use DistributionPart as Part;
    let (flag, wanted, excluded, other) = match dist.measure {
        MeasureKind::Density => return,
        MeasureKind::Point => (
            Flag::Point,
            Part::Draw,
            &[Part::LogDensity, Part::Cdf, Part::Entropy][..],
            Flag::Improper,
        ),
        MeasureKind::Improper => (
            Flag::Improper,
            Part::LogDensity,
            &[Part::Draw, Part::Cdf, Part::Mean, Part::Entropy][..],
            Flag::Point,
        ),
    };
    let at = seen.get(&Defined::Flag(flag)).copied().unwrap_or(item.name.span);
    if !seen.contains_key(&Defined::Part(wanted)) {
        body.report(statements::flag_needs(at, flag.name(), wanted.name()));
    }
    let excluded = excluded.iter().copied().map(Defined::Part);
    for defined in excluded.chain([Defined::Flag(other)]) {
        if let Some(span) = seen.get(&defined) {
            body.report(statements::flag_excludes(*span, flag.name(), defined.name(), at));
        }
    }
    let is_noise = |part: &TypedExpr| match &part.kind {
        TypedExprKind::Builtin(builtin, _) => matches!(builtin.rule, BuiltinRule::Noise(_)),
        TypedExprKind::DistPart(_, part, _) => *part == Part::Draw,
        _ => false,
    };
    let draw = dist.value(wanted);
    if let Some(value) = draw.filter(|value| walk::any(value, &mut |part| is_noise(part))) {
        body.report(statements::flag_excludes(value.span, flag.name(), "noise", at));
    }
}

fn definition(body: &mut Checker<'_>, line: &ast::Definition, part: DistributionPart, dist: &mut DistItem) {
    let form = match part.argument() {
        Some(_) => format!("{part}(x)"),
        None => part.to_string(),
    };
    body.place = match part {
        DistributionPart::Draw => BodyKind::Draw,
        _ => BodyKind::Dist,
    };
    let argument = match (&line.kind, part.argument()) {
        (DefinitionKind::Function(names), Some(kind)) => match names.as_slice() {
            [argument] => Some((argument, kind)),
            _ => return body.report(statements::definition_form(line.span, &form)),
        },
        (DefinitionKind::Value, None) => None,
        _ => return body.report(statements::definition_form(line.span, &form)),
    };
    body.scopes.push(HashMap::new());
    let local = argument.map(|(argument, kind)| declare_argument(body, argument, kind, &dist.on));
    let value = body.expr(&line.value, Want::Any);
    body.leave();
    check_result(body, part.result(), &value, &dist.on);
    if dist.elementwise
        && part.result() != PartResult::Classes
        && let Some((at, what)) = lift::in_expr(&value, lift::NoisePolicy::Allowed)
    {
        body.report(statements::not_elementwise(at, &dist.name, &what));
    }
    match local {
        Some(local) => dist.functions.push((part, local, value)),
        None => dist.values.push((part, value)),
    }
}

fn declare_argument(body: &mut Checker<'_>, argument: &Ident, kind: PartArgument, on: &Ty) -> LocalId {
    let ty = match kind {
        PartArgument::Probability => Ty::Tensor(Elem::Real(Support::Interval(0.0, 1.0)), Vec::new()),
        PartArgument::Order => Ty::real(),
        PartArgument::Value => on.clone(),
    };
    body.declare(&argument.name, argument.span, ty, LocalKind::Param)
}

/// Checks that the value of a definition has the right type. `log_density`, `cdf` and `entropy` are
/// scalars. `draw` has the type of the distribution's values. `mean`, `variance` and the other
/// moments have this type too, except that their elements are reals if the distribution is
/// discrete. `probabilities` is a vector.
fn check_result(body: &mut Checker<'_>, result: PartResult, value: &TypedExpr, on: &Ty) {
    let Ty::Tensor(elem, dims) = on else { return };
    let real = |dims: &[DimExpr]| Ty::reals(dims.to_vec());
    let scalar = value.ty.is_scalar();
    let wanted = match result {
        PartResult::Number => real(&[]),
        PartResult::Classes => match &value.ty {
            Ty::Tensor(_, found) if found.len() == 1 => real(found),
            _ => match elem {
                Elem::Index(size) => real(std::slice::from_ref(size)),
                _ => real(&[DimExpr::number(2)]),
            },
        },
        PartResult::Moment if scalar => real(&[]),
        PartResult::Moment => real(dims),
        PartResult::Value => match elem {
            Elem::Real(_) => on.clone(),
            Elem::Int | Elem::Bool | Elem::Count | Elem::Index(_) => match &value.ty {
                Ty::Tensor(found, _) if found == elem => on.clone(),
                _ => real(dims),
            },
        },
    };
    body.expect(value, &wanted);
}

impl Checker<'_> {
    /// Checks the construction of a distribution, such as `Normal(0, 1)`. Returns it with the type
    /// of its values.
    pub fn make_dist(&mut self, id: DistId, args: &[Arg], span: Span) -> (TypedExpr, Option<DistValue>) {
        let id = match parameterisation::chosen(self.module, id, args) {
            Ok(id) => id,
            Err(diagnostic) => {
                self.skip(args, span);
                return (self.error(*diagnostic, span), None);
            }
        };
        let item = &self.module.dists[id];
        let lifts = if item.elementwise { Lifts::Yes } else { Lifts::No };
        let signature = Signature::new(&item.name, &item.params, &item.locals, lifts);
        let mut solver = Solver::default();
        let Some(arguments) = self.valid_arguments(signature, args, span, &mut solver) else {
            return (error(span), None);
        };
        self.applied_twice(id, args, &arguments.values);
        self.squared_deviation(id, &arguments.values);
        let on = self.result(&solver.ty(&item.on), signature, span);
        let kind = TypedExprKind::MakeDist(id, arguments.values);
        let Ty::Tensor(elem, dims) = lifted(on, &arguments.lifted) else {
            return (error(span), None);
        };
        let value = DistValue {
            elem: elem.clone(),
            dims,
            elementwise: item.elementwise,
        };
        (TypedExpr::new(kind, Ty::Dist(elem), span), Some(value))
    }

    /// Returns the value type of a checked distribution.
    pub fn dist_value(&self, value: &TypedExpr) -> Option<DistValue> {
        match (&value.kind, &value.ty) {
            (TypedExprKind::Local(local), Ty::Dist(elem)) => {
                Some(self.dist_values.get(local).cloned().unwrap_or_else(|| DistValue {
                    elem: elem.clone(),
                    dims: Vec::new(),
                    elementwise: true,
                }))
            }
            (TypedExprKind::MakeDist(id, args), Ty::Dist(elem)) => {
                let item = &self.module.dists[*id];
                Some(self.made_value(item, args, elem))
            }
            _ => None,
        }
    }

    fn made_value(&self, item: &DistItem, args: &[TypedExpr], elem: &Elem) -> DistValue {
        if item.elementwise {
            let dims = args.iter().find_map(|arg| match &arg.ty {
                Ty::Tensor(_, dims) if !dims.is_empty() => Some(dims.clone()),
                Ty::Dist(_) => self
                    .dist_value(arg)
                    .map(|inner| inner.dims)
                    .filter(|dims| !dims.is_empty()),
                _ => None,
            });
            return DistValue {
                elem: elem.clone(),
                dims: dims.unwrap_or_default(),
                elementwise: true,
            };
        }
        let mut solver = Solver::default();
        for (param, arg) in item.params.iter().zip(args) {
            for (dim, found) in param.param.ty.dims().iter().zip(arg.ty.dims()) {
                solver.meet(dim, found, arg.span);
            }
        }
        DistValue {
            elem: elem.clone(),
            dims: solver.ty(&item.on).dims().to_vec(),
            elementwise: false,
        }
    }

    /// Checks an expression that uses a part of a distribution, such as `prior.mean` or
    /// `prior.log_density(x)`.
    pub fn part(&mut self, base: &ast::Expr, part: &Ident, args: Option<&[Arg]>, span: Span) -> TypedExpr {
        if let Some(module) = self.foreign_module(base) {
            self.skip(args.unwrap_or_default(), span);
            return self.in_foreign_module(&module, &part.name, span);
        }
        let base = self.expr(base, Want::Any);
        let given: Vec<TypedExpr> = args
            .unwrap_or_default()
            .iter()
            .map(|arg| self.expr(&arg.value, Want::Any))
            .collect();
        let Some(value) = self.dist_value(&base) else {
            if base.ty == Ty::Error {
                return error(span);
            }
            let found = show::ty(&base.ty, &self.locals);
            let diagnostic = report::unknown_part(part.span, &found, &part.name, []);
            let is_function = crate::builtin::lookup(&part.name).is_some()
                || matches!(self.find_item(&part.name), Some((Some(Def::Fn(_)), _)));
            let help = || format!("write the function before its argument: `{}(..)`", part.name);
            return self.error(diagnostic.help_if(is_function.then(help)), span);
        };
        let (name, known) = match &base.kind {
            TypedExprKind::MakeDist(id, _) => {
                let item = &self.module.dists[*id];
                let functions =
                    DistributionPart::all().filter(|part| part.argument().is_some() && item.has(*part));
                (
                    &*item.name,
                    functions
                        .chain(item.values.iter().map(|(part, _)| *part))
                        .collect::<Vec<_>>(),
                )
            }
            _ => ("a distribution", DistributionPart::all().collect()),
        };
        let Some(found) = known.iter().copied().find(|known| known.name() == &*part.name) else {
            let of = match name.contains(' ') {
                true => name.to_owned(),
                false => format!("`{name}`"),
            };
            let known = known.iter().map(|part| part.name());
            let diagnostic = report::unknown_part(part.span, &of, &part.name, known);
            return self.error(diagnostic, span);
        };
        let wants = usize::from(found.argument().is_some());
        if given.len() < wants {
            return self.error(report::missing(span, &part.name, &["x"]), span);
        }
        if given.len() > wants || (args.is_some() && wants == 0) {
            let help = match wants {
                0 => format!("write `.{}` without parentheses", part.name),
                _ => format!("write `.{}(x)` with one argument", part.name),
            };
            return self.error(report::not_callable(span, "a value").help(help), span);
        }
        if found == DistributionPart::Draw && !matches!(self.place, BodyKind::Draw | BodyKind::Prompt) {
            return self.error(report::noise(span, found.name()), span);
        }
        let argument = given.into_iter().next();
        let Some(ty) = self.part_type(found, &value, argument.as_ref(), span) else {
            return error(span);
        };
        let kind = TypedExprKind::DistPart(Box::new(base), found, argument.map(Box::new));
        TypedExpr::new(kind, ty, span)
    }

    fn part_type(
        &mut self,
        part: DistributionPart,
        value: &DistValue,
        argument: Option<&TypedExpr>,
        span: Span,
    ) -> Option<Ty> {
        if let Some(argument) = argument {
            let Ty::Tensor(_, found) = &argument.ty else {
                return None;
            };
            let is_moment = part.argument() == Some(PartArgument::Order);
            let elem = match part.argument() {
                Some(PartArgument::Probability) => Elem::Real(Support::Interval(0.0, 1.0)),
                Some(PartArgument::Order) => Elem::Real(Support::Real),
                Some(PartArgument::Value) | None => value.elem.clone(),
            };
            if !value.elementwise {
                // A moment takes its order and has the dims of a value; a density is the other way round.
                let (of_argument, of_result) = match is_moment {
                    true => (Vec::new(), value.dims.clone()),
                    false => (value.dims.clone(), Vec::new()),
                };
                let wanted = Ty::Tensor(elem, of_argument);
                return self.expect(argument, &wanted).then(|| Ty::reals(of_result));
            }
            let own = TypedExpr::new(TypedExprKind::Error, Ty::reals(value.dims.clone()), span);
            let dims = self.stretch(&format!("`{part}`"), &own, argument, span)?;
            return self
                .expect(argument, &Ty::Tensor(elem, found.clone()))
                .then(|| Ty::reals(dims));
        }
        Some(match part.result() {
            PartResult::Number if !value.elementwise => Ty::real(),
            PartResult::Classes => match &value.elem {
                Elem::Index(size) => Ty::reals(vec![size.clone()]),
                _ => Ty::reals(vec![DimExpr::number(2)]),
            },
            PartResult::Value => Ty::Tensor(value.elem.clone(), value.dims.clone()),
            PartResult::Number | PartResult::Moment => Ty::reals(value.dims.clone()),
        })
    }
}
