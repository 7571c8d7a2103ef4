//! Attributes: constant data in an application of an op, in addition to the operands.

use crate::dist::Instance;
use crate::function::Function;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One attribute. Reals are compared by their bits: 0 differs from -0, and a NaN equals itself.
#[derive(Clone, Debug)]
pub enum Attr {
    /// A distribution (of `sample` and `observe`).
    Dist(Arc<Instance>),
    /// An axis size.
    Dim(Dim),
    /// An element type.
    DType(DType),
    /// A function (of `map`, `scan`, `expect`).
    Function(Arc<Function>),
    /// An integer.
    Int(i64),
    /// Several integers: axes, a permutation, or offsets.
    Ints(Vec<i64>),
    /// A real number.
    Real(f64),
    /// The elements of a small literal tensor.
    Reals(Vec<f64>),
    /// A shape.
    Shape(Shape),
    /// A name, or the labels of a contraction such as `ij,bj->bi`.
    Symbol(Arc<str>),
}

/// The attributes of one node, in the order in which the op declares them.
pub type Attrs = Vec<Attr>;

impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        match (self, other) {
            (Attr::Dist(left), Attr::Dist(right)) => Arc::ptr_eq(left, right) || left == right,
            (Attr::Dim(left), Attr::Dim(right)) => left == right,
            (Attr::DType(left), Attr::DType(right)) => left == right,
            (Attr::Function(left), Attr::Function(right)) => Arc::ptr_eq(left, right) || left == right,
            (Attr::Int(left), Attr::Int(right)) => left == right,
            (Attr::Ints(left), Attr::Ints(right)) => left == right,
            (Attr::Real(left), Attr::Real(right)) => left.to_bits() == right.to_bits(),
            (Attr::Reals(left), Attr::Reals(right)) => bits(left).eq(bits(right)),
            (Attr::Shape(left), Attr::Shape(right)) => left == right,
            (Attr::Symbol(left), Attr::Symbol(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Attr {}

impl Hash for Attr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            // Only the name is hashed, because names distinguish almost all distributions. Equality compares all
            // fields.
            Attr::Dist(instance) => instance.name.hash(state),
            Attr::Function(function) => (&function.name, function.nodes.len()).hash(state),
            Attr::Dim(dim) => dim.hash(state),
            Attr::DType(dtype) => dtype.hash(state),
            Attr::Int(number) => number.hash(state),
            Attr::Ints(numbers) => numbers.hash(state),
            Attr::Real(number) => number.to_bits().hash(state),
            Attr::Reals(numbers) => bits(numbers).for_each(|bits| bits.hash(state)),
            Attr::Shape(shape) => shape.hash(state),
            Attr::Symbol(name) => name.hash(state),
        }
    }
}

fn bits(reals: &[f64]) -> impl Iterator<Item = u64> {
    reals.iter().map(|real| real.to_bits())
}

macro_rules! getters {
    ($($(#[$meta:meta])* $name:ident $variant:ident $ty:ty;)*) => {
        $($(#[$meta])*
        pub(crate) fn $name(attrs: &[Attr], at: usize) -> &$ty {
            match attrs.get(at) {
                Some(Attr::$variant(value)) => value,
                other => unreachable!("attribute {at} is {other:?}; the verifier admits only declared attributes"),
            }
        })*
    };
}

getters! {
    /// Returns the distribution at position `at` of the attributes.
    dist Dist Arc<Instance>;
    /// Returns the axis size at position `at` of the attributes.
    dim Dim Dim;
    /// Returns the element type at position `at` of the attributes.
    dtype DType DType;
    /// Returns the function at position `at` of the attributes.
    function Function Arc<Function>;
    /// Returns the integer at position `at` of the attributes.
    int Int i64;
    /// Returns the integers at position `at` of the attributes.
    ints Ints Vec<i64>;
    /// Returns the real at position `at` of the attributes.
    real Real f64;
    /// Returns the reals at position `at` of the attributes.
    reals Reals Vec<f64>;
    /// Returns the shape at position `at` of the attributes.
    shape Shape Shape;
    /// Returns the symbol at position `at` of the attributes.
    symbol Symbol Arc<str>;
}

/// Declares the attributes of an op, in order. The macro defines the specification `ATTRS`. For
/// each attribute, the macro also defines a function that reads the attribute from a node.
macro_rules! attributes {
    ($($name:ident: $kind:ident),* $(,)?) => {
        #[allow(non_camel_case_types)]
        enum Position {
            $($name),*
        }

        /// The specification of the op's attributes.
        pub(super) const ATTRS: &[$crate::attr::AttrSpec] =
            &[$($crate::attr::AttrSpec::new(stringify!($name), $crate::attr::AttrKind::$kind)),*];

        $($crate::attr::attributes!(@read $name $kind);)*
    };
    (@read $name:ident Dist) => { $crate::attr::attributes!(@borrowed $name dist std::sync::Arc<$crate::dist::Instance>); };
    (@read $name:ident Function) => { $crate::attr::attributes!(@borrowed $name function std::sync::Arc<$crate::function::Function>); };
    (@read $name:ident Ints) => { $crate::attr::attributes!(@borrowed $name ints [i64]); };
    (@read $name:ident Reals) => { $crate::attr::attributes!(@borrowed $name reals [f64]); };
    (@read $name:ident Shape) => { $crate::attr::attributes!(@borrowed $name shape bnnc_base::shape::Shape); };
    (@read $name:ident Symbol) => { $crate::attr::attributes!(@borrowed $name symbol std::sync::Arc<str>); };
    (@read $name:ident DType) => { $crate::attr::attributes!(@copied $name dtype bnnc_base::dtype::DType); };
    (@read $name:ident Dim) => { $crate::attr::attributes!(@copied $name dim bnnc_base::shape::Dim); };
    (@read $name:ident Int) => { $crate::attr::attributes!(@copied $name int i64); };
    (@read $name:ident Real) => { $crate::attr::attributes!(@copied $name real f64); };
    (@borrowed $name:ident $get:ident $ty:ty) => {
        #[doc = concat!("The attribute `", stringify!($name), "` of a node.")]
        pub fn $name(attrs: &[$crate::attr::Attr]) -> &$ty {
            $crate::attr::$get(attrs, Position::$name as usize)
        }
    };
    (@copied $name:ident $get:ident $ty:ty) => {
        #[doc = concat!("The attribute `", stringify!($name), "` of a node.")]
        pub fn $name(attrs: &[$crate::attr::Attr]) -> $ty {
            *$crate::attr::$get(attrs, Position::$name as usize)
        }
    };
}

pub(crate) use attributes;

/// Converts axes from integers to indices.
pub fn positions(axes: &[i64]) -> Vec<usize> {
    axes.iter().map(|axis| *axis as usize).collect()
}

/// The declaration of one attribute of an op: its name in the text form, and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttrSpec {
    /// The name in the text form, such as `axes` in `axes = [0, 1]`.
    pub name: &'static str,
    /// The variant of [`Attr`] that the attribute has.
    pub kind: AttrKind,
}

impl AttrSpec {
    /// Creates the declaration of an attribute.
    pub const fn new(name: &'static str, kind: AttrKind) -> AttrSpec {
        AttrSpec { name, kind }
    }
}

impl Attr {
    /// Creates an attribute that holds axes, a permutation or offsets.
    pub fn positions(positions: &[usize]) -> Attr {
        Attr::Ints(positions.iter().map(|at| *at as i64).collect())
    }

    /// Creates an [`Attr::Symbol`] from a name or from the labels of a contraction.
    pub fn name(name: &str) -> Attr {
        Attr::Symbol(name.into())
    }

    /// Returns the kind of the attribute.
    pub fn kind(&self) -> AttrKind {
        match self {
            Attr::Dist(_) => AttrKind::Dist,
            Attr::Dim(_) => AttrKind::Dim,
            Attr::DType(_) => AttrKind::DType,
            Attr::Function(_) => AttrKind::Function,
            Attr::Int(_) => AttrKind::Int,
            Attr::Ints(_) => AttrKind::Ints,
            Attr::Real(_) => AttrKind::Real,
            Attr::Reals(_) => AttrKind::Reals,
            Attr::Shape(_) => AttrKind::Shape,
            Attr::Symbol(_) => AttrKind::Symbol,
        }
    }
}

/// The kind of an [`Attr`], as used in declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    /// [`Attr::Dist`].
    Dist,
    /// [`Attr::Dim`].
    Dim,
    /// [`Attr::DType`].
    DType,
    /// [`Attr::Function`].
    Function,
    /// [`Attr::Int`].
    Int,
    /// [`Attr::Ints`].
    Ints,
    /// [`Attr::Real`].
    Real,
    /// [`Attr::Reals`].
    Reals,
    /// [`Attr::Shape`].
    Shape,
    /// [`Attr::Symbol`].
    Symbol,
}
