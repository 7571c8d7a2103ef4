//! Distributions with several parameterisations: `Bernoulli(logit = ..)` and `Bernoulli(p = ..)` are two items with one name.
//!
//! A call chooses the first parameterisation that has all argument names in the call, and the first of all if the call has no argument names.

use super::body::{BodyKind, Checker};
use crate::builtin::BuiltinRule;
use crate::constant::constant;
use crate::diagnostics::types as report;
use crate::parts::DistributionPart;
use crate::range::{self, Range};
use crate::tree::{
    DistId, LocalId, LocalKind, ModelItem, Module, ParamBinding, TypedExpr, TypedExprKind, TypedStmt,
};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_grammar::ast::{self, BinaryOp};
use bnnc_graph::dist::Support;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use std::collections::{HashMap, HashSet};

/// Returns the parameterisation that a call chooses.
///
/// # Errors
/// Fails if an argument name does not occur in any of the parameterisations, or if no
/// parameterisation has all argument names in the call.
pub fn chosen(module: &Module, first: DistId, args: &[ast::Arg]) -> Result<DistId, Box<Diagnostic>> {
    let item = &module.dists[first];
    let named = || args.iter().filter_map(|arg| arg.name.as_ref());
    let has = |id: &DistId, name: &str| {
        let mut params = module.dists[*id].params.iter();
        params.any(|param| &*param.param.name == name)
    };
    let all: Vec<DistId> = [first].into_iter().chain(item.others.iter().copied()).collect();
    let fits = |id: &&DistId| named().all(|name| has(id, &name.name));
    if let Some(id) = all.iter().find(fits) {
        return Ok(*id);
    }
    if item.others.is_empty() {
        // The caller reports the unknown name, because it has more information about the parameters.
        return Ok(first);
    }
    let mut names: Vec<&str> = Vec::new();
    for param in all.iter().flat_map(|id| &module.dists[*id].params) {
        if !names.contains(&&*param.param.name) {
            names.push(&param.param.name);
        }
    }
    let unknown = named().find(|name| !names.contains(&&*name.name));
    Err(Box::new(match (unknown, named().next_back()) {
        (Some(name), _) => report::unknown_argument(name.span, &item.name, &name.name, names.iter().copied()),
        (None, Some(last)) => {
            let lists = all.iter().map(|id| {
                let params = module.dists[*id].params.iter();
                let params: Vec<&str> = params.map(|param| &*param.param.name).collect();
                format!("`{}({})`", item.name, params.join(", "))
            });
            report::mixed_parameters(last.span, &item.name, &lists.collect::<Vec<_>>())
        }
        (None, None) => return Ok(first),
    }))
}

/// Returns the parameter at the same position in another parameterisation. This parameter must have
/// a narrower support, and all other parameters must have equal names. For example, a probability
/// has a narrower support than a logit, and a rate has a narrower support than a log rate.
fn narrower(module: &Module, id: DistId, at: usize) -> Option<&ParamBinding> {
    let item = &module.dists[id];
    let is_other = |other: &&DistId| {
        let params = &module.dists[**other].params;
        let same = |(position, (a, b)): (usize, (&ParamBinding, &ParamBinding))| {
            (position == at) != (a.param.name == b.param.name)
        };
        params.len() == item.params.len() && item.params.iter().zip(params).enumerate().all(same)
    };
    let other = item.others.iter().find(is_other)?;
    let params = &module.dists[*other].params;
    let is_wide = matches!(
        &item.params[at].param.ty,
        Ty::Tensor(Elem::Real(Support::Real), _)
    );
    is_wide.then(|| &params[at])
}

impl Checker<'_> {
    /// Returns the known lower and upper bound of a value's elements.
    pub fn range_of(&self, value: &TypedExpr) -> Range {
        range::range(self.module, &self.ranges, value)
    }

    /// Returns the range of a distribution's values. It is derived from the ends that the
    /// distribution declares.
    pub fn range_of_values(&self, dist: &TypedExpr) -> Option<Range> {
        let [low, high] = self.ends(dist)?;
        Some((
            low.map_or(f64::NEG_INFINITY, |low| low.0),
            high.map_or(f64::INFINITY, |high| high.1),
        ))
    }

    /// Returns the ranges of the two ends of a distribution's values. An end is `None` if the
    /// distribution does not declare it.
    pub fn ends(&self, dist: &TypedExpr) -> Option<[Option<Range>; 2]> {
        let TypedExprKind::MakeDist(id, args) = &dist.kind else {
            return None;
        };
        let item = &self.module.dists[*id];
        let params = item.params.iter().map(|param| param.local);
        let known = params.zip(args.iter().map(|arg| self.range_of(arg))).collect();
        Some(item.ends.each_ref().map(|end| {
            let at = end.at.as_ref();
            at.map(|at| range::range(self.module, &known, at))
        }))
    }

    /// Warns if the square of a parameter is passed as a standard deviation. Statistical texts write `Normal(mu, sigma ^ 2)`, with the variance as
    /// the second argument. In this language, it is the standard deviation.
    pub fn squared_deviation(&mut self, id: DistId, values: &[TypedExpr]) {
        let places = matches!(self.place, BodyKind::Model | BodyKind::Layer);
        let Some(at) = deviation(self.module, id).filter(|_| places && !self.in_library) else {
            return;
        };
        let Some(value) = values.get(at) else { return };
        let Some(local) = square_of(self.module, value) else {
            return;
        };
        if self.locals[local].kind != LocalKind::Site {
            return;
        }
        let item = &self.module.dists[id];
        let (dist, param) = (&item.name, &item.params[at].param.name);
        let site = (&*self.locals[local].name, self.locals[local].span);
        let diagnostic = report::squared_deviation(value.span, dist, param, site);
        self.report(diagnostic);
    }

    /// Warns about an argument whose range suggests another parameterisation. For example,
    /// `Bernoulli(sigmoid(x))` would treat the probability `sigmoid(x)` as a logit.
    pub fn applied_twice(&mut self, id: DistId, args: &[ast::Arg], values: &[TypedExpr]) {
        let places = matches!(self.place, BodyKind::Model | BodyKind::Layer);
        if self.in_library || !places || self.module.dists[id].others.is_empty() {
            return;
        }
        for (at, value) in values.iter().enumerate() {
            let Some(other) = narrower(self.module, id, at) else {
                continue;
            };
            let item = &self.module.dists[id];
            let own = &item.params[at].param.name;
            let is_named = args
                .iter()
                .any(|arg| arg.name.as_ref().is_some_and(|name| name.name == *own));
            // If a named argument is only a number or a variable, its author most likely chose the
            // parameterisation deliberately.
            let is_plain =
                matches!(value.kind, TypedExprKind::Local(_)) || constant(self.module, value).is_some();
            let range = self.range_of(value);
            if is_named && is_plain || !lies_in(value, range, &other.param.ty) {
                continue;
            }
            let found = match &value.ty {
                Ty::Tensor(Elem::Real(Support::Simplex), _) => "a simplex".to_owned(),
                _ => super::fit::range_text(range.0, range.1),
            };
            let diagnostic = report::applied_twice(value.span, &item.name, own, &other.param.name, &found);
            self.report(diagnostic);
        }
    }
}

/// Like [`Checker::applied_twice`], but for arguments whose ranges depend on the values of the
/// inputs. An example is `exposure * exp(x)` with a positive exposure. The function warns only if
/// the argument is computed with an inverse link function. Other positive arguments, such as a
/// positive slope times a positive column, may be intended.
pub fn applied_twice_to_data(
    module: &Module,
    model: &ModelItem,
    inputs: HashMap<LocalId, Range>,
) -> Vec<Diagnostic> {
    let mut links = Links {
        module,
        known: inputs,
        before: HashMap::new(),
        undone: HashSet::new(),
        found: Vec::new(),
    };
    links.visit(&model.body);
    links.found
}

/// Computes the ranges of a model's variables, statement by statement.
struct Links<'m> {
    module: &'m Module,
    /// The ranges of the variables, given the ranges of the inputs in the data.
    known: HashMap<LocalId, Range>,
    before: HashMap<LocalId, Range>,
    /// The variables whose value is the result of an inverse link function.
    undone: HashSet<LocalId>,
    found: Vec<Diagnostic>,
}

impl Links<'_> {
    fn visit(&mut self, body: &[TypedStmt]) {
        for stmt in body {
            match stmt {
                TypedStmt::Let(local, value) => {
                    let ranges =
                        [&self.known, &self.before].map(|known| range::range(self.module, known, value));
                    self.known.insert(*local, ranges[0]);
                    self.before.insert(*local, ranges[1]);
                    if self.undoes_link(value) {
                        self.undone.insert(*local);
                    }
                }
                TypedStmt::Sample(sample) => self.judge(&sample.dist),
                TypedStmt::For { body, .. } => self.visit(body),
                TypedStmt::Return(_) => {}
            }
        }
    }

    fn undoes_link(&self, value: &TypedExpr) -> bool {
        walk::any(value, &mut |part| match &part.kind {
            TypedExprKind::Local(local) => self.undone.contains(local),
            TypedExprKind::Builtin(builtin, _) => {
                matches!(builtin.rule, BuiltinRule::Elementwise(op) if INVERSE_LINKS.iter().any(|known| op.is(known)))
            }
            _ => false,
        })
    }

    fn judge(&mut self, dist: &TypedExpr) {
        let TypedExprKind::MakeDist(id, args) = &dist.kind else {
            return;
        };
        let item = &self.module.dists[*id];
        for (at, value) in args.iter().enumerate() {
            let Some(other) = narrower(self.module, *id, at).filter(|_| self.undoes_link(value)) else {
                continue;
            };
            let [range, before] =
                [&self.known, &self.before].map(|known| range::range(self.module, known, value));
            let is_in = |range: Range| lies_in(value, range, &other.param.ty);
            if is_in(range) && !is_in(before) {
                let found = super::fit::range_text(range.0, range.1);
                let own = &item.params[at].param.name;
                let diagnostic =
                    report::applied_twice(value.span, &item.name, own, &other.param.name, &found);
                self.found
                    .push(diagnostic.note("found with the shapes and values of the data"));
            }
        }
    }
}

/// Inverse link functions.
static INVERSE_LINKS: [&OpDef; 3] = [&ops::exp::EXP, &ops::softplus::SOFTPLUS, &ops::sigmoid::SIGMOID];

/// Returns the index of the parameter that is the standard deviation: its square is the variance
/// that the distribution declares.
fn deviation(module: &Module, id: DistId) -> Option<usize> {
    let item = &module.dists[id];
    let variance = item.value(DistributionPart::Variance)?;
    let base = square_of(module, variance)?;
    item.params.iter().position(|param| param.local == base)
}

/// If an expression is the square of a variable, returns the variable.
fn square_of(module: &Module, expr: &TypedExpr) -> Option<LocalId> {
    match &expr.kind {
        TypedExprKind::Binary(BinaryOp::Mul, left, right) => match (&left.kind, &right.kind) {
            (TypedExprKind::Local(a), TypedExprKind::Local(b)) if a == b => Some(*a),
            _ => None,
        },
        TypedExprKind::Binary(BinaryOp::Pow, base, power) => match &base.kind {
            TypedExprKind::Local(base) if constant(module, power) == Some(2.0) => Some(*base),
            _ => None,
        },
        // A called function may return the square of its argument.
        TypedExprKind::CallFn(id, args) => {
            let item = &module.fns[*id];
            let ([param], [TypedStmt::Return(value)], [arg]) = (&item.params[..], &item.body[..], &args[..])
            else {
                return None;
            };
            match &arg.kind {
                TypedExprKind::Local(local) if square_of(module, value) == Some(param.local) => Some(*local),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether all possible values of an expression lie in the support of a type. Returns
/// `false` for the constant zero, because zero is a common logit and a common log rate.
fn lies_in(value: &TypedExpr, (low, high): Range, ty: &Ty) -> bool {
    let Ty::Tensor(Elem::Real(support), _) = ty else {
        return false;
    };
    if matches!(&value.ty, Ty::Tensor(Elem::Real(Support::Simplex), _)) {
        return true;
    }
    let (from, to) = match support {
        Support::Interval(from, to) => (*from, *to),
        Support::Simplex => (0.0, 1.0),
        Support::Real | Support::Ordered | Support::Integers(_) => return false,
    };
    from <= low && high <= to && (low, high) != (0.0, 0.0)
}
