//! The types of the language.

use crate::dims::DimExpr;
use crate::ids::LayerId;
use bnnc_base::dtype::DType;
use bnnc_graph::dist::Support;
use std::sync::Arc;

/// The names of the built-in types.
pub const NAMES: &[&str] = &[
    "real", "positive", "unit", "int", "count", "bool", "index", "simplex", "ordered", "dist", "fn", "layer",
];

/// The type of one array element.
#[derive(Clone, Debug, PartialEq)]
pub enum Elem {
    /// A real with its constraint: `real`, `positive`, `unit`, `real(lo, hi)`, `simplex`, `ordered`.
    Real(Support),
    /// An integer, which must be static in a dimension.
    Int,
    /// A Boolean.
    Bool,
    /// A non-negative integer.
    Count,
    /// A non-negative integer below a size.
    Index(DimExpr),
}

impl Elem {
    /// Returns the type that represents an element of this type in the graph. Counts become reals, because programs
    /// compute with counts.
    pub fn dtype(&self) -> DType {
        match self {
            Elem::Real(_) | Elem::Count => DType::Real,
            Elem::Int | Elem::Index(_) => DType::Int,
            Elem::Bool => DType::Bool,
        }
    }

    /// Returns whether the elements are integers.
    pub fn is_integral(&self) -> bool {
        matches!(self, Elem::Int | Elem::Count | Elem::Index(_))
    }
}

/// The maximum number of layers in a list, including the layers of the lists that it contains.
pub const MOST_LAYERS: i64 = 1024;

/// A type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ty {
    /// An array, or a scalar if the list of dims is empty. `simplex(k)` is `Real(Simplex)` with the
    /// single dim `k`. `ordered(k)` is `Real(Ordered)` with the single dim `k`.
    Tensor(Elem, Vec<DimExpr>),
    /// A distribution over values of this element type. A parameter of type `dist` is a
    /// distribution over scalars of type `real`. An elementwise distribution also applies to
    /// arrays.
    Dist(Elem),
    /// A layer instance that is called with inputs.
    Layer(LayerId),
    /// A layer whose result has the dims of its input: the type of a parameter of type `layer`, and of the layers that are
    /// constructed from it.
    ShapedLayer,
    /// A layer that is made of other layers, such as `Sequential(..)`.
    ComposedLayer,
    /// A list whose elements have equal types up to the lengths of lists, such as `[Dense(400) for l in 0..2]`. The dimension
    /// is the length of the list.
    List(Box<Ty>, DimExpr),
    /// A function with this number of arguments. A parameter of type `fn`, such as `activation`, is
    /// a function of one real that is applied elementwise.
    Function(usize),
    /// The type of an expression whose error has been reported. It fits everywhere, so that one
    /// mistake is reported only once.
    #[default]
    Error,
}

impl Ty {
    /// Returns whether two types may be those of elements of one list. The lengths of lists may differ.
    pub fn is_same_kind(&self, other: &Ty) -> bool {
        match (self, other) {
            (Ty::List(a, _), Ty::List(b, _)) => a.is_same_kind(b),
            (a, b) => a == b,
        }
    }

    /// Returns the type of a scalar real.
    pub fn real() -> Ty {
        Ty::reals(Vec::new())
    }

    /// Returns the type of an array of reals with these dims.
    pub fn reals(dims: Vec<DimExpr>) -> Ty {
        Ty::Tensor(Elem::Real(Support::Real), dims)
    }

    /// Returns the dims of an array. For a scalar or another type, the list is empty.
    pub fn dims(&self) -> &[DimExpr] {
        match self {
            Ty::Tensor(_, dims) => dims,
            _ => &[],
        }
    }

    /// Returns whether the type is a number or a Boolean.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Ty::Tensor(_, dims) if dims.is_empty())
    }

    /// Returns the type of a scalar integer.
    pub fn int() -> Ty {
        Ty::Tensor(Elem::Int, Vec::new())
    }

    /// Returns the type of a scalar Boolean.
    pub fn bool() -> Ty {
        Ty::Tensor(Elem::Bool, Vec::new())
    }
}

/// A typed parameter of a function, a layer, a distribution or a model.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedParam {
    /// The name of the parameter.
    pub name: Arc<str>,
    /// The type of the parameter.
    pub ty: Ty,
}
