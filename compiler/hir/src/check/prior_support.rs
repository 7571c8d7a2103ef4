//! Compares the types of parameters with the values that their priors allow.

use super::body::{BodyKind, Checker};
use crate::diagnostics::{model as report, types};
use crate::show;
use crate::tree::{LayerId, LocalId, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_base::source::Span;
use bnnc_graph::dist::Support;

/// Ends of a prior and of a type that differ by at most this part of their size are equal: a computed
/// end, such as `3 * 0.1`, is rounded.
const ROUNDING: f64 = 1e-12;

impl Checker<'_> {
    /// Narrows an element type to the ends that a distribution declares. For example,
    /// `Uniform(0, 10)` is defined on the reals. A site with this distribution and without a declared
    /// type nevertheless gets the type `real(0, 10)`. A bijection then maps the site to the whole real
    /// line.
    pub fn ended(&self, elem: Elem, dist: &TypedExpr) -> Elem {
        let (from, to) = match elem {
            Elem::Real(Support::Real) => (f64::NEG_INFINITY, f64::INFINITY),
            Elem::Real(Support::Interval(from, to)) => (from, to),
            _ => return elem,
        };
        let range = self.range_of_values(dist).unwrap_or((from, to));
        let (low, high) = (from.max(range.0), to.min(range.1));
        let is_narrower = (from < low || high < to) && low < high;
        match is_narrower && self.place != BodyKind::Prompt {
            true => Elem::Real(Support::Interval(low, high)),
            false => elem,
        }
    }

    /// Reports a site without possible values: its prior and its type do not have a value in common.
    /// Returns whether the site has values.
    pub fn has_values(&mut self, name: &str, elem: &Elem, at: Span, dist: &TypedExpr) -> bool {
        let (from, to) = bounds(elem);
        let Some((low, high)) = self.range_of_values(dist) else {
            return true;
        };
        let (low, high) = (from.max(low), to.min(high));
        if low < high || self.place == BodyKind::Prompt {
            return true;
        }
        self.report(types::no_values(at, name, low, high));
        false
    }

    /// Warns about a prior with an end that is not a constant. A bijection can keep a site between
    /// constant ends only. Returns whether the ends are constant.
    pub fn has_fixed_ends(&mut self, name: &str, dist: &TypedExpr) -> bool {
        let ends = self.ends(dist).into_iter().flatten().flatten();
        let are_fixed = ends.into_iter().all(|(least, most)| least == most);
        if !are_fixed && !self.in_library && self.place != BodyKind::Prompt {
            self.report(report::moving_end(dist.span, name));
        }
        are_fixed
    }

    /// Warns about a declared type in a part of which the prior has zero density. The type stays as
    /// declared: a posterior family on this type can have an infinite KL divergence from the prior,
    /// which a narrower type would hide.
    pub fn within_prior(&mut self, name: &str, declared: &Ty, at: Span, dist: &TypedExpr) {
        let (Ty::Tensor(elem, dims), Some(range)) = (declared, self.range_of_values(dist)) else {
            return;
        };
        let Some(outside) = outside(bounds(elem), range).filter(|_| self.place != BodyKind::Prompt) else {
            return;
        };
        let wide = show::ty(declared, &self.locals);
        let diagnostic = report::beyond_prior(at, name, &wide, &outside, dist.span);
        let narrow = self.ended(elem.clone(), dist);
        // Without a declared type, the site has all values of its prior.
        let is_inside = bounds(&narrow) == range;
        let help = match elem {
            Elem::Real(Support::Ordered) => "use a prior on all reals, such as `Normal(0, 1)`".to_owned(),
            _ if dims.is_empty() && is_inside => format!("leave out the type of `{name}`"),
            _ => {
                let support = show::ty(&Ty::Tensor(narrow, dims.clone()), &self.locals);
                format!("declare `{name}: {support}`")
            }
        };
        self.report(diagnostic.help(help));
    }

    /// Warns about argument `at` of a layer if it is the prior of weights on all reals, but has zero
    /// density in a part of the reals.
    pub fn prior_of_weights(&mut self, id: LayerId, at: usize, prior: &TypedExpr) {
        let range = self.range_of_values(prior).filter(|_| !self.in_library);
        let outside = range.and_then(|range| outside((f64::NEG_INFINITY, f64::INFINITY), range));
        let layer = &self.module.layers[id];
        if let Some(outside) = outside
            && self.is_prior_of_reals(id, layer.params[at].local)
        {
            let diagnostic = report::bounded_weights(prior.span, &layer.name, &outside);
            self.report(diagnostic);
        }
    }

    /// Returns whether a parameter of a layer is the prior of a site on all reals, in the layer or in a layer that it contains.
    fn is_prior_of_reals(&self, id: LayerId, param: LocalId) -> bool {
        let is_param = |expr: &TypedExpr| matches!(expr.kind, TypedExprKind::Local(local) if local == param);
        let mut passes = |expr: &TypedExpr| match &expr.kind {
            TypedExprKind::MakeLayer(inner, args) if *inner != id => {
                let params = self.module.layers[*inner].params.iter().zip(args);
                let mut passed = params.filter(|(_, arg)| is_param(arg));
                passed.any(|(binding, _)| self.is_prior_of_reals(*inner, binding.local))
            }
            _ => false,
        };
        self.module.layers[id].body.iter().any(|stmt| match stmt {
            TypedStmt::Sample(sample) if is_param(&sample.dist) => {
                matches!(sample.ty, Ty::Tensor(Elem::Real(Support::Real), _))
            }
            stmt => {
                let parts = walk::expressions(stmt);
                parts.into_iter().any(|part| walk::any(part, &mut passes))
            }
        })
    }
}

/// Returns the smallest and the largest value of an element type.
fn bounds(elem: &Elem) -> (f64, f64) {
    match elem {
        Elem::Real(Support::Interval(from, to)) => (*from, *to),
        Elem::Real(Support::Simplex) => (0.0, 1.0),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Describes the values between `from` and `to` that lie outside `low` to `high`. Returns `None` if
/// there are none, apart from rounding errors.
fn outside((from, to): (f64, f64), (low, high): (f64, f64)) -> Option<String> {
    let is_below = |a: f64, b: f64| {
        a < b && (a.is_infinite() || b.is_infinite() || b - a > ROUNDING * a.abs().max(b.abs()))
    };
    match (is_below(from, low), is_below(high, to)) {
        (false, false) => None,
        (true, true) => Some(format!("below {low} and above {high}")),
        (true, false) => Some(format!("below {low}")),
        (false, true) => Some(format!("above {high}")),
    }
}
