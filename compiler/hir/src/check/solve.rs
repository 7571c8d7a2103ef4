//! Solves for the dims of a callee, given the dims of its arguments.

use crate::dims::{Atom, DimExpr, MetaId};
use crate::tree::LocalId;
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use std::collections::BTreeMap;

/// The known dims and static integers of a callee. Variables of the callee are represented as
/// metavariables, because a variable of the caller may have the same id.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    found: BTreeMap<u32, (DimExpr, Span)>,
    rigid: bool,
}

impl Solver {
    /// Creates a solver without unknowns. It compares two types of the same item.
    pub fn rigid() -> Solver {
        Solver {
            found: BTreeMap::new(),
            rigid: true,
        }
    }

    /// Sets a variable of the callee to a value.
    pub fn set(&mut self, local: LocalId, dim: DimExpr, span: Span) {
        self.found.entry(local.0).or_insert((dim, span));
    }

    /// Returns the value of one of the callee's variables, and the position of the argument that
    /// determined this value.
    pub fn get(&self, local: LocalId) -> Option<&(DimExpr, Span)> {
        self.found.get(&local.0)
    }

    /// Returns a copy of the solver in which the atom `wanted` is replaced by `value` in all known
    /// dims.
    pub fn replaced(&self, wanted: &Atom, value: &DimExpr) -> Solver {
        let replace = |dim: &DimExpr| dim.substitute(&|atom| (atom == wanted).then(|| value.clone()));
        let found = self
            .found
            .iter()
            .map(|(local, (dim, span))| (*local, (replace(dim), *span)))
            .collect();
        Solver {
            found,
            rigid: self.rigid,
        }
    }

    /// Expresses a dimension of the callee in the caller's names. Unknowns become metavariables.
    pub fn dim(&self, dim: &DimExpr) -> DimExpr {
        if self.rigid {
            return dim.clone();
        }
        dim.substitute(&|atom| match atom {
            Atom::Local(local) => Some(match self.found.get(&local.0) {
                Some((dim, _)) => dim.clone(),
                None => DimExpr::atom(Atom::Meta(MetaId(local.0))),
            }),
            Atom::Meta(_) | Atom::Div(..) => None,
        })
    }

    /// Expresses a type of the callee in the caller's names.
    pub fn ty(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Tensor(elem, dims) => {
                Ty::Tensor(self.elem(elem), dims.iter().map(|dim| self.dim(dim)).collect())
            }
            Ty::Dist(elem) => Ty::Dist(self.elem(elem)),
            Ty::List(element, length) => Ty::List(Box::new(self.ty(element)), self.dim(length)),
            Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::Function(_) | Ty::Error => ty.clone(),
        }
    }

    /// Expresses an element type of the callee in the caller's names.
    pub fn elem(&self, elem: &Elem) -> Elem {
        match elem {
            Elem::Index(size) => Elem::Index(self.dim(size)),
            Elem::Real(_) | Elem::Int | Elem::Bool | Elem::Count => elem.clone(),
        }
    }

    /// Returns whether a dimension of the callee can be equal to a dimension of the caller. Solves
    /// for an unknown if the equation has exactly one, and returns `true` if it has several.
    pub fn meet(&mut self, wanted: &DimExpr, actual: &DimExpr, span: Span) -> bool {
        let wanted = self.dim(wanted);
        if !has_meta(&wanted) {
            return equal(&wanted, actual);
        }
        if let Some((meta, value)) = solve(&wanted, actual) {
            self.found.insert(meta, (value, span));
        }
        !never_equal(&wanted, actual)
    }
}

/// Returns whether two dims differ for all values of their names: a number divides the coefficients of all names in their difference, but not
/// the constant term, as in `8 * n` and 12.
fn never_equal(a: &DimExpr, b: &DimExpr) -> bool {
    let mut difference = a.plus(b, -1);
    let constant = difference.terms.remove(&Vec::new()).unwrap_or(0);
    let coefficients = difference.terms.values().map(|value| value.unsigned_abs());
    let divisor = coefficients.fold(0, gcd);
    divisor > 1 && !constant.unsigned_abs().is_multiple_of(divisor)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns whether two dims are equal or may turn out to be equal once sizes are known. An equation
/// with rounded division cannot be decided before, so it is checked again when the program is bound
/// to its data.
pub fn equal(a: &DimExpr, b: &DimExpr) -> bool {
    let difference = a.plus(b, -1);
    difference.terms.is_empty()
        || difference
            .terms
            .keys()
            .flatten()
            .any(|atom| matches!(atom, Atom::Div(..)))
}

/// Returns whether two lists of dims have the same length, and their dims can be equal.
pub fn all_equal(a: &[DimExpr], b: &[DimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

/// Returns whether a dimension contains an unknown.
pub fn has_meta(dim: &DimExpr) -> bool {
    dim.terms.keys().flatten().any(|atom| match atom {
        Atom::Meta(_) => true,
        Atom::Local(_) => false,
        Atom::Div(a, b) => has_meta(a) || has_meta(b),
    })
}

/// Solves `c * meta + rest = actual`. Returns `None` if `rest` contains metavariables or the division is not exact.
fn solve(wanted: &DimExpr, actual: &DimExpr) -> Option<(u32, DimExpr)> {
    let mut unknown = None;
    let mut rest = actual.clone();
    for (atoms, coefficient) in &wanted.terms {
        let term = DimExpr {
            terms: BTreeMap::from([(atoms.clone(), *coefficient)]),
        };
        match atoms.as_slice() {
            [Atom::Meta(meta)] if unknown.is_none() => unknown = Some((meta.0, *coefficient)),
            _ if has_meta(&term) => return None,
            _ => rest = rest.plus(&term, -1),
        }
    }
    let (meta, coefficient) = unknown?;
    if rest
        .terms
        .values()
        .any(|value| value.checked_rem(coefficient) != Some(0))
    {
        return None;
    }
    rest.terms.values_mut().for_each(|value| *value /= coefficient);
    Some((meta, rest))
}
