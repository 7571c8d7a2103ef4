//! The types of the language.

use crate::dims::Dim;
use crate::tree::LayerId;
use bnnc_graph::dist::Support;
use std::sync::Arc;

/// What one element of an array is.
#[derive(Clone, Debug, PartialEq)]
pub enum Elem {
    /// A real with its constraint: `real`, `positive`, `unit`, `real(lo, hi)`, `simplex`, `ordered`.
    Real(Support),
    /// An integer (also a static one, in dimensions).
    Int,
    /// A truth value.
    Bool,
    /// A non-negative integer.
    Count,
    /// An integer from 0 below a size.
    Index(Dim),
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// A scalar (no dims) or an array. `simplex(k)` is `Real(Simplex)` with the one dim `k`, `ordered(k)` likewise.
    Tensor(Elem, Vec<Dim>),
    /// A distribution over values of this type; `dist` as a parameter type is over scalars `real`. Elementwise ones lift.
    Dist(Elem),
    /// A layer made with its parameters, to be called with inputs.
    Layer(LayerId),
    /// A list of equal things, `[Dense(400) for l in 0..2]`, with its length.
    List(Box<Ty>, Dim),
    /// A function of one real that lifts elementwise (`fn` parameters such as `activation`), or of the given arity.
    Function(usize),
    /// A text.
    Text,
    /// An optimiser with its arguments.
    Optimiser,
    /// Already reported: fits everything, so that one mistake is said once.
    Error,
}

impl Ty {
    /// A scalar real.
    pub fn real() -> Ty {
        Ty::Tensor(Elem::Real(Support::Real), Vec::new())
    }

    /// A scalar integer.
    pub fn int() -> Ty {
        Ty::Tensor(Elem::Int, Vec::new())
    }

    /// A scalar truth value.
    pub fn bool() -> Ty {
        Ty::Tensor(Elem::Bool, Vec::new())
    }
}

/// A typed parameter of a function, a layer, a distribution, a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Ty,
}
