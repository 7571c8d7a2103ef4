//! Terms: expressions with variables. Terms are used as the patterns, replacements and examples of rules.

use crate::nodes::{application, constant_of};
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::{Attr, Attrs};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Op, OpDef};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// An expression with variables.
#[derive(Clone, Debug)]
pub enum Term {
    /// Any value. Equal indices stand for equal values.
    Value(usize),
    /// Any constant whose elements are all equal.
    Constant(usize),
    /// A constant with this number in all elements.
    Number(f64),
    /// An application of an op. A pattern without attributes matches any attributes.
    Apply(Op, Vec<Term>, Attrs),
}

/// Any value, which is a 2 x 3 matrix in an example.
pub const X: Term = Term::Value(0);
/// Another value, which is another 2 x 3 matrix in an example.
pub const Y: Term = Term::Value(1);
/// A third value, which is a vector of 3 elements in an example.
pub const ROW: Term = Term::Value(2);
/// Any constant.
pub const A: Term = Term::Constant(0);
/// Another constant.
pub const B: Term = Term::Constant(1);

/// The values and numbers to which the variables of a term are bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bindings {
    values: [Option<Value>; 3],
    numbers: [Option<f64>; 2],
}

impl Bindings {
    /// Returns the value to which [`X`] is bound.
    pub fn x(&self) -> Option<Value> {
        self.values[0]
    }

    /// Returns the number to which [`A`] is bound.
    pub fn a(&self) -> Option<f64> {
        self.numbers[0]
    }

    fn with_value(mut self, at: usize, value: Value) -> Option<Bindings> {
        let known = *self.values[at].get_or_insert(value);
        (known == value).then_some(self)
    }

    fn with_number(mut self, at: usize, number: f64) -> Option<Bindings> {
        let known = *self.numbers[at].get_or_insert(number);
        (known.to_bits() == number.to_bits()).then_some(self)
    }
}

/// Creates a pattern for an application of an op, with any attributes.
pub fn on<const N: usize>(op: &'static OpDef, args: [Term; N]) -> Term {
    Term::Apply(Op(op), args.into(), Attrs::new())
}

/// Returns all bindings with which `terms` match the operands `args` of `op`. If the op is commutative, both
/// orders are tried.
pub fn matches(builder: &Builder, op: &OpDef, terms: &[Term], args: &[Value]) -> Vec<Bindings> {
    let mut found = Vec::new();
    let operands = (op, terms, args);
    match_operands(builder, operands, Bindings::default(), &mut |bindings| {
        found.push(bindings)
    });
    found
}

type Operands<'a> = (&'a OpDef, &'a [Term], &'a [Value]);

fn match_operands(
    builder: &Builder,
    operands: Operands<'_>,
    known: Bindings,
    then: &mut dyn FnMut(Bindings),
) {
    let (op, terms, args) = operands;
    if terms.len() != args.len() {
        return;
    }
    match_in_order(builder, terms, args, known, then);
    if let ([left, right], [x, y]) = (terms, args)
        && op.is_commutative()
    {
        match_term(builder, left, *y, known, &mut |known| {
            match_term(builder, right, *x, known, then);
        });
    }
}

fn match_in_order(
    builder: &Builder,
    terms: &[Term],
    args: &[Value],
    known: Bindings,
    then: &mut dyn FnMut(Bindings),
) {
    match (terms, args) {
        ([term, terms @ ..], [arg, args @ ..]) => match_term(builder, term, *arg, known, &mut |known| {
            match_in_order(builder, terms, args, known, then);
        }),
        _ => then(known),
    }
}

fn match_term(builder: &Builder, term: &Term, value: Value, known: Bindings, then: &mut dyn FnMut(Bindings)) {
    match term {
        Term::Value(at) => known.with_value(*at, value).into_iter().for_each(then),
        Term::Constant(at) => {
            let number = constant_of(builder, value);
            let bound = number.and_then(|number| known.with_number(*at, number));
            bound.into_iter().for_each(then);
        }
        Term::Number(number) => {
            if constant_of(builder, value) == Some(*number) {
                then(known);
            }
        }
        Term::Apply(op, terms, _) => {
            if let Some((args, _)) = application(builder, value, op.0) {
                match_operands(builder, (op, terms, args), known, then);
            }
        }
    }
}

impl Term {
    /// Builds the value of the term. A term that consists only of numbers becomes a constant of the type
    /// `constants`.
    pub fn build(&self, builder: &mut Builder, bindings: &Bindings, constants: &Type) -> Value {
        if let Some(number) = self.number(bindings) {
            return builder.constant(constants, number);
        }
        match self {
            Term::Value(at) => bindings.values[*at]
                .unwrap_or_else(|| unreachable!("variable {at} of a result is in its pattern")),
            Term::Constant(_) | Term::Number(_) => unreachable!("constants have numbers"),
            Term::Apply(op, terms, attrs) => {
                let args: Vec<Value> = (terms.iter())
                    .map(|term| term.build(builder, bindings, constants))
                    .collect();
                builder.apply(op.0, &args, attrs.clone())
            }
        }
    }

    /// Returns the number that the term equals, if the term consists only of numbers.
    fn number(&self, bindings: &Bindings) -> Option<f64> {
        match self {
            Term::Value(_) => None,
            Term::Constant(at) => bindings.numbers[*at],
            Term::Number(number) => Some(*number),
            Term::Apply(op, terms, _) => {
                // If no constant is bound, there is nothing to fold, and examples stay as they are written.
                bindings.a()?;
                let numbers: Option<Vec<f64>> = terms.iter().map(|term| term.number(bindings)).collect();
                let operands: Vec<Tensor> = numbers?.into_iter().map(Tensor::scalar).collect();
                let operands: Vec<&Tensor> = operands.iter().collect();
                (op.is_elementwise() && !operands.is_empty()).then(|| (op.eval)(&operands, &[]).data[0])
            }
        }
    }

    fn has_value(&self, wanted: usize) -> bool {
        match self {
            Term::Value(at) => *at == wanted,
            Term::Constant(_) | Term::Number(_) => false,
            Term::Apply(_, terms, _) => terms.iter().any(|term| term.has_value(wanted)),
        }
    }
}

/// Returns the function of a term, for the examples of rules.
pub fn example(term: Term) -> Function {
    let mut builder = Builder::new("example");
    let matrix = Type::real(Shape::fixed(&[2, 3]));
    let types = [matrix.clone(), matrix.clone(), Type::real(Shape::fixed(&[3]))];
    let mut bindings = Bindings::default();
    for (at, (name, ty)) in ["x", "y", "row"].iter().zip(types).enumerate() {
        bindings.values[at] = term.has_value(at).then(|| builder.param(name, ty));
    }
    let value = term.build(&mut builder, &bindings, &matrix);
    builder.finish(vec![("value".into(), value)])
}

/// Creates a constant with this number in all elements.
pub fn number(value: f64) -> Term {
    Term::Number(value)
}

macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident($($arg:ident: $ty:ty),*) = $op:expr, [$($operand:expr),*], [$($attr:expr),*];)*) => {
        $($(#[$meta])*
        pub fn $name($($arg: $ty),*) -> Term {
            Term::Apply(Op($op), vec![$($operand),*], vec![$($attr),*])
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
    /// A permutation of axes.
    transpose(x: Term, axes: &[usize]) = &ops::transpose::TRANSPOSE, [x], [Attr::positions(axes)];
    /// `x` with other sizes and the same elements.
    reshape(x: Term, sizes: &[usize]) = &ops::reshape::RESHAPE, [x], [Attr::Shape(Shape::fixed(sizes))];
    /// A sum along axes.
    sum(x: Term, axes: &[usize]) = &ops::reduce_sum::REDUCE_SUM, [x], [Attr::positions(axes)];
    /// The maximum along axes.
    largest(x: Term, axes: &[usize]) = &ops::reduce_max::REDUCE_MAX, [x], [Attr::positions(axes)];
    /// A labelled contraction.
    contract(x: Term, y: Term, labels: &str) = &ops::contract::CONTRACT, [x, y], [Attr::name(labels)];
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
