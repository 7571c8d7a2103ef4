//! Integrates out variables symbolically.

use super::amount::Part;
use super::ranges::Ranges;
use super::search::Search;
use super::simplify::{Simplifier, factors};
use super::sparse::Sparse;
use super::state::{State, Variable, conditioned};
use crate::problem::form::LinearForm;
use crate::problem::store::{RealTerm, TermId};
use crate::rational::Rational;
use crate::region::is_bounded;
use std::collections::HashMap;

/// A variable is not integrated out if the result would have more monomials than this. If the integrand was expanded, the result is also accepted if
/// it has at most four times as many monomials as the integrand.
const LARGEST_ELIMINATED: usize = 2_000;

/// A state after one variable was integrated out.
pub(super) struct Smaller {
    pub state: State,
    pub of: Eliminated,
}

/// A variable that was integrated out, and the linear forms that bounded it.
pub(super) struct Eliminated {
    pub real: usize,
    pub lower: LinearForm,
    pub upper: LinearForm,
}

impl Eliminated {
    /// Extends a direction in which the smaller state is unbounded by a step for the eliminated variable. The step keeps the variable between its
    /// bounds.
    pub(super) fn lifted(&self, part: Part) -> Part {
        let Part::Unbounded(mut direction) = part else {
            return part;
        };
        let along = |form: &LinearForm| {
            let mut sum = Rational::ZERO;
            for (variable, coefficient) in &form.coefficients {
                let step = direction.iter().find(|(other, _)| other == variable);
                sum += step.map_or(Rational::ZERO, |(_, step)| coefficient * step);
            }
            sum
        };
        let step = along(&self.lower).max(Rational::ZERO).min(along(&self.upper));
        if !step.is_zero() {
            direction.push((self.real, step));
            direction.sort_unstable_by_key(|(real, _)| *real);
        }
        Part::Unbounded(direction)
    }
}

/// Functions that eliminate variables.
impl Search {
    /// Integrates out one variable. The variable must not occur in an undecided condition, and must have one linear form as its lower bound and one
    /// as its upper bound. The integral is a polynomial in the other variables. The condition that the lower bound is at most the upper bound
    /// becomes a constraint on the other variables.
    pub(super) fn without_one_variable(&mut self, state: &State) -> Option<Smaller> {
        let (mentioned, all) = conditioned(state, &self.store, &mut self.variables);
        let mut candidates: Vec<(usize, usize)> = Vec::new();
        for real in &state.reals {
            if !mentioned.contains(&Variable::Real(*real)) {
                candidates.push((state.ranges.neighbours(&self.rows, *real), *real));
            }
        }
        candidates.sort_unstable();
        candidates
            .into_iter()
            .find_map(|(_, real)| self.eliminated(state, real, &all))
    }

    fn eliminated(&mut self, state: &State, real: usize, all: &[(TermId, u32)]) -> Option<Smaller> {
        let (lower, upper) = state.ranges.around(&self.rows, real);
        let lower = self.tightest(&state.ranges, lower, true)?;
        let upper = self.tightest(&state.ranges, upper, false)?;
        let mut own = Vec::new();
        let mut rest = Vec::new();
        for (part, power) in all {
            let variables = self.variables.of_term(&self.store, *part);
            match variables.contains(&Variable::Real(real)) {
                true => own.push((*part, *power)),
                false => rest.push((*part, *power)),
            }
        }
        let own = self.store.product(&own);
        let integral = self
            .expanded(own, real, (&lower, &upper))
            .or_else(|| self.of_powers(own, real, (&lower, &upper)))?;
        // Even if positive and negative parts of a weight cancel, the integral exists only if the integral of the absolute value is finite.
        let is_zero = self.store.as_number(integral).is_some_and(Rational::is_zero);
        if is_zero && !(self.is_decided(state) && is_bounded(&state.polytope(&self.rows))) {
            return None;
        }
        let (factor, _) = factors(&self.store, state.weight);
        rest.push((integral, 1));
        let product = self.store.product(&rest);
        let mut next = state.clone();
        next.weight = self.store.scaled(&factor, product);
        next.reals.retain(|other| *other != real);
        next.ranges = state
            .ranges
            .only(|id| self.rows.row(id).coefficient(real).is_none());
        let gap = self.store.linear(lower.plus(&Rational::NEG_ONE, &upper));
        next.conjuncts.push(self.store.not_positive(gap));
        let of = Eliminated { real, lower, upper };
        Some(Smaller { state: next, of })
    }

    /// Integrates a term over a variable, after expanding the term into monomials.
    fn expanded(&mut self, term: TermId, real: usize, bounds: (&LinearForm, &LinearForm)) -> Option<TermId> {
        let integrand = Sparse::of(&self.store, term)?;
        let integral = integrand.integral(real, bounds.0, bounds.1)?;
        let is_small = integral.len() <= LARGEST_ELIMINATED.max(4 * integrand.len());
        is_small.then(|| integral.term(&mut self.store))
    }

    /// Integrates a sum of powers of linear forms over a variable. The result is a sum of powers too. The power `l^m` leads to terms
    /// `l^(m+1) / (c (m+1))`, where `c` is the coefficient of the variable in `l`.
    fn of_powers(&mut self, term: TermId, real: usize, bounds: (&LinearForm, &LinearForm)) -> Option<TermId> {
        let mut powers = Vec::new();
        self.powers(&Rational::ONE, term, &mut powers)?;
        let mut parts = Vec::with_capacity(2 * powers.len());
        for (factor, form, power) in powers {
            match form.coefficient(real) {
                None => {
                    let length = self.store.linear(bounds.1.plus(&Rational::NEG_ONE, bounds.0));
                    let form = self.store.linear(form);
                    parts.push((factor, self.store.product(&[(form, power), (length, 1)])));
                }
                Some(slope) => {
                    let factor = factor / (slope * Rational::from(power + 1));
                    for (bound, sign) in [(bounds.1, Rational::ONE), (bounds.0, Rational::NEG_ONE)] {
                        let end = self.store.linear(form.substituted(real, bound));
                        parts.push((sign * &factor, self.store.product(&[(end, power + 1)])));
                    }
                }
            }
        }
        let sum = self.store.sum(LinearForm::default(), &parts);
        match self.store.term(sum) {
            RealTerm::Sum(_, rest) if rest.len() > LARGEST_ELIMINATED => None,
            _ => Some(sum),
        }
    }

    /// Adds `factor * term` to `into`. Returns `None` if the term is not a sum of powers of linear forms.
    fn powers(
        &self,
        factor: &Rational,
        term: TermId,
        into: &mut Vec<(Rational, LinearForm, u32)>,
    ) -> Option<()> {
        match self.store.term(term) {
            RealTerm::Linear(form) => into.push((factor.clone(), form.clone(), 1)),
            RealTerm::Product(parts) => match parts.as_slice() {
                [(base, power)] => match self.store.term(*base) {
                    RealTerm::Linear(form) => into.push((factor.clone(), form.clone(), *power)),
                    _ => return None,
                },
                _ => return None,
            },
            RealTerm::Sum(form, rest) => {
                into.push((factor.clone(), form.clone(), 1));
                for (inner, part) in rest {
                    self.powers(&(factor * inner), *part, into)?;
                }
            }
            RealTerm::Choice(..) => return None,
        }
        Some(())
    }

    /// Returns the bound that is the tightest everywhere, or `None` if the bounds of the other variables do not prove that one of the bounds is.
    fn tightest(&mut self, ranges: &Ranges, bounds: Vec<LinearForm>, is_lower: bool) -> Option<LinearForm> {
        let mut kept: Vec<LinearForm> = Vec::new();
        for bound in bounds {
            let implies = |search: &mut Search, one: &LinearForm, other: &LinearForm| {
                let gap = match is_lower {
                    true => other.plus(&Rational::NEG_ONE, one),
                    false => one.plus(&Rational::NEG_ONE, other),
                };
                search.holds(ranges, &gap)
            };
            if kept.iter().any(|other| implies(self, other, &bound)) {
                continue;
            }
            kept.retain(|other| !implies(self, &bound, other));
            kept.push(bound);
        }
        match kept.len() {
            1 => kept.pop(),
            _ => None,
        }
    }

    /// Returns whether `form <= 0` can be shown to hold everywhere within `ranges`.
    fn holds(&mut self, ranges: &Ranges, form: &LinearForm) -> bool {
        let term = self.store.linear(form.clone());
        let atom = self.store.not_positive(term);
        let none = HashMap::new();
        let simple = Simplifier::new(&mut self.store, &self.rows, ranges, &none).formula(atom);
        self.store.as_constant(simple) == Some(true)
    }
}
