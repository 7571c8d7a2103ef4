//! Distributions with several parameterisations: `Bernoulli(logit = ..)` and `Bernoulli(p = ..)` are two items of one name.
//!
//! A call chooses the first whose parameters have all the names that it gives; arguments by position alone mean the first.

use super::body::{Body, Place};
use super::session::Session;
use crate::constant::constant;
use crate::range::{self, Range};
use crate::report::types as report;
use crate::show;
use crate::tree::{Binding, DistId, Expr, ExprKind, LocalId, LocalKind, Module, Stmt};
use crate::types::{Elem, Ty};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_grammar::ast::{self, BinaryOp};
use bnnc_graph::dist::Support;

/// The parameterisation that a call means.
///
/// # Errors
/// A name that none has, or names that none has together.
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
        // The call reports the name with what is known of the parameters.
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

/// As [`chosen`], reported.
pub fn chosen_or_reported(session: &mut Session<'_>, first: DistId, args: &[ast::Arg]) -> Option<DistId> {
    chosen(&session.module, first, args)
        .map_err(|diagnostic| session.diagnostics.push(*diagnostic))
        .ok()
}

/// The parameter of another parameterisation that stands where this one does, all others being the same, and that takes fewer values: the
/// probability for a logit, the rate for its logarithm.
fn narrower(module: &Module, id: DistId, at: usize) -> Option<&Binding> {
    let item = &module.dists[id];
    let is_other = |other: &&DistId| {
        let params = &module.dists[**other].params;
        let same = |(position, (a, b)): (usize, (&Binding, &Binding))| {
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

impl Body<'_> {
    /// Where the elements of a value lie, as far as that is known.
    pub fn range_of(&self, value: &Expr) -> Range {
        range::range(self.module, &self.ranges, value)
    }

    /// Where the values of a distribution lie, by the ends that it declares.
    pub fn range_of_values(&self, dist: &Expr) -> Option<Range> {
        let ExprKind::MakeDist(id, args) = &dist.kind else {
            return None;
        };
        let item = &self.module.dists[*id];
        let params = item.params.iter().map(|param| param.local);
        let known = params.zip(args.iter().map(|arg| self.range_of(arg))).collect();
        let [low, high] = item.ends.each_ref().map(|end| {
            let at = end.at.as_ref();
            at.map_or((f64::NEG_INFINITY, f64::INFINITY), |at| {
                range::range(self.module, &known, at)
            })
        });
        Some((low.0, high.1))
    }

    /// Warns of the square of a parameter where a distribution takes a standard deviation: `Normal(mu, sigma ^ 2)`, as statisticians write it.
    pub fn squared_deviation(&mut self, id: DistId, values: &[Expr]) {
        let places = matches!(self.place, Place::Model | Place::Layer);
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
        let diagnostic = report::squared_deviation(value.span, (dist, param), site);
        self.report(diagnostic);
    }

    /// Warns of arguments that lie where those of another parameterisation do: `Bernoulli(sigmoid(x))` takes `sigmoid(x)` for a logit.
    pub fn applied_twice(&mut self, id: DistId, args: &[ast::Arg], values: &[Expr]) {
        let places = matches!(self.place, Place::Model | Place::Layer);
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
            // By name, a number or a variable is meant as it is written.
            let is_plain = matches!(value.kind, ExprKind::Local(_)) || constant(self.module, value).is_some();
            let range = self.range_of(value);
            if is_named && is_plain || !lies_in(value, range, &other.param.ty) {
                continue;
            }
            let found = match &value.ty {
                Ty::Tensor(Elem::Real(Support::Simplex), _) => show::support(Support::Simplex),
                _ => super::fit::range_text(range.0, range.1),
            };
            let diagnostic = report::applied_twice(value.span, (&item.name, own), &other.param.name, &found);
            self.report(diagnostic);
        }
    }
}

/// The parameters of a distribution that are its standard deviation: its variance is declared as their square.
fn deviation(module: &Module, id: DistId) -> Option<usize> {
    let item = &module.dists[id];
    let (_, variance) = item.values.iter().find(|(name, _)| &**name == "variance")?;
    let base = square_of(module, variance)?;
    item.params.iter().position(|param| param.local == base)
}

/// The variable of which an expression is the square.
fn square_of(module: &Module, expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Mul, left, right) => match (&left.kind, &right.kind) {
            (ExprKind::Local(a), ExprKind::Local(b)) if a == b => Some(*a),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::Pow, base, power) => match &base.kind {
            ExprKind::Local(base) if constant(module, power) == Some(2.0) => Some(*base),
            _ => None,
        },
        // A function that returns the square of its argument.
        ExprKind::CallFn(id, args) => {
            let item = &module.fns[*id];
            let ([param], [Stmt::Return(value)], [arg]) = (&item.params[..], &item.body[..], &args[..])
            else {
                return None;
            };
            match &arg.kind {
                ExprKind::Local(local) if square_of(module, value) == Some(param.local) => Some(*local),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether a value provably lies in a type and is not zero: zero is a common logit or logarithm.
fn lies_in(value: &Expr, (low, high): Range, ty: &Ty) -> bool {
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
