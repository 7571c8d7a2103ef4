//! Polynomials with rational coefficients.

use crate::rational::Rational;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Add, Mul, Neg, Sub};

/// A polynomial, stored as a map from monomials to coefficients. A monomial is the list of its exponents, one per variable. Every
/// coefficient is non-zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    /// The number of variables.
    pub variables: usize,
    /// The coefficient of each monomial. The key is the list of exponents.
    pub terms: BTreeMap<Vec<u32>, Rational>,
}

impl Polynomial {
    /// Creates the polynomial 0.
    pub fn zero(variables: usize) -> Polynomial {
        Polynomial {
            variables,
            terms: BTreeMap::new(),
        }
    }

    /// Creates a constant polynomial.
    pub fn constant(variables: usize, value: Rational) -> Polynomial {
        Polynomial::monomial(vec![0; variables], value)
    }

    /// Creates the polynomial that consists of one variable.
    pub fn variable(variables: usize, variable: usize) -> Polynomial {
        let exponents = (0..variables)
            .map(|column| u32::from(column == variable))
            .collect();
        Polynomial::monomial(exponents, Rational::ONE)
    }

    /// Creates the monomial with these exponents, multiplied by `coefficient`.
    pub fn monomial(exponents: Vec<u32>, coefficient: Rational) -> Polynomial {
        let mut polynomial = Polynomial::zero(exponents.len());
        polynomial.add_term(exponents, coefficient);
        polynomial
    }

    /// Adds one term to the polynomial.
    pub fn add_term(&mut self, exponents: Vec<u32>, coefficient: Rational) {
        debug_assert_eq!(exponents.len(), self.variables);
        add_term(&mut self.terms, exponents, coefficient);
    }

    /// Returns whether the polynomial is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the degree: the largest sum of exponents in a term. The polynomial 0 has the degree
    /// 0.
    pub fn degree(&self) -> u32 {
        self.terms
            .keys()
            .map(|exponents| exponents.iter().sum())
            .max()
            .unwrap_or(0)
    }

    /// Returns the value of the polynomial if it is constant.
    pub fn as_constant(&self) -> Option<Rational> {
        match self.degree() {
            0 => Some(self.terms.values().next().cloned().unwrap_or_default()),
            _ => None,
        }
    }

    /// If the degree is at most one, returns the coefficients of the variables and the constant. There is one coefficient
    /// per variable.
    pub fn affine(&self) -> Option<(Vec<Rational>, Rational)> {
        if self.degree() > 1 {
            return None;
        }
        let mut coefficients = vec![Rational::ZERO; self.variables];
        let mut constant = Rational::ZERO;
        for (exponents, coefficient) in &self.terms {
            match exponents.iter().position(|&exponent| exponent == 1) {
                Some(variable) => coefficients[variable] = coefficient.clone(),
                None => constant = coefficient.clone(),
            }
        }
        Some((coefficients, constant))
    }

    /// Evaluates the polynomial at `point`. The point has one number per variable.
    pub fn evaluate(&self, point: &[Rational]) -> Rational {
        debug_assert_eq!(point.len(), self.variables);
        let value_of = |(exponents, coefficient): (&Vec<u32>, &Rational)| {
            let powers = exponents.iter().zip(point).filter(|(exponent, _)| **exponent > 0);
            powers.fold(coefficient.clone(), |product, (&exponent, x)| {
                product * x.pow(exponent as isize)
            })
        };
        self.terms
            .iter()
            .map(value_of)
            .fold(Rational::ZERO, |sum, term| sum + term)
    }

    /// Multiplies each coefficient by `factor`.
    pub fn scaled(&self, factor: &Rational) -> Polynomial {
        if factor.is_zero() {
            return Polynomial::zero(self.variables);
        }
        let terms = self
            .terms
            .iter()
            .map(|(exponents, coefficient)| (exponents.clone(), coefficient * factor));
        Polynomial {
            variables: self.variables,
            terms: terms.collect(),
        }
    }

    /// Returns a power of the polynomial. For the exponent 0, the result is 1.
    pub fn power(&self, exponent: u32) -> Polynomial {
        let mut result = Polynomial::constant(self.variables, Rational::ONE);
        for bit in (0..u32::BITS - exponent.leading_zeros()).rev() {
            result = &result * &result;
            if exponent >> bit & 1 == 1 {
                result = &result * self;
            }
        }
        result
    }

    /// Replaces one variable by `value`. The value is a polynomial in the same variables.
    pub fn substitute(&self, variable: usize, value: &Polynomial) -> Polynomial {
        debug_assert_eq!(value.variables, self.variables);
        let mut by_exponent: BTreeMap<u32, Polynomial> = BTreeMap::new();
        for (exponents, coefficient) in &self.terms {
            let mut rest = exponents.clone();
            let exponent = std::mem::take(&mut rest[variable]);
            let part = by_exponent
                .entry(exponent)
                .or_insert_with(|| Polynomial::zero(self.variables));
            part.add_term(rest, coefficient.clone());
        }
        // The loop applies Horner's rule, but only to the exponents that occur.
        let mut result = Polynomial::zero(self.variables);
        let mut above = 0;
        for (exponent, part) in by_exponent.into_iter().rev() {
            if !result.is_zero() {
                result = &result * &value.power(above - exponent);
            }
            result = &result + &part;
            above = exponent;
        }
        if above == 0 {
            result
        } else {
            &result * &value.power(above)
        }
    }

    /// Replaces one variable by `factor` times this variable.
    pub fn stretched(&self, variable: usize, factor: &Rational) -> Polynomial {
        let terms = self.terms.iter().map(|(exponents, coefficient)| {
            let factor = factor.pow(exponents[variable] as isize);
            (exponents.clone(), coefficient * factor)
        });
        Polynomial {
            variables: self.variables,
            terms: terms.collect(),
        }
    }

    /// Renames the variables: variable `k` becomes variable `places[k]` of a polynomial in `variables` variables.
    ///
    /// Two variables may be mapped to the same variable. If variable `k` does not occur in the polynomial, `places[k]` is ignored.
    pub fn renamed(&self, places: &[usize], variables: usize) -> Polynomial {
        let mut renamed = Polynomial::zero(variables);
        for (exponents, coefficient) in &self.terms {
            let mut moved = vec![0; variables];
            for (&place, &exponent) in places
                .iter()
                .zip(exponents)
                .filter(|(_, exponent)| **exponent > 0)
            {
                moved[place] += exponent;
            }
            renamed.add_term(moved, coefficient.clone());
        }
        renamed
    }

    /// Returns whether `variable` occurs in the polynomial.
    pub fn mentions(&self, variable: usize) -> bool {
        self.terms.keys().any(|exponents| exponents[variable] > 0)
    }
}

impl Add for &Polynomial {
    type Output = Polynomial;

    fn add(self, other: &Polynomial) -> Polynomial {
        let mut sum = self.clone();
        for (exponents, coefficient) in &other.terms {
            sum.add_term(exponents.clone(), coefficient.clone());
        }
        sum
    }
}

impl Sub for &Polynomial {
    type Output = Polynomial;

    fn sub(self, other: &Polynomial) -> Polynomial {
        self + &-other
    }
}

impl Neg for &Polynomial {
    type Output = Polynomial;

    fn neg(self) -> Polynomial {
        self.scaled(&Rational::NEG_ONE)
    }
}

impl Mul for &Polynomial {
    type Output = Polynomial;

    fn mul(self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::zero(self.variables);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                product.add_term(summed(left, right), a * b);
            }
        }
        product
    }
}

/// Adds one term to a sum of terms. If a coefficient becomes zero, its term is removed.
pub(crate) fn add_term<K: Ord>(terms: &mut BTreeMap<K, Rational>, monomial: K, coefficient: Rational) {
    if coefficient.is_zero() {
        return;
    }
    match terms.entry(monomial) {
        Entry::Vacant(free) => {
            free.insert(coefficient);
        }
        Entry::Occupied(mut taken) => {
            *taken.get_mut() += coefficient;
            if taken.get().is_zero() {
                taken.remove();
            }
        }
    }
}

/// Returns the exponents of the product of two monomials.
fn summed(left: &[u32], right: &[u32]) -> Vec<u32> {
    left.iter().zip(right).map(|(l, r)| l + r).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rational::parse;

    fn number(text: &str) -> Rational {
        parse(text).unwrap()
    }

    fn x() -> Polynomial {
        Polynomial::variable(2, 0)
    }

    fn y() -> Polynomial {
        Polynomial::variable(2, 1)
    }

    #[test]
    fn sums_that_cancel_leave_no_terms() {
        assert!((&(&x() + &y()) - &(&y() + &x())).is_zero());
        assert_eq!(x().scaled(&Rational::ZERO), Polynomial::zero(2));
        assert_eq!(Polynomial::constant(2, Rational::ZERO), Polynomial::zero(2));
    }

    #[test]
    fn powers_follow_the_binomial_theorem() {
        let square = (&x() - &y().scaled(&number("1/2"))).power(2);
        let expected = &(&x().power(2) - &(&x() * &y())) + &y().power(2).scaled(&number("1/4"));
        assert_eq!(square, expected);
        assert_eq!(x().power(0), Polynomial::constant(2, Rational::ONE));
        let seventh = (&x() + &y()).power(7);
        assert_eq!(seventh.terms[&vec![3, 4]], number("35"));
        assert_eq!(seventh.degree(), 7);
    }

    #[test]
    fn substitution_agrees_with_evaluation() {
        let cubic = &(&x().power(3) * &y()) + &(&x() - &Polynomial::constant(2, number("3")));
        let value = &y().power(2) - &x().scaled(&number("2/3"));
        let point = [number("5/7"), number("-2")];
        let replaced = [value.evaluate(&point), point[1].clone()];
        assert_eq!(
            cubic.substitute(0, &value).evaluate(&point),
            cubic.evaluate(&replaced)
        );
    }

    #[test]
    fn affine_forms_are_recognised() {
        let form = &(&x().scaled(&number("2")) - &y()) + &Polynomial::constant(2, number("1/3"));
        assert_eq!(
            form.affine(),
            Some((vec![number("2"), number("-1")], number("1/3")))
        );
        assert_eq!((&x() * &y()).affine(), None);
        assert_eq!(Polynomial::zero(2).as_constant(), Some(Rational::ZERO));
        assert_eq!(x().as_constant(), None);
    }

    #[test]
    fn renaming_moves_exponents() {
        let moved = (&x().power(2) * &y()).renamed(&[2, 0], 3);
        assert_eq!(moved, Polynomial::monomial(vec![1, 0, 2], Rational::ONE));
        assert_eq!(
            (&x() * &y()).renamed(&[0, 0], 1),
            Polynomial::monomial(vec![2], Rational::ONE)
        );
    }
}
