//! Linear forms in the real variables of a problem.

use crate::rational::{Rational, primitive_integers};
use dashu_base::Signed;

/// The linear form `constant + sum of coefficient * variable`. The coefficients are in the order of the variables, and none of them is
/// zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearForm {
    /// The constant of the form.
    pub constant: Rational,
    /// The variables with their coefficients. A variable is an index into the reals of the problem.
    pub coefficients: Vec<(usize, Rational)>,
}

impl LinearForm {
    /// Creates a form that is a number.
    pub fn number(constant: Rational) -> LinearForm {
        let coefficients = Vec::new();
        LinearForm {
            constant,
            coefficients,
        }
    }

    /// Creates a form that consists of one variable.
    pub fn variable(variable: usize) -> LinearForm {
        LinearForm {
            constant: Rational::ZERO,
            coefficients: vec![(variable, Rational::ONE)],
        }
    }

    /// Returns whether the form is a number.
    pub fn is_number(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// Returns the number if the form is a number.
    pub fn as_number(&self) -> Option<&Rational> {
        self.is_number().then_some(&self.constant)
    }

    /// Returns whether the form is a number or a multiple of one variable.
    pub fn is_single(&self) -> bool {
        self.coefficients.len() + usize::from(!self.constant.is_zero()) <= 1
    }

    /// Replaces a variable by a linear form.
    pub fn substituted(&self, variable: usize, value: &LinearForm) -> LinearForm {
        match self.coefficient(variable) {
            None => self.clone(),
            Some(factor) => {
                let mut rest = self.clone();
                rest.coefficients.retain(|(other, _)| *other != variable);
                rest.plus(factor, value)
            }
        }
    }

    /// Returns `self + factor * other`.
    pub fn plus(&self, factor: &Rational, other: &LinearForm) -> LinearForm {
        if factor.is_zero() {
            return self.clone();
        }
        let mut coefficients = Vec::with_capacity(self.coefficients.len() + other.coefficients.len());
        let mut left = self.coefficients.iter().peekable();
        let mut right = other.coefficients.iter().peekable();
        loop {
            match (left.peek(), right.peek()) {
                (Some(one), Some(two)) if one.0 == two.0 => {
                    let sum = &one.1 + factor * &two.1;
                    if !sum.is_zero() {
                        coefficients.push((one.0, sum));
                    }
                    left.next();
                    right.next();
                }
                (Some(one), two) if two.is_none_or(|two| one.0 < two.0) => {
                    coefficients.push((*one).clone());
                    left.next();
                }
                (_, Some(two)) => {
                    coefficients.push((two.0, factor * &two.1));
                    right.next();
                }
                (_, None) => break,
            }
        }
        LinearForm {
            constant: &self.constant + factor * &other.constant,
            coefficients,
        }
    }

    /// Returns the coefficient of a variable; `None` if the variable does not occur.
    pub fn coefficient(&self, variable: usize) -> Option<&Rational> {
        let at = self
            .coefficients
            .binary_search_by_key(&variable, |entry| entry.0)
            .ok()?;
        Some(&self.coefficients[at].1)
    }

    /// Returns the variables of the form, in increasing order.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.coefficients.iter().map(|entry| entry.0)
    }
}

/// A linear form without a constant, which stands for all of its multiples. The coefficients are integers without a common factor, and
/// the first coefficient is positive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinearDirection(Vec<(usize, Rational)>);

impl LinearDirection {
    /// Splits `form` without its constant into a direction and a factor. Their product is `form` without its constant. Returns `None`
    /// if the form is a number.
    pub fn of(form: &LinearForm) -> Option<(LinearDirection, Rational)> {
        let (_, first) = form.coefficients.first()?;
        let integers = primitive_integers(form.coefficients.iter().map(|entry| &entry.1));
        let (sign, leading) = match first.is_negative() {
            true => (Rational::NEG_ONE, -integers.first()?),
            false => (Rational::ONE, integers.first()?.clone()),
        };
        let factor = first / Rational::from(leading);
        let variables = form.variables().zip(integers);
        let entries = variables.map(|(variable, entry)| (variable, &sign * Rational::from(entry)));
        Some((LinearDirection(entries.collect()), factor))
    }

    /// Creates the direction of one variable.
    pub fn variable(variable: usize) -> LinearDirection {
        LinearDirection(vec![(variable, Rational::ONE)])
    }

    /// Returns the variables with their coefficients.
    pub fn entries(&self) -> &[(usize, Rational)] {
        &self.0
    }

    /// Returns the variable if the direction has only one variable.
    pub fn as_variable(&self) -> Option<usize> {
        match self.0.as_slice() {
            [(variable, _)] => Some(*variable),
            _ => None,
        }
    }

    /// Returns the coefficient of a variable; `None` if the variable does not occur.
    pub fn coefficient(&self, variable: usize) -> Option<&Rational> {
        let at = self.0.binary_search_by_key(&variable, |entry| entry.0).ok()?;
        Some(&self.0[at].1)
    }
}
