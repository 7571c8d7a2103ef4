//! Terms: expressions with variables. Terms are used as the patterns, replacements and examples of rules.

mod axes;
mod build;
mod matching;

pub use axes::{Axes, LEFT, P, Q, RESULT, RIGHT};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::Attr;
use bnnc_graph::op::{Op, OpDef};
use bnnc_graph::ops;
pub use build::example;
pub use matching::{Bindings, matches};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An expression with variables.
#[derive(Clone, Debug)]
pub enum Term {
    /// Any value. Two terms with equal indices stand for the same value.
    Value(usize),
    /// Any constant whose elements are all equal.
    Constant(usize),
    /// A constant with this number in all elements.
    Number(f64),
    /// The number of elements along some axes of an operand. The operand belongs to the replaced
    /// call, so this term occurs only in replacements. The case does not apply if the number is
    /// zero or unknown.
    Size(usize, Axes),
    /// An application of an op. A pattern without attributes matches any attributes.
    Apply(Op, Vec<Term>, Vec<AttrTerm>),
}

/// An attribute of an application.
#[derive(Clone, Debug)]
pub enum AttrTerm {
    /// An attribute that equals this attribute.
    Is(Attr),
    /// In a pattern, any shape. In a replacement, the shape of the replaced call's result.
    Shape,
    /// A list of axes.
    Axes(Axes),
    /// The letters of a contraction: those of each operand and of the result.
    Labels([Axes; 3]),
}

/// Any value. In an example, it is a 2 x 3 matrix.
pub const X: Term = Term::Value(0);
/// Another value. In an example, it is another 2 x 3 matrix.
pub const Y: Term = Term::Value(1);
/// A third value. In an example, it is a vector of 3 elements.
pub const ROW: Term = Term::Value(2);
/// Any constant.
pub const A: Term = Term::Constant(0);
/// Another constant.
pub const B: Term = Term::Constant(1);

/// Creates a pattern for an application of an op, with any attributes.
pub fn on<const N: usize>(op: &'static OpDef, args: [Term; N]) -> Term {
    Term::Apply(Op(op), args.into(), Vec::new())
}

/// The number of elements along some axes of an operand. The operand belongs to the replaced call.
pub fn size(operand: usize, axes: Axes) -> Term {
    Term::Size(operand, axes)
}

/// Creates a constant with this number in all elements.
pub fn number(value: f64) -> Term {
    Term::Number(value)
}

impl From<Attr> for AttrTerm {
    fn from(attr: Attr) -> AttrTerm {
        AttrTerm::Is(attr)
    }
}

macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident($($arg:ident: $ty:ty),*) = $op:expr, [$($operand:expr),*], [$($attr:expr),*];)*) => {
        $($(#[$meta])*
        pub fn $name($($arg: $ty),*) -> Term {
            Term::Apply(Op($op), vec![$($operand),*], vec![$($attr.into()),*])
        })*
    };
}

functions! {
    /// The natural exponential.
    exp(x: Term) = &ops::exp::EXP, [x], [];
    /// The natural logarithm.
    log(x: Term) = &ops::log::LOG, [x], [];
    /// The hyperbolic tangent.
    tanh(x: Term) = &ops::tanh::TANH, [x], [];
    /// `log (1 + exp x)`.
    softplus(x: Term) = &ops::softplus::SOFTPLUS, [x], [];
    /// `x ^ exponent`.
    power(x: Term, exponent: f64) = &ops::pow::POW, [x, Term::Number(exponent)], [];
    /// `x < y`.
    lt(x: Term, y: Term) = &ops::lt::LT, [x, y], [];
    /// `if condition { x } else { y }`.
    select(condition: Term, x: Term, y: Term) = &ops::select::SELECT, [condition, x, y], [];
    /// An integer converted to a real.
    to_real(x: Term) = &ops::to_real::TO_REAL, [x], [];
    /// A constant.
    constant(dtype: DType, sizes: &[usize], number: f64) = &ops::constant::CONSTANT, [],
        [Attr::Shape(Shape::fixed(sizes)), Attr::DType(dtype), Attr::Real(number)];
    /// A broadcast to the given sizes. `axes` gives the position of each axis of `x` in the result.
    broadcast(x: Term, sizes: &[usize], axes: &[usize]) = &ops::broadcast::BROADCAST, [x],
        [Attr::Shape(Shape::fixed(sizes)), Attr::positions(axes)];
    /// A broadcast. In a pattern, the result may have any shape. In a replacement, the result has
    /// the shape of the replaced call.
    repeat(x: Term, axes: Axes) = &ops::broadcast::BROADCAST, [x], [AttrTerm::Shape, AttrTerm::Axes(axes)];
    /// A permutation of axes.
    transpose(x: Term, axes: impl Into<Axes>) = &ops::transpose::TRANSPOSE, [x], [AttrTerm::Axes(axes.into())];
    /// The elements of `x`, reshaped to the given sizes.
    reshape(x: Term, sizes: &[usize]) = &ops::reshape::RESHAPE, [x], [Attr::Shape(Shape::fixed(sizes))];
    /// The array `x` in another shape. In a pattern, the result may have any shape. In a
    /// replacement, the result has the shape of the replaced call.
    reshaped(x: Term) = &ops::reshape::RESHAPE, [x], [AttrTerm::Shape];
    /// A sum along axes.
    sum(x: Term, axes: impl Into<Axes>) = &ops::reduce_sum::REDUCE_SUM, [x], [AttrTerm::Axes(axes.into())];
    /// The maximum along axes.
    largest(x: Term, axes: impl Into<Axes>) = &ops::reduce_max::REDUCE_MAX, [x], [AttrTerm::Axes(axes.into())];
    /// A labelled contraction.
    contract(x: Term, y: Term, labels: &str) = &ops::contract::CONTRACT, [x, y], [Attr::name(labels)];
    /// A contraction whose operands and result have the given letters.
    lettered(x: Term, y: Term, letters: [Axes; 3]) = &ops::contract::CONTRACT, [x, y], [AttrTerm::Labels(letters)];
    /// `0, 1, .., size - 1`.
    iota(size: usize) = &ops::iota::IOTA, [], [Attr::Dim(Dim::Fixed(size))];
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:expr;)*) => {
        $(impl $trait for Term {
            type Output = Term;
            fn $method(self, other: Term) -> Term {
                on($op, [self, other])
            }
        }

        impl $trait<f64> for Term {
            type Output = Term;
            fn $method(self, other: f64) -> Term {
                on($op, [self, Term::Number(other)])
            }
        }

        impl $trait<Term> for f64 {
            type Output = Term;
            fn $method(self, other: Term) -> Term {
                on($op, [Term::Number(self), other])
            }
        })*
    };
}

operators! {
    Add add &ops::add::ADD;
    Div div &ops::div::DIV;
    Mul mul &ops::mul::MUL;
    Sub sub &ops::sub::SUB;
}

impl Neg for Term {
    type Output = Term;
    fn neg(self) -> Term {
        on(&ops::neg::NEG, [self])
    }
}
