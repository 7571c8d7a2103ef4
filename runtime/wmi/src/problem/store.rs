//! A store of terms and formulas. Each term and each formula is stored once: if it is built a second time, the store returns the existing node.
//! Parts that a network shares therefore stay shared.

use super::form::{LinearDirection, LinearForm};
use crate::rational::Rational;
use dashu_base::Signed;
use std::collections::HashMap;

/// The index of a term in a [`TermStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(u32);

/// The index of a formula in a [`TermStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormulaId(u32);

/// A real-valued piecewise polynomial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RealTerm {
    /// A linear form. Every term of degree one without a condition is stored as a linear form.
    Linear(LinearForm),
    /// The sum of a linear form and multiples of other terms. The other terms are ordered by their index.
    Sum(LinearForm, Vec<(Rational, TermId)>),
    /// The product of powers of terms. The terms are ordered by their index, and none of them is a number.
    Product(Vec<(TermId, u32)>),
    /// Equals the first term where the formula holds, and the second term elsewhere.
    Choice(FormulaId, TermId, TermId),
}

/// A statement about Booleans and reals, up to sets of measure zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// The formula is always true, or always false.
    Constant(bool),
    /// A Boolean variable.
    Boolean(usize),
    /// The inequality `row <= bound`.
    AtMost(LinearDirection, Rational),
    /// The inequality `term <= 0`, for a term that is not a linear form yet.
    Sign(TermId),
    /// The equation `term = 0`.
    Zero(TermId),
    /// The negation of a formula.
    Not(FormulaId),
    /// The conjunction of several formulas.
    All(Vec<FormulaId>),
    /// The disjunction of several formulas.
    Any(Vec<FormulaId>),
    /// Equivalent to the second formula where the first formula holds, and to the third formula elsewhere.
    Choice(FormulaId, FormulaId, FormulaId),
}

/// Properties of a node, which are stored together with it.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    /// The length of the longest path from the node to a leaf.
    depth: u32,
    /// An upper bound on the degree of the term.
    degree: u64,
    /// The largest number of factors (numbers and variables) in any product inside the node.
    factors: u64,
    /// True if the node contains a condition, so that it is not a polynomial yet.
    has_choice: bool,
}

impl Facts {
    /// Updates the depth and the conditions flag of a node from a child.
    fn above(&mut self, part: Facts) {
        self.depth = self.depth.max(part.depth + 1);
        self.has_choice |= part.has_choice;
    }

    /// Updates all properties of a node from a child that is not multiplied by its siblings: it is either added to them, or an alternative to
    /// them.
    fn alternative(&mut self, part: Facts) {
        self.above(part);
        self.degree = self.degree.max(part.degree);
        self.factors = self.factors.max(part.factors);
    }
}

/// A store of terms and formulas. Each term and each formula is stored once.
#[derive(Clone, Debug, Default)]
pub struct TermStore {
    terms: Vec<(RealTerm, Facts)>,
    formulas: Vec<(Formula, Facts)>,
    term_ids: HashMap<RealTerm, TermId>,
    formula_ids: HashMap<Formula, FormulaId>,
}

impl TermStore {
    /// Returns the node of a term.
    pub fn term(&self, id: TermId) -> &RealTerm {
        &self.terms[id.0 as usize].0
    }

    /// Returns the node of a formula.
    pub fn formula(&self, id: FormulaId) -> &Formula {
        &self.formulas[id.0 as usize].0
    }

    /// Returns the number of terms and formulas in the store.
    pub fn len(&self) -> usize {
        self.terms.len() + self.formulas.len()
    }

    /// Returns whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an upper bound on the degree of a term.
    pub fn degree(&self, id: TermId) -> u64 {
        self.terms[id.0 as usize].1.degree
    }

    /// Returns the largest number of factors (numbers and variables) in any product inside a term. A power counts as the factors of its base,
    /// times the exponent.
    pub fn factors(&self, id: TermId) -> u64 {
        self.terms[id.0 as usize].1.factors
    }

    /// Returns whether a term contains conditions. A term with conditions is not a polynomial yet.
    pub fn has_choice(&self, id: TermId) -> bool {
        self.terms[id.0 as usize].1.has_choice
    }

    /// Returns the length of the longest path from a term to a leaf.
    pub fn term_depth(&self, id: TermId) -> u32 {
        self.terms[id.0 as usize].1.depth
    }

    /// Returns the length of the longest path from a formula to a leaf.
    pub fn formula_depth(&self, id: FormulaId) -> u32 {
        self.formulas[id.0 as usize].1.depth
    }

    fn intern_term(&mut self, term: RealTerm) -> TermId {
        if let Some(id) = self.term_ids.get(&term) {
            return *id;
        }
        let facts = self.term_facts(&term);
        let id = TermId(self.terms.len() as u32);
        self.term_ids.insert(term.clone(), id);
        self.terms.push((term, facts));
        id
    }

    fn intern_formula(&mut self, formula: Formula) -> FormulaId {
        if let Some(id) = self.formula_ids.get(&formula) {
            return *id;
        }
        let depth = self.depth_of(&formula);
        let id = FormulaId(self.formulas.len() as u32);
        self.formula_ids.insert(formula.clone(), id);
        let facts = Facts {
            depth,
            ..Facts::default()
        };
        self.formulas.push((formula, facts));
        id
    }

    fn term_facts(&self, term: &RealTerm) -> Facts {
        let of = |id: TermId| self.terms[id.0 as usize].1;
        let mut facts = Facts {
            factors: 1,
            ..Facts::default()
        };
        match term {
            RealTerm::Linear(form) => facts.degree = u64::from(!form.is_number()),
            RealTerm::Sum(form, rest) => {
                facts.degree = u64::from(!form.is_number());
                for (_, id) in rest {
                    facts.alternative(of(*id));
                }
            }
            RealTerm::Product(parts) => {
                facts.factors = 0;
                for (id, power) in parts {
                    let part = of(*id);
                    facts.above(part);
                    let times = |count: u64| count.saturating_mul(u64::from(*power));
                    facts.degree = facts.degree.saturating_add(times(part.degree));
                    facts.factors = facts.factors.saturating_add(times(part.factors));
                }
            }
            RealTerm::Choice(condition, one, other) => {
                facts.alternative(of(*one));
                facts.alternative(of(*other));
                facts.depth = facts.depth.max(self.formula_depth(*condition) + 1);
                facts.has_choice = true;
            }
        }
        facts
    }

    fn depth_of(&self, formula: &Formula) -> u32 {
        let deepest = |parts: &[FormulaId]| parts.iter().map(|id| self.formula_depth(*id)).max();
        match formula {
            Formula::Constant(_) | Formula::Boolean(_) | Formula::AtMost(..) => 0,
            Formula::Sign(term) | Formula::Zero(term) => self.term_depth(*term) + 1,
            Formula::Not(inner) => self.formula_depth(*inner) + 1,
            Formula::All(parts) | Formula::Any(parts) => deepest(parts).unwrap_or(0) + 1,
            Formula::Choice(one, two, three) => deepest(&[*one, *two, *three]).unwrap_or(0) + 1,
        }
    }
}

/// Functions that build terms.
impl TermStore {
    /// Builds a term that is a number.
    pub fn number(&mut self, number: Rational) -> TermId {
        self.linear(LinearForm::number(number))
    }

    /// Builds a term that is a linear form.
    pub fn linear(&mut self, form: LinearForm) -> TermId {
        self.intern_term(RealTerm::Linear(form))
    }

    /// Returns the number if a term is a number.
    pub fn as_number(&self, id: TermId) -> Option<&Rational> {
        match self.term(id) {
            RealTerm::Linear(form) => form.as_number(),
            RealTerm::Sum(..) | RealTerm::Product(_) | RealTerm::Choice(..) => None,
        }
    }

    /// Builds the term `form + sum of factor * term`.
    pub fn sum(&mut self, form: LinearForm, parts: &[(Rational, TermId)]) -> TermId {
        let mut form = form;
        let mut rest: Vec<(Rational, TermId)> = Vec::new();
        for (factor, id) in parts {
            match self.term(*id) {
                RealTerm::Linear(inner) => form = form.plus(factor, inner),
                RealTerm::Sum(inner, inner_rest) => {
                    form = form.plus(factor, inner);
                    rest.extend(inner_rest.iter().map(|(inner, id)| (factor * inner, *id)));
                }
                RealTerm::Product(_) | RealTerm::Choice(..) => rest.push((factor.clone(), *id)),
            }
        }
        rest.sort_by_key(|(_, id)| *id);
        let mut merged: Vec<(Rational, TermId)> = Vec::with_capacity(rest.len());
        for (factor, id) in rest {
            match merged.last_mut() {
                Some(last) if last.1 == id => last.0 += factor,
                _ => merged.push((factor, id)),
            }
        }
        merged.retain(|(factor, _)| !factor.is_zero());
        if merged.is_empty() {
            return self.linear(form);
        }
        if let ([(factor, id)], true) = (merged.as_slice(), form == LinearForm::default())
            && factor.is_one()
        {
            return *id;
        }
        self.intern_term(RealTerm::Sum(form, merged))
    }

    /// Builds a multiple of a term.
    pub fn scaled(&mut self, factor: &Rational, id: TermId) -> TermId {
        self.sum(LinearForm::default(), &[(factor.clone(), id)])
    }

    /// Builds the product of powers of terms. Numbers are collected into one leading factor. The coefficient of a part that is a multiple of
    /// one term is also moved into this factor.
    pub fn product(&mut self, parts: &[(TermId, u32)]) -> TermId {
        let mut factor = Rational::ONE;
        let mut rest: Vec<(TermId, u32)> = Vec::new();
        for (id, power) in parts {
            if *power == 0 {
                continue;
            }
            match self.term(*id) {
                RealTerm::Linear(form) if form.is_number() => factor *= form.constant.pow(*power as isize),
                RealTerm::Sum(form, inner) if *form == LinearForm::default() && inner.len() == 1 => {
                    factor *= inner[0].0.pow(*power as isize);
                    self.push_powers(&mut rest, inner[0].1, *power);
                }
                RealTerm::Linear(_) | RealTerm::Sum(..) | RealTerm::Product(_) | RealTerm::Choice(..) => {
                    self.push_powers(&mut rest, *id, *power);
                }
            }
        }
        if factor.is_zero() || rest.is_empty() {
            return self.number(factor);
        }
        rest.sort_by_key(|(id, _)| *id);
        rest.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        let product = match rest.as_slice() {
            [(id, 1)] => *id,
            _ => self.intern_term(RealTerm::Product(rest)),
        };
        self.scaled(&factor, product)
    }

    fn push_powers(&self, rest: &mut Vec<(TermId, u32)>, id: TermId, power: u32) {
        match self.term(id) {
            RealTerm::Product(parts) => {
                rest.extend(parts.iter().map(|(id, inner)| (*id, inner.saturating_mul(power))));
            }
            RealTerm::Linear(_) | RealTerm::Sum(..) | RealTerm::Choice(..) => rest.push((id, power)),
        }
    }

    /// Builds the term that is `one` where `condition` holds, and `other` elsewhere.
    pub fn choose(&mut self, condition: FormulaId, one: TermId, other: TermId) -> TermId {
        match self.formula(condition) {
            Formula::Constant(true) => one,
            Formula::Constant(false) => other,
            _ if one == other => one,
            Formula::Not(inner) => self.intern_term(RealTerm::Choice(*inner, other, one)),
            _ => self.intern_term(RealTerm::Choice(condition, one, other)),
        }
    }
}

/// Functions that build formulas.
impl TermStore {
    /// Builds a formula that is always true or always false.
    pub fn constant(&mut self, value: bool) -> FormulaId {
        self.intern_formula(Formula::Constant(value))
    }

    /// Returns the value of a formula that is always true or always false.
    pub fn as_constant(&self, id: FormulaId) -> Option<bool> {
        match self.formula(id) {
            Formula::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Builds a formula that is a Boolean variable.
    pub fn boolean(&mut self, variable: usize) -> FormulaId {
        self.intern_formula(Formula::Boolean(variable))
    }

    /// Builds the inequality `row <= bound`.
    pub fn at_most(&mut self, row: LinearDirection, bound: Rational) -> FormulaId {
        self.intern_formula(Formula::AtMost(row, bound))
    }

    /// Builds the inequality `term <= 0`.
    pub fn not_positive(&mut self, term: TermId) -> FormulaId {
        let RealTerm::Linear(form) = self.term(term) else {
            return self.intern_formula(Formula::Sign(term));
        };
        match LinearDirection::of(form) {
            None => {
                // Zero is tested separately, because the sign of a rational counts as positive for zero.
                let value = form.constant.is_zero() || form.constant.is_negative();
                self.constant(value)
            }
            Some((row, factor)) => {
                let bound = -&form.constant / &factor;
                let negative = factor.is_negative();
                let atom = self.at_most(row, bound);
                if negative { self.not(atom) } else { atom }
            }
        }
    }

    /// Builds the equation `term = 0`.
    pub fn zero(&mut self, term: TermId) -> FormulaId {
        match self.as_number(term) {
            Some(number) => {
                let value = number.is_zero();
                self.constant(value)
            }
            None => self.intern_formula(Formula::Zero(term)),
        }
    }

    /// Builds the negation of a formula.
    pub fn not(&mut self, id: FormulaId) -> FormulaId {
        match self.formula(id) {
            Formula::Constant(value) => {
                let value = !*value;
                self.constant(value)
            }
            Formula::Not(inner) => *inner,
            _ => self.intern_formula(Formula::Not(id)),
        }
    }

    /// Builds the conjunction of all `parts`.
    pub fn all(&mut self, parts: &[FormulaId]) -> FormulaId {
        self.many(parts, true)
    }

    /// Builds the disjunction of all `parts`.
    pub fn any(&mut self, parts: &[FormulaId]) -> FormulaId {
        self.many(parts, false)
    }

    /// Builds the conjunction of `parts` if `neutral` is true, and their disjunction if it is false.
    fn many(&mut self, parts: &[FormulaId], neutral: bool) -> FormulaId {
        let mut flat = Vec::with_capacity(parts.len());
        for id in parts {
            match self.formula(*id) {
                Formula::Constant(value) if *value == neutral => {}
                Formula::Constant(_) => return *id,
                Formula::All(inner) if neutral => flat.extend_from_slice(inner),
                Formula::Any(inner) if !neutral => flat.extend_from_slice(inner),
                _ => flat.push(*id),
            }
        }
        let mut seen = std::collections::HashSet::with_capacity(flat.len());
        flat.retain(|id| seen.insert(*id));
        // A comparison and its negation share a boundary that has volume zero but is not empty, so their conjunction is not replaced by false.
        let is_sharp = |id: &FormulaId| !neutral || matches!(self.formula(*id), Formula::Boolean(_));
        let opposed = |id: &FormulaId| match self.formula(*id) {
            Formula::Not(inner) => is_sharp(inner) && seen.contains(inner),
            _ => false,
        };
        if flat.iter().any(opposed) {
            return self.constant(!neutral);
        }
        match flat.as_slice() {
            [] => self.constant(neutral),
            [one] => *one,
            _ if neutral => self.intern_formula(Formula::All(flat)),
            _ => self.intern_formula(Formula::Any(flat)),
        }
    }

    /// Builds the formula that is `one` where `condition` holds, and `other` elsewhere.
    pub fn choose_formula(&mut self, condition: FormulaId, one: FormulaId, other: FormulaId) -> FormulaId {
        let (first, second) = (self.as_constant(one), self.as_constant(other));
        match (self.formula(condition).clone(), first, second) {
            (Formula::Constant(true), ..) => one,
            (Formula::Constant(false), ..) => other,
            _ if one == other => one,
            (_, Some(true), _) => self.any(&[condition, other]),
            (_, _, Some(false)) => self.all(&[condition, one]),
            (_, Some(false), _) => {
                let not = self.not(condition);
                self.all(&[not, other])
            }
            (_, _, Some(true)) => {
                let not = self.not(condition);
                self.any(&[not, one])
            }
            (Formula::Not(inner), ..) => self.choose_formula(inner, other, one),
            _ => self.intern_formula(Formula::Choice(condition, one, other)),
        }
    }
}
