//! Polynomials in normal variates, and their expectations. Each element of a tensor has one
//! variate.
//!
//! An element is `c0 + c1 d + c2 d^2 + ..`, where `d` is normal with mean zero. The mean of the
//! integrated quantity is part of `c0`. A difference such as `y - f` is therefore computed first
//! and then squared, so no digits are lost to cancellation.

use crate::nodes;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::op::OpDef;
use std::collections::{BTreeSet, HashMap};

/// The highest degree of a polynomial. Products of higher degrees are rejected.
pub const MOST: usize = 12;

/// A tensor of normal variates with mean zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Variates {
    /// The identifier of the variates. Two tensors with the same identifier hold the same variates.
    pub id: usize,
    /// The variances of the variates.
    pub variance: Value,
    /// The indices of the sites to which the variates belong.
    pub sources: BTreeSet<usize>,
    /// True if the elements are independent of each other.
    pub independent: bool,
}

/// A polynomial for each element, in the variate of this element. An absent coefficient is zero.
#[derive(Clone, Debug)]
pub struct VariatePolynomial {
    /// The variates.
    pub of: Variates,
    /// The coefficients, starting with the constant coefficient.
    pub coefficients: Vec<Option<Value>>,
}

/// Assigns numbers to variates. Two variates have the same number if their descriptions are equal.
#[derive(Debug, Default)]
pub struct Numbering {
    known: HashMap<String, usize>,
}

impl Numbering {
    /// Returns the number of a description.
    pub fn of(&mut self, description: String) -> usize {
        let next = self.known.len();
        *self.known.entry(description).or_insert(next)
    }
}

impl VariatePolynomial {
    /// Returns the polynomial `mean + d`.
    pub fn variate(builder: &mut Builder, mean: Value, of: Variates) -> VariatePolynomial {
        let one = builder.like(1.0, mean);
        VariatePolynomial {
            of,
            coefficients: vec![Some(mean), Some(one)],
        }
    }

    /// Returns the highest power whose coefficient is present.
    pub fn degree(&self) -> usize {
        self.coefficients.iter().rposition(Option::is_some).unwrap_or(0)
    }

    fn coefficient(&self, power: usize) -> Option<Value> {
        self.coefficients.get(power).copied().flatten()
    }

    /// Applies `f` to each coefficient.
    pub fn each(&self, mut f: impl FnMut(Value) -> Value) -> VariatePolynomial {
        let one = |coefficient: &Option<Value>| coefficient.map(&mut f);
        VariatePolynomial {
            of: self.of.clone(),
            coefficients: self.coefficients.iter().map(one).collect(),
        }
    }

    /// Combines, power by power, the coefficients of two polynomials in the same variates.
    pub fn zip(
        &self,
        other: &VariatePolynomial,
        mut f: impl FnMut(Option<Value>, Option<Value>) -> Option<Value>,
    ) -> VariatePolynomial {
        let powers = 0..self.coefficients.len().max(other.coefficients.len());
        let coefficients = powers.map(|power| f(self.coefficient(power), other.coefficient(power)));
        VariatePolynomial {
            of: self.of.clone(),
            coefficients: coefficients.collect(),
        }
    }

    /// Adds a value that does not depend on any variate.
    pub fn shifted(&self, builder: &mut Builder, value: Value) -> VariatePolynomial {
        let mut shifted = self.clone();
        if let Some(first) = shifted.coefficients.first_mut() {
            *first = nodes::sum(builder, *first, Some(value));
        }
        shifted
    }

    /// Returns the product of two polynomials in the same variates. Returns `None` if its degree
    /// would exceed [`MOST`].
    pub fn times(&self, builder: &mut Builder, other: &VariatePolynomial) -> Option<VariatePolynomial> {
        let most = self.degree() + other.degree();
        if most > MOST {
            return None;
        }
        let mut coefficients = vec![None; most + 1];
        for (i, a) in self.coefficients.iter().enumerate() {
            for (j, b) in other.coefficients.iter().enumerate() {
                let (Some(a), Some(b)) = (a, b) else { continue };
                let term = builder.mul(*a, *b);
                coefficients[i + j] = nodes::sum(builder, coefficients[i + j], Some(term));
            }
        }
        Some(VariatePolynomial {
            of: self.of.clone(),
            coefficients,
        })
    }

    /// Applies an op that only moves or repeats elements.
    pub fn moved(
        &self,
        builder: &mut Builder,
        numbering: &mut Numbering,
        op: &'static OpDef,
        attrs: &[Attr],
        repeats: bool,
    ) -> VariatePolynomial {
        let mut moved = self.each(|value| builder.apply(op, &[value], attrs.to_vec()));
        moved.of = Variates {
            id: numbering.of(format!("{} of {}, {attrs:?}", op.name, self.of.id)),
            variance: builder.apply(op, &[self.of.variance], attrs.to_vec()),
            sources: self.of.sources.clone(),
            independent: self.of.independent && !repeats,
        };
        moved
    }

    /// Returns the variances of a polynomial of degree one.
    pub fn variance(&self, builder: &mut Builder) -> Value {
        match self.coefficient(1) {
            Some(slope) => {
                let square = builder.square(slope);
                builder.mul(square, self.of.variance)
            }
            None => builder.zeros_like(self.of.variance),
        }
    }

    /// Returns the constant coefficients. These coefficients are the means of the elements if the
    /// polynomial has degree one.
    pub fn mean(&self, builder: &mut Builder) -> Value {
        self.coefficient(0)
            .unwrap_or_else(|| builder.zeros_like(self.of.variance))
    }

    /// Returns the sum of two polynomials of degree one in independent variates.
    pub fn joined(
        &self,
        builder: &mut Builder,
        numbering: &mut Numbering,
        other: &VariatePolynomial,
    ) -> VariatePolynomial {
        let (mean, more) = (self.mean(builder), other.mean(builder));
        let mean = builder.add(mean, more);
        let (variance, more) = (self.variance(builder), other.variance(builder));
        let description = |x: &VariatePolynomial| format!("{} times {:?}", x.of.id, x.coefficient(1));
        let of = Variates {
            id: numbering.of(format!("{} plus {}", description(self), description(other))),
            variance: builder.add(variance, more),
            sources: &self.of.sources | &other.of.sources,
            independent: self.of.independent && other.of.independent,
        };
        VariatePolynomial::variate(builder, mean, of)
    }

    /// Returns the expectation of each element. The moments of the variates are
    /// `E d^2k = (2k - 1)!! v^k` for even powers, and zero for odd powers.
    pub fn expectation(&self, builder: &mut Builder) -> Value {
        let mut total = self.mean(builder);
        let mut moment: Option<Value> = None;
        for power in (2..self.coefficients.len()).step_by(2) {
            let factor = (power - 1) as f64;
            let variance = builder.scale(self.of.variance, factor);
            let next = moment.map_or(variance, |moment| builder.mul(moment, variance));
            moment = Some(next);
            if let Some(coefficient) = self.coefficient(power) {
                let term = builder.mul(coefficient, next);
                total = builder.add(total, term);
            }
        }
        total
    }
}

/// Returns coefficients of the series of `log(sigmoid(z)) - z / 2 + log 2`. This function equals
/// `-log cosh(z / 2)`. The coefficients belong to the even powers `z^2, z^4, ..` up to
/// `z^(order + 2)`. The last coefficient, which lies beyond `order`, bounds the error of the
/// series. This is because each even derivative of the logistic density has a Fourier transform of
/// constant sign, so that its absolute value is largest at zero.
pub fn log_sigmoid_series(order: usize) -> Vec<f64> {
    // The equation `tanh' = 1 - tanh^2` gives the coefficients of `tanh x` one by one. Integrating
    // this series gives the series of `log cosh`.
    let highest = order + 2;
    let mut tangent = vec![0.0; highest];
    for power in 0..highest.saturating_sub(1) {
        let square: f64 = (0..=power).map(|k| tangent[k] * tangent[power - k]).sum();
        let right = if power == 0 { 1.0 } else { 0.0 } - square;
        tangent[power + 1] = right / (power + 1) as f64;
    }
    let even = (2..=highest).step_by(2);
    even.map(|power| -tangent[power - 1] / (power as f64 * 2f64.powi(power as i32)))
        .collect()
}
