//! Dims of a callee, found from the dims of its arguments.

use crate::dims::{Atom, Dim, MetaId};
use crate::tree::LocalId;
use crate::types::{Elem, Ty};
use bnnc_base::source::Span;
use std::collections::BTreeMap;

/// What is known of a callee's dims and static integers. The callee's variables become metas, so that they cannot be
/// taken for the caller's.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    found: BTreeMap<u32, (Dim, Span)>,
    rigid: bool,
}

impl Solver {
    /// For types of one and the same item: nothing is to be found.
    pub fn rigid() -> Solver {
        Solver {
            found: BTreeMap::new(),
            rigid: true,
        }
    }

    /// Says what a variable of the callee is.
    pub fn set(&mut self, local: LocalId, dim: Dim, span: Span) {
        self.found.entry(local.0).or_insert((dim, span));
    }

    /// What a variable of the callee is, and the argument that said so.
    pub fn get(&self, local: LocalId) -> Option<&(Dim, Span)> {
        self.found.get(&local.0)
    }

    /// The same with one atom of the caller replaced in all that was found.
    pub fn replaced(&self, wanted: &Atom, value: &Dim) -> Solver {
        let replace = |dim: &Dim| dim.substitute(&|atom| (atom == wanted).then(|| value.clone()));
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

    /// A dimension of the callee in the caller's names, with metas for what is not known.
    pub fn dim(&self, dim: &Dim) -> Dim {
        if self.rigid {
            return dim.clone();
        }
        dim.substitute(&|atom| match atom {
            Atom::Local(local) => Some(match self.found.get(&local.0) {
                Some((dim, _)) => dim.clone(),
                None => Dim::atom(Atom::Meta(MetaId(local.0))),
            }),
            Atom::Meta(_) | Atom::Div(..) => None,
        })
    }

    /// A type of the callee in the caller's names.
    pub fn ty(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Tensor(elem, dims) => {
                Ty::Tensor(self.elem(elem), dims.iter().map(|dim| self.dim(dim)).collect())
            }
            Ty::Dist(elem) => Ty::Dist(self.elem(elem)),
            Ty::List(element, length) => Ty::List(Box::new(self.ty(element)), self.dim(length)),
            Ty::Layer(_) | Ty::Function(_) | Ty::Text | Ty::Optimiser | Ty::Error => ty.clone(),
        }
    }

    /// An element type of the callee in the caller's names.
    pub fn elem(&self, elem: &Elem) -> Elem {
        match elem {
            Elem::Index(size) => Elem::Index(self.dim(size)),
            Elem::Real(_) | Elem::Int | Elem::Bool | Elem::Count => elem.clone(),
        }
    }

    /// Whether a dimension of the callee can equal one of the caller; finds one unknown if there is exactly one, and
    /// puts off what has more.
    pub fn meet(&mut self, wanted: &Dim, actual: &Dim, span: Span) -> bool {
        let wanted = self.dim(wanted);
        if !has_meta(&wanted) {
            return equal(&wanted, actual);
        }
        if let Some((meta, value)) = solve(&wanted, actual) {
            self.found.insert(meta, (value, span));
        }
        true
    }
}

/// Whether two dims are equal, or may be once numbers are known: rounded division cannot be decided before, and is
/// checked again when the program meets its data.
pub fn equal(a: &Dim, b: &Dim) -> bool {
    let difference = a.plus(b, -1);
    difference.terms.is_empty()
        || difference
            .terms
            .keys()
            .flatten()
            .any(|atom| matches!(atom, Atom::Div(..)))
}

/// Whether something is still to be found.
pub fn has_meta(dim: &Dim) -> bool {
    dim.terms.keys().flatten().any(|atom| match atom {
        Atom::Meta(_) => true,
        Atom::Local(_) => false,
        Atom::Div(a, b) => has_meta(a) || has_meta(b),
    })
}

/// Solves `c * meta + rest = actual` where the rest has no metas and the division is exact.
fn solve(wanted: &Dim, actual: &Dim) -> Option<(u32, Dim)> {
    let mut unknown = None;
    let mut rest = actual.clone();
    for (atoms, coefficient) in &wanted.terms {
        let term = Dim {
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
