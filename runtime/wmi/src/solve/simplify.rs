//! Simplifies formulas and terms under constraints that are known to hold.

use super::ranges::{Ranges, Rows};
use crate::problem::form::LinearForm;
use crate::problem::store::{Formula, FormulaId, RealTerm, TermId, TermStore};
use crate::rational::Rational;
use std::collections::HashMap;

/// Simplifies formulas and terms under fixed constraints. Each node of the store is simplified
/// once.
pub(super) struct Simplifier<'a> {
    store: &'a mut TermStore,
    rows: &'a Rows,
    ranges: &'a Ranges,
    /// The Booleans whose values are known.
    bools: &'a HashMap<usize, bool>,
    formulas: HashMap<FormulaId, FormulaId>,
    terms: HashMap<TermId, TermId>,
}

impl<'a> Simplifier<'a> {
    /// Creates a simplifier for the constraints in `ranges` and the values in `bools`.
    pub(super) fn new(
        store: &'a mut TermStore,
        rows: &'a Rows,
        ranges: &'a Ranges,
        bools: &'a HashMap<usize, bool>,
    ) -> Simplifier<'a> {
        let (formulas, terms) = (HashMap::new(), HashMap::new());
        Simplifier {
            store,
            rows,
            ranges,
            bools,
            formulas,
            terms,
        }
    }

    /// Returns a simplified formula. Under the constraints, it is equivalent to the original,
    /// except on a set of measure zero.
    pub(super) fn formula(&mut self, id: FormulaId) -> FormulaId {
        if let Some(known) = self.formulas.get(&id) {
            return *known;
        }
        let simple = match self.store.formula(id).clone() {
            Formula::Constant(_) => id,
            Formula::Boolean(variable) => match self.bools.get(&variable) {
                Some(value) => self.store.constant(*value),
                None => id,
            },
            Formula::AtMost(row, bound) => match self.ranges.truth(self.rows, &row, &bound) {
                Some(value) => self.store.constant(value),
                None => id,
            },
            Formula::Sign(term) => {
                let term = self.term(term);
                let sign = self.store.not_positive(term);
                match self.store.formula(sign) {
                    Formula::Sign(_) => sign,
                    _ => self.formula(sign),
                }
            }
            Formula::Zero(term) => {
                let term = self.term(term);
                match self.store.has_choice(term) {
                    true => self.store.zero(term),
                    // A polynomial that is not zero everywhere is zero only on a set of measure zero.
                    false => {
                        let value = self.store.as_number(term).is_some_and(Rational::is_zero);
                        self.store.constant(value)
                    }
                }
            }
            Formula::Not(inner) => {
                let inner = self.formula(inner);
                self.store.not(inner)
            }
            Formula::All(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.formula(*part)).collect();
                self.store.all(&parts)
            }
            Formula::Any(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.formula(*part)).collect();
                self.store.any(&parts)
            }
            Formula::Choice(condition, one, other) => {
                let condition = self.formula(condition);
                let one = self.formula(one);
                let other = self.formula(other);
                self.store.choose_formula(condition, one, other)
            }
        };
        self.formulas.insert(id, simple);
        simple
    }

    /// Returns a simplified term. Under the constraints, it is equal to the original, except on a
    /// set of measure zero.
    pub(super) fn term(&mut self, id: TermId) -> TermId {
        if !self.store.has_choice(id) {
            return id;
        }
        if let Some(known) = self.terms.get(&id) {
            return *known;
        }
        let simple = match self.store.term(id).clone() {
            RealTerm::Linear(_) => id,
            RealTerm::Sum(form, rest) => {
                let parts: Vec<_> = rest
                    .into_iter()
                    .map(|(factor, part)| (factor, self.term(part)))
                    .collect();
                self.store.sum(form, &parts)
            }
            RealTerm::Product(parts) => {
                let parts: Vec<_> = parts
                    .into_iter()
                    .map(|(part, power)| (self.term(part), power))
                    .collect();
                self.store.product(&parts)
            }
            RealTerm::Choice(condition, one, other) => {
                let condition = self.formula(condition);
                match self.store.as_constant(condition) {
                    Some(true) => self.term(one),
                    Some(false) => self.term(other),
                    None => {
                        let (one, other) = (self.term(one), self.term(other));
                        self.store.choose(condition, one, other)
                    }
                }
            }
        };
        self.terms.insert(id, simple);
        simple
    }
}

/// Returns a Boolean or a comparison that must be decided before the formula has a value. If there
/// are several, returns the first.
pub(super) fn undecided(store: &TermStore, id: FormulaId) -> Option<FormulaId> {
    match store.formula(id) {
        Formula::Constant(_) => None,
        Formula::Boolean(_) | Formula::AtMost(..) => Some(id),
        Formula::Sign(term) | Formula::Zero(term) => undecided_in_term(store, *term),
        Formula::Not(inner) => undecided(store, *inner),
        Formula::All(parts) | Formula::Any(parts) => parts.iter().find_map(|part| undecided(store, *part)),
        Formula::Choice(condition, one, other) => {
            let parts = [*condition, *one, *other];
            parts.into_iter().find_map(|part| undecided(store, part))
        }
    }
}

/// Returns a condition that must be decided before the term is a polynomial. If there are several,
/// returns the first.
pub(super) fn undecided_in_term(store: &TermStore, id: TermId) -> Option<FormulaId> {
    if !store.has_choice(id) {
        return None;
    }
    match store.term(id) {
        RealTerm::Linear(_) => None,
        RealTerm::Sum(_, rest) => rest.iter().find_map(|(_, part)| undecided_in_term(store, *part)),
        RealTerm::Product(parts) => parts.iter().find_map(|(part, _)| undecided_in_term(store, *part)),
        RealTerm::Choice(condition, ..) => undecided(store, *condition),
    }
}

/// Splits a weight into a number and a list of factors with their powers. The weight is their
/// product.
pub(super) fn factors(store: &TermStore, weight: TermId) -> (Rational, Vec<(TermId, u32)>) {
    match store.term(weight) {
        RealTerm::Linear(form) if form.is_number() => (form.constant.clone(), Vec::new()),
        RealTerm::Sum(form, rest) if *form == LinearForm::default() && rest.len() == 1 => {
            let (factor, part) = &rest[0];
            (factor.clone(), factors(store, *part).1)
        }
        RealTerm::Product(parts) => (Rational::ONE, parts.clone()),
        RealTerm::Linear(_) | RealTerm::Sum(..) | RealTerm::Choice(..) => (Rational::ONE, vec![(weight, 1)]),
    }
}
