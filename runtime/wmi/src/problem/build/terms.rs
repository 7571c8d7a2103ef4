//! Builds terms from operators and their arguments.

use super::super::diagnostics::{Flaw, NOT_LINEAR};
use super::super::form::LinearForm;
use super::super::store::{FormulaId, TermId};
use super::super::tree::Position;
use super::operators::{Call, Operator};
use super::{Builder, described};
use crate::rational::Rational;
use dashu_base::BitTest;

/// A product or power is rejected if it has more factors than this in total. The exact result can have as many digits as one factor,
/// times the number of factors.
const MOST_FACTORS: u64 = 4096;

/// A power of a number is rejected if the result would have more bits than this.
const MOST_BITS: usize = 1 << 16;

impl Builder {
    /// Builds the term of an operator whose arguments are terms.
    pub(super) fn arithmetic(&mut self, operator: Operator, call: Call<'_>) -> Result<TermId, Flaw> {
        let mut terms = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            terms.push(self.term(argument)?);
        }
        let minus = Rational::from(-1);
        let form = LinearForm::default();
        match (operator, terms.as_slice()) {
            (Operator::Add, [_, ..]) => {
                let parts: Vec<_> = terms.iter().map(|id| (Rational::ONE, *id)).collect();
                Ok(self.store.sum(form, &parts))
            }
            (Operator::Subtract | Operator::Negate, [one]) => Ok(self.store.scaled(&minus, *one)),
            (Operator::Subtract, [first, rest @ ..]) => {
                let mut parts = vec![(Rational::ONE, *first)];
                parts.extend(rest.iter().map(|id| (minus.clone(), *id)));
                Ok(self.store.sum(form, &parts))
            }
            (Operator::Multiply, [_, ..]) => {
                let parts: Vec<_> = terms.iter().map(|id| (*id, 1)).collect();
                self.product(&parts, call.at)
            }
            (Operator::Divide, [first, rest @ ..]) if !rest.is_empty() => self.quotient(*first, rest, call),
            (Operator::Power, [base, exponent]) => {
                let power = self.exponent(*exponent, call.arguments[1].at)?;
                self.product(&[(*base, power)], call.at)
            }
            (Operator::Relu, [one]) => {
                let zero = self.store.number(Rational::ZERO);
                Ok(self.larger(*one, zero))
            }
            (Operator::Absolute, [one]) => {
                let negative = self.store.scaled(&minus, *one);
                Ok(self.larger(*one, negative))
            }
            (Operator::Largest, [first, rest @ ..]) => Ok(rest
                .iter()
                .fold(*first, |largest, next| self.larger(largest, *next))),
            (Operator::Smallest, [first, rest @ ..]) => Ok(rest.iter().fold(*first, |smallest, next| {
                let condition = self.at_most(smallest, *next);
                self.store.choose(condition, smallest, *next)
            })),
            (Operator::Power | Operator::Divide, _) => Err(call.wants("two terms")),
            (Operator::Negate | Operator::Relu | Operator::Absolute, _) => Err(call.wants("one term")),
            _ => Err(call.wants("at least one term")),
        }
    }

    /// Builds a product. Returns an error if its numbers or powers exceed the limits.
    fn product(&mut self, parts: &[(TermId, u32)], at: Position) -> Result<TermId, Flaw> {
        let mut factors = 0u64;
        for (id, power) in parts {
            factors = factors.saturating_add(self.store.factors(*id).saturating_mul(u64::from(*power)));
            if let Some(number) = self.store.as_number(*id) {
                let bits = number.numerator().bit_len() + number.denominator().bit_len();
                if bits.saturating_mul(*power as usize) > MOST_BITS {
                    return Err(Flaw::large(at, "a power with too many digits"));
                }
            }
        }
        if factors > MOST_FACTORS {
            let text = format!("powers with more than {MOST_FACTORS} factors in total");
            return Err(Flaw::large(at, text));
        }
        Ok(self.store.product(parts))
    }

    fn quotient(&mut self, first: TermId, rest: &[TermId], call: Call<'_>) -> Result<TermId, Flaw> {
        let mut factor = Rational::ONE;
        for (id, tree) in rest.iter().zip(&call.arguments[1..]) {
            match self.store.as_number(*id) {
                Some(number) if number.is_zero() => return Err(Flaw::problem(tree.at, "division by zero")),
                Some(number) => factor /= number,
                None => {
                    let text = format!("expected a number to divide by, found {}", described(tree));
                    return Err(Flaw::new(&NOT_LINEAR, tree.at, text));
                }
            }
        }
        Ok(self.store.scaled(&factor, first))
    }

    fn exponent(&self, id: TermId, at: Position) -> Result<u32, Flaw> {
        let Some(number) = self.store.as_number(id) else {
            return Err(Flaw::new(&NOT_LINEAR, at, "expected a number as exponent"));
        };
        let power = u32::try_from(number.numerator()).ok().filter(|_| number.is_int());
        let Some(power) = power else {
            let text = format!("expected a whole exponent from 0 to {MOST_FACTORS}");
            return Err(Flaw::new(&NOT_LINEAR, at, text));
        };
        if u64::from(power) > MOST_FACTORS {
            let text = format!("expected an exponent up to {MOST_FACTORS}, found {power}");
            return Err(Flaw::large(at, text));
        }
        Ok(power)
    }

    fn larger(&mut self, one: TermId, other: TermId) -> TermId {
        let condition = self.at_most(other, one);
        self.store.choose(condition, one, other)
    }

    /// Builds the term `one - other`.
    pub(super) fn difference(&mut self, one: TermId, other: TermId) -> TermId {
        let parts = [(Rational::ONE, one), (Rational::from(-1), other)];
        self.store.sum(LinearForm::default(), &parts)
    }

    /// Builds the formula `one <= other`.
    pub(super) fn at_most(&mut self, one: TermId, other: TermId) -> FormulaId {
        let difference = self.difference(one, other);
        self.store.not_positive(difference)
    }
}
