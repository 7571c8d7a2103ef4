//! Represents values as sums of products. Each product consists of a function of the parameters and
//! a function of the noise. The algebra implements the operations that preserve this form.
//!
//! Note \[Separated forms\]. A value of the graph that varies with the draw is represented as a sum
//! of terms. Each term is a coefficient times powers of atoms. The coefficient does not vary with
//! the draw; the atoms do. An atom is a node that this algebra does not decompose. Atoms that do
//! not depend on an optimised parameter are *noise*: no gradient flows through the mean of such an
//! atom over draws. Theorems 1 and 2 of Nazarovs et al. (2021) describe how multiplication and
//! integer powers act on such sums. Powers and logarithms of single products cover the scaling
//! families (Corollary 1 of that paper). The logarithm of an exponential covers the log-normal
//! (Corollary 2).
//!
//! Every form contains the node of its value in the graph. If the algebra cannot express a value,
//! the value becomes an atom. The operations therefore never fail.

mod functions;

use bnnc_base::dtype::DType;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::op::{Interval, Lower, OpDef};
use bnnc_graph::ops;
use std::collections::{HashMap, HashSet};

/// A value that would have more terms than this becomes a single atom. Computing a mean for each of
/// its terms would cost more than it saves.
const MOST_TERMS: usize = 64;

/// A power of a sum is expanded only up to this exponent.
const MOST_POWERS: f64 = 16.0;

/// Powers of atoms, sorted by atom. Each atom occurs once, and no power is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Monomial(pub Vec<(Value, f64)>);

/// A term: a coefficient times powers of atoms.
#[derive(Clone, Debug)]
pub struct SeparatedTerm {
    /// The coefficient. It does not vary with the draw.
    pub coefficient: Value,
    /// The part that varies with the draw.
    pub monomial: Monomial,
}

/// A value of the graph as a sum of terms.
#[derive(Clone, Debug)]
pub struct SeparatedForm {
    /// The value.
    pub value: Value,
    /// The terms, each of the shape of the value.
    pub terms: Vec<SeparatedTerm>,
    /// True if the value is the sum of all elements of all terms. The shapes of the terms may then differ.
    pub summed: bool,
}

impl SeparatedForm {
    /// Returns the form of a value that equals the elementwise sum of `terms`.
    fn of(value: Value, terms: Vec<SeparatedTerm>) -> SeparatedForm {
        SeparatedForm {
            value,
            terms,
            summed: false,
        }
    }

    fn only_term(&self) -> Option<&SeparatedTerm> {
        match &self.terms[..] {
            [term] if !self.summed => Some(term),
            _ => None,
        }
    }
}

/// Records whether a node depends on the draw, and whether a gradient flows from it to an optimised
/// parameter.
#[derive(Clone, Copy, Debug, Default)]
struct Dependence {
    /// True if the node depends on the draw.
    varies: bool,
    /// True if a gradient can flow from the node to an optimised parameter.
    moves: bool,
}

/// The graph under construction, and the known properties of its nodes.
pub struct Algebra<'b> {
    /// The graph.
    pub builder: &'b mut Builder,
    /// True if an absolute value or a choice was replaced by stop-gradient signs.
    pub detached: bool,
    draws: HashSet<Value>,
    moving: HashSet<Value>,
    bounds: HashMap<Value, Interval>,
    dependences: Vec<Dependence>,
    ranges: Vec<Interval>,
    /// The first set holds the atoms that are always -1 or 1, the second those that are always 0 or 1.
    signs: HashSet<Value>,
    indicators: HashSet<Value>,
    /// The logarithms of atoms that are exponentials, as forms.
    logarithms: HashMap<Value, SeparatedForm>,
}

impl<'b> Algebra<'b> {
    /// Creates the algebra of a graph. The parameters in `draws` vary with the draw. Gradients flow
    /// to the parameters in `moving`.
    pub fn new(
        builder: &'b mut Builder,
        draws: impl IntoIterator<Item = Value>,
        moving: impl IntoIterator<Item = Value>,
    ) -> Algebra<'b> {
        Algebra {
            builder,
            detached: false,
            draws: draws.into_iter().collect(),
            moving: moving.into_iter().collect(),
            bounds: HashMap::new(),
            dependences: Vec::new(),
            ranges: Vec::new(),
            signs: HashSet::new(),
            indicators: HashSet::new(),
            logarithms: HashMap::new(),
        }
    }

    /// Sets the bounds of a parameter.
    pub fn bound(&mut self, param: Value, bounds: Interval) {
        self.bounds.insert(param, bounds);
    }

    /// Returns whether a value varies with the draw.
    pub fn varies(&mut self, value: Value) -> bool {
        self.analyse();
        self.dependences[value.0 as usize].varies
    }

    /// Returns whether a gradient flows from the value to a parameter in `moving`.
    pub fn moves(&mut self, value: Value) -> bool {
        self.analyse();
        self.dependences[value.0 as usize].moves
    }

    fn range(&mut self, value: Value) -> Interval {
        self.analyse();
        self.ranges[value.0 as usize]
    }

    fn is_non_negative(&mut self, value: Value) -> bool {
        self.range(value).lo >= 0.0
    }

    /// Computes the dependences and ranges of the nodes that were added since the last analysis.
    fn analyse(&mut self) {
        let nodes = &self.builder.function().nodes;
        for at in self.ranges.len()..nodes.len() {
            let value = Value(at as u32);
            let (dependence, range) = match &nodes[value].kind {
                NodeKind::Param(_) => {
                    let dependence = Dependence {
                        varies: self.draws.contains(&value),
                        moves: self.moving.contains(&value),
                    };
                    let range = self.bounds.get(&value).copied();
                    (dependence, range.unwrap_or(Interval::REALS))
                }
                NodeKind::Apply { op, args, attrs } => {
                    let of = |arg: &Value| self.dependences[arg.0 as usize];
                    let flows = nodes[value].ty.dtype == DType::Real
                        && !matches!(op.vjp, bnnc_graph::op::Vjp::Zero(_));
                    let dependence = Dependence {
                        varies: args.iter().any(|arg| of(arg).varies),
                        moves: flows && args.iter().any(|arg| of(arg).moves),
                    };
                    let ranges: Vec<Interval> = args.iter().map(|arg| self.ranges[arg.0 as usize]).collect();
                    (dependence, (op.range)(&ranges, attrs))
                }
            };
            self.dependences.push(dependence);
            self.ranges.push(range);
        }
    }

    /// Returns a value as a single term. The value becomes the coefficient if it does not vary with
    /// the draw, otherwise an atom.
    pub fn whole(&mut self, value: Value) -> SeparatedForm {
        let ty = self.builder.ty(value).clone();
        let term = if self.varies(value) {
            SeparatedTerm {
                coefficient: self.builder.splat(1.0, &ty.shape),
                monomial: Monomial(vec![(value, 1.0)]),
            }
        } else {
            SeparatedTerm {
                coefficient: value,
                monomial: Monomial::default(),
            }
        };
        let is_zero = self.is_constant(term.coefficient, 0.0);
        SeparatedForm::of(value, if is_zero { Vec::new() } else { vec![term] })
    }

    fn is_constant(&self, value: Value, number: f64) -> bool {
        crate::nodes::constant_of(self.builder, value) == Some(number)
    }

    /// Replaces an operation on constants by its result, so that terms that are zero are
    /// recognised.
    fn folded(&mut self, value: Value) -> Value {
        let NodeKind::Apply { op, args, .. } = &self.builder.node(value).kind else {
            return value;
        };
        let Lower::Scalar(scalar) = op.lower else {
            return value;
        };
        let numbers: Option<Vec<f64>> = args
            .iter()
            .map(|arg| crate::nodes::constant_of(self.builder, *arg))
            .collect();
        match numbers {
            Some(numbers) if !numbers.is_empty() => {
                let number = scalar.eval(&numbers);
                self.builder.like(number, value)
            }
            _ => value,
        }
    }

    /// Returns `x * y`. If one of the factors is 1, returns the other without a new node.
    fn product(&mut self, x: Value, y: Value) -> Value {
        if self.is_constant(x, 1.0) {
            y
        } else if self.is_constant(y, 1.0) {
            x
        } else {
            let product = self.builder.mul(x, y);
            self.folded(product)
        }
    }

    /// Returns the form of `x + y`; the node `value` is this sum.
    pub fn add(&mut self, value: Value, x: &SeparatedForm, y: &SeparatedForm) -> SeparatedForm {
        let summed = x.summed || y.summed;
        let mut terms = x.terms.clone();
        for term in &y.terms {
            let shape = self.builder.shape(term.coefficient);
            let like = terms.iter().position(|other| {
                other.monomial == term.monomial && self.builder.shape(other.coefficient) == shape
            });
            match like {
                Some(at) => {
                    let sum = self.builder.add(terms[at].coefficient, term.coefficient);
                    terms[at].coefficient = self.folded(sum);
                }
                None => terms.push(term.clone()),
            }
        }
        terms.retain(|term| !self.is_constant(term.coefficient, 0.0));
        self.checked(SeparatedForm { value, terms, summed })
    }

    /// Returns the form of `-x`; the node `value` is this negation.
    pub fn neg(&mut self, value: Value, x: &SeparatedForm) -> SeparatedForm {
        let mut terms = x.terms.clone();
        for term in &mut terms {
            let minus = self.builder.neg(term.coefficient);
            term.coefficient = self.folded(minus);
        }
        SeparatedForm {
            value,
            terms,
            summed: x.summed,
        }
    }

    /// Returns the form of `x * y`; the node `value` is this product.
    pub fn mul(&mut self, value: Value, x: &SeparatedForm, y: &SeparatedForm) -> SeparatedForm {
        match (x.summed, y.summed) {
            (true, true) => return self.whole(value),
            (true, false) => return self.scaled(value, x, y),
            (false, true) => return self.scaled(value, y, x),
            (false, false) => {}
        }
        if x.terms.len() * y.terms.len() > MOST_TERMS {
            return self.whole(value);
        }
        let mut sum = SeparatedForm::of(value, Vec::new());
        for left in &x.terms {
            for right in &y.terms {
                let term = SeparatedTerm {
                    coefficient: self.product(left.coefficient, right.coefficient),
                    monomial: self.multiply(&left.monomial, &right.monomial),
                };
                let single = SeparatedForm::of(value, vec![term]);
                sum = self.add(value, &sum, &single);
            }
        }
        self.checked(sum)
    }

    /// Multiplies a form that is a sum over elements by a scalar. If the scalar does not vary with
    /// the draw, each coefficient is multiplied. If the scalar varies with the draw, the product
    /// becomes one atom.
    fn scaled(&mut self, value: Value, x: &SeparatedForm, by: &SeparatedForm) -> SeparatedForm {
        let Some(factor) = by.only_term().filter(|term| term.monomial.0.is_empty()).cloned() else {
            return self.whole(value);
        };
        let terms = x.terms.iter().cloned().map(|term| {
            let shape = self.builder.shape(term.coefficient);
            let factor = self.builder.broadcast_to(factor.coefficient, &shape);
            SeparatedTerm {
                coefficient: self.product(term.coefficient, factor),
                monomial: term.monomial,
            }
        });
        SeparatedForm {
            value,
            terms: terms.collect(),
            summed: true,
        }
    }

    fn multiply(&self, x: &Monomial, y: &Monomial) -> Monomial {
        let mut factors = x.0.clone();
        for (atom, power) in &y.0 {
            match factors.iter_mut().find(|(other, _)| other == atom) {
                Some((_, sum)) => *sum += power,
                None => factors.push((*atom, *power)),
            }
        }
        self.normal(factors)
    }

    /// Simplifies the powers of special atoms. Exponents of signs are reduced modulo 2, and
    /// positive exponents of indicators become 1.
    fn normal(&self, mut factors: Vec<(Value, f64)>) -> Monomial {
        for (atom, power) in &mut factors {
            if self.signs.contains(atom) {
                *power = power.rem_euclid(2.0);
            } else if self.indicators.contains(atom) && *power > 0.0 {
                *power = 1.0;
            }
        }
        factors.retain(|(_, power)| *power != 0.0);
        factors.sort_by_key(|(atom, _)| atom.0);
        Monomial(factors)
    }

    /// Applies an op that only moves elements; the node `value` is the result.
    pub fn moved(
        &mut self,
        value: Value,
        x: &SeparatedForm,
        op: &'static OpDef,
        attrs: &[Attr],
    ) -> SeparatedForm {
        if x.summed {
            return self.whole(value);
        }
        let mut terms = Vec::new();
        for term in &x.terms {
            let coefficient = self.builder.apply(op, &[term.coefficient], attrs.to_vec());
            let mut factors = Vec::new();
            for (atom, power) in &term.monomial.0 {
                factors.push((self.moved_atom(*atom, op, attrs), *power));
            }
            terms.push(SeparatedTerm {
                coefficient,
                monomial: self.normal(factors),
            });
        }
        SeparatedForm::of(value, terms)
    }

    fn moved_atom(&mut self, atom: Value, op: &'static OpDef, attrs: &[Attr]) -> Value {
        let moved = self.builder.apply(op, &[atom], attrs.to_vec());
        if self.signs.contains(&atom) {
            self.signs.insert(moved);
        }
        if self.indicators.contains(&atom) {
            self.indicators.insert(moved);
        }
        if let Some(logarithm) = self.logarithms.get(&atom).cloned() {
            let value = self.builder.apply(op, &[logarithm.value], attrs.to_vec());
            let logarithm = self.moved(value, &logarithm, op, attrs);
            self.logarithms.insert(moved, logarithm);
        }
        moved
    }

    /// Returns the form of the sum of all elements; the node `value` is this sum.
    pub fn total(&mut self, value: Value, x: &SeparatedForm) -> SeparatedForm {
        SeparatedForm {
            value,
            terms: x.terms.clone(),
            summed: true,
        }
    }

    /// Replaces a form with too many terms by one atom.
    fn checked(&mut self, form: SeparatedForm) -> SeparatedForm {
        if form.terms.len() > MOST_TERMS && !form.summed {
            self.whole(form.value)
        } else {
            form
        }
    }

    /// If the op of an atom only moves elements, returns its operand, the op and the op's
    /// attributes. Returns `None` for any other op.
    pub fn source_of(&self, atom: Value) -> Option<(Value, &'static OpDef, Vec<Attr>)> {
        let moving: [&'static OpDef; 3] = [
            &ops::reshape::RESHAPE,
            &ops::slice::SLICE,
            &ops::transpose::TRANSPOSE,
        ];
        match &self.builder.node(atom).kind {
            NodeKind::Apply { op, args, attrs } if op.is_one_of(&moving) => {
                Some((args[0], op.0, attrs.to_vec()))
            }
            _ => None,
        }
    }
}
