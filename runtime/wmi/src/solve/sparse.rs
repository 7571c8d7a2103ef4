//! Polynomials in a few of many variables, as elimination needs them.

use crate::polynomial::{Polynomial, add_term};
use crate::problem::form::LinearForm;
use crate::problem::store::{Store, Term, TermId};
use crate::rational::Rational;
use std::collections::BTreeMap;

/// The most monomials of a polynomial that is computed with.
const MOST_TERMS: usize = 20_000;

/// Powers of variables, ordered by variable; no power is zero.
type Monomial = Vec<(usize, u32)>;

/// A polynomial; no coefficient is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sparse(BTreeMap<Monomial, Rational>);

impl Sparse {
    /// A linear form.
    pub(super) fn linear(form: &LinearForm) -> Sparse {
        let mut terms = BTreeMap::new();
        if !form.constant.is_zero() {
            terms.insert(Vec::new(), form.constant.clone());
        }
        for (variable, coefficient) in &form.coefficients {
            terms.insert(vec![(*variable, 1)], coefficient.clone());
        }
        Sparse(terms)
    }

    /// The number one.
    pub(super) fn one() -> Sparse {
        Sparse::linear(&LinearForm::number(Rational::ONE))
    }

    /// Expands a term without conditions; nothing where it has conditions or too many monomials.
    pub(super) fn of(store: &Store, id: TermId) -> Option<Sparse> {
        match store.term(id) {
            Term::Linear(form) => Some(Sparse::linear(form)),
            Term::Sum(form, rest) => {
                let mut sum = Sparse::linear(form);
                for (factor, part) in rest {
                    sum.add(factor, &Sparse::of(store, *part)?);
                }
                Some(sum)
            }
            Term::Product(parts) => {
                let mut product = Sparse::one();
                for (part, power) in parts {
                    product = product.times(&Sparse::of(store, *part)?.power(*power)?)?;
                }
                Some(product)
            }
            Term::Choice(..) => None,
        }
    }

    /// The number of monomials.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds `factor * other`.
    pub(super) fn add(&mut self, factor: &Rational, other: &Sparse) {
        for (monomial, coefficient) in &other.0 {
            add_term(&mut self.0, monomial.clone(), factor * coefficient);
        }
    }

    /// A product; nothing where it has too many monomials.
    pub(super) fn times(&self, other: &Sparse) -> Option<Sparse> {
        let mut terms = BTreeMap::new();
        for (one, left) in &self.0 {
            for (two, right) in &other.0 {
                add_term(&mut terms, joined(one, two), left * right);
                if terms.len() > MOST_TERMS {
                    return None;
                }
            }
        }
        Some(Sparse(terms))
    }

    /// A power; nothing where it has too many monomials.
    pub(super) fn power(&self, power: u32) -> Option<Sparse> {
        if let [(monomial, coefficient)] = self.0.iter().collect::<Vec<_>>().as_slice() {
            let raised = monomial
                .iter()
                .map(|(variable, inner)| (*variable, inner * power));
            let raised: Monomial = raised.filter(|(_, power)| *power > 0).collect();
            let coefficient = coefficient.pow(power as isize);
            return Some(Sparse(BTreeMap::from([(raised, coefficient)])));
        }
        (0..power).try_fold(Sparse::one(), |product, _| product.times(self))
    }

    /// The coefficients of the powers of a variable, from the power 0 up.
    fn by_power(&self, variable: usize) -> Vec<Sparse> {
        let mut parts = Vec::new();
        for (monomial, coefficient) in &self.0 {
            let (own, rest): (Monomial, Monomial) =
                monomial.iter().partition(|(other, _)| *other == variable);
            let power = own.first().map_or(0, |(_, power)| *power as usize);
            if parts.len() <= power {
                parts.resize(power + 1, Sparse::default());
            }
            parts[power].0.insert(rest, coefficient.clone());
        }
        parts
    }

    /// Its coefficients in one variable, from the constant up, where all others are 0.
    pub(super) fn on_axis(&self, variable: usize) -> Vec<Rational> {
        let constant = |part: Sparse| part.0.get(&Vec::new()).cloned().unwrap_or_default();
        self.by_power(variable).into_iter().map(constant).collect()
    }

    /// The integral over a variable between two linear forms in the others; nothing where it has too many
    /// monomials.
    pub(super) fn integral(&self, variable: usize, lower: &LinearForm, upper: &LinearForm) -> Option<Sparse> {
        let mut antiderivative = vec![Sparse::default()];
        for (power, part) in self.by_power(variable).into_iter().enumerate() {
            let mut scaled = Sparse::default();
            scaled.add(&(Rational::ONE / Rational::from(power as u64 + 1)), &part);
            antiderivative.push(scaled);
        }
        let at = |form: &LinearForm| {
            let form = Sparse::linear(form);
            antiderivative
                .iter()
                .rev()
                .try_fold(Sparse::default(), |sum, part| {
                    let mut next = sum.times(&form)?;
                    next.add(&Rational::ONE, part);
                    Some(next)
                })
        };
        let mut integral = at(upper)?;
        integral.add(&Rational::from(-1), &at(lower)?);
        Some(integral)
    }

    /// As a term.
    pub(super) fn term(&self, store: &mut Store) -> TermId {
        let mut parts = Vec::with_capacity(self.0.len());
        for (monomial, coefficient) in &self.0 {
            let mut powers = Vec::with_capacity(monomial.len());
            for (variable, power) in monomial {
                powers.push((store.linear(LinearForm::variable(*variable)), *power));
            }
            parts.push((coefficient.clone(), store.product(&powers)));
        }
        store.sum(LinearForm::default(), &parts)
    }

    /// As a polynomial in these variables, which are all that it has.
    pub(super) fn polynomial(&self, variables: &[usize]) -> Polynomial {
        let mut terms = BTreeMap::new();
        for (monomial, coefficient) in &self.0 {
            let mut exponents = vec![0; variables.len()];
            for (variable, power) in monomial {
                if let Ok(at) = variables.binary_search(variable) {
                    exponents[at] = *power;
                }
            }
            terms.insert(exponents, coefficient.clone());
        }
        Polynomial {
            variables: variables.len(),
            terms,
        }
    }
}

fn joined(one: &[(usize, u32)], two: &[(usize, u32)]) -> Monomial {
    let mut powers: BTreeMap<usize, u32> = one.iter().copied().collect();
    for (variable, power) in two {
        let sum = powers.entry(*variable).or_default();
        *sum = sum.saturating_add(*power);
    }
    powers.into_iter().collect()
}
