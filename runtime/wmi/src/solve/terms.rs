//! Splits a weight that is a sum into terms that are integrated one by one. The weight is split only if this leads to fewer regions.
//!
//! A choice is a comparison or a Boolean that a piecewise term depends on. If a sum is integrated as a whole, the choices of all its terms cut
//! the region into cells. If a term is integrated alone, only its own choices do. For example, `relu(a) + relu(b) + ..` with n
//! terms may have `2^n` cells as a whole. Integrated one by one, the terms have only `2 n` cells in total.

use super::simplify::factors;
use super::state::State;
use crate::problem::form::LinearForm;
use crate::problem::store::{Formula, FormulaId, RealTerm, TermId, TermStore};
use crate::rational::Rational;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// A product of sums is not expanded if the expansion would have more terms than this.
const MOST_TERMS: usize = 1_000;

/// The formulas that must be decided before a term is a polynomial.
type Choices = BTreeSet<FormulaId>;

/// Splits the weight of a state into summands with fewer choices, if all summands together have fewer cells than the whole weight. The
/// state must be bounded, because in an unbounded state two parts that cancel may both be infinite.
pub(super) fn apart(state: &State, store: &mut TermStore) -> Option<Vec<TermId>> {
    if !state.conjuncts.is_empty() {
        return None;
    }
    let terms = multiplied_out(store, state.weight)?;
    let mut groups: BTreeMap<Choices, Vec<(Rational, TermId)>> = BTreeMap::new();
    let mut plain = Vec::new();
    for (factor, term) in terms {
        let choices = choices(store, term);
        match choices.is_empty() {
            true => plain.push((factor, term)),
            false => groups.entry(choices).or_default().push((factor, term)),
        }
    }
    // If all choices of a term are also choices of another term, integrating the two terms together does not increase the number of cells.
    let mut kept: Vec<(Choices, Vec<(Rational, TermId)>)> = Vec::new();
    let mut ordered: Vec<_> = groups.into_iter().collect();
    ordered.sort_by_key(|(choices, _)| std::cmp::Reverse(choices.len()));
    for (choices, terms) in ordered {
        match kept.iter_mut().find(|(larger, _)| choices.is_subset(larger)) {
            Some((_, own)) => own.extend(terms),
            None => kept.push((choices, terms)),
        }
    }
    kept.last_mut()?.1.extend(plain);
    let variables = state.reals.len() + state.bools.len();
    let all: Choices = kept.iter().flat_map(|(choices, _)| choices).copied().collect();
    let apart: f64 = kept
        .iter()
        .map(|(choices, _)| cells(choices.len(), variables))
        .sum();
    if kept.len() < 2 || apart >= cells(all.len(), variables) {
        return None;
    }
    let form = LinearForm::default;
    Some(
        kept.into_iter()
            .map(|(_, terms)| store.sum(form(), &terms))
            .collect(),
    )
}

/// Returns the maximum number of cells into which `planes` hyperplanes can cut a space with `variables` dimensions (Zaslavsky, Facing up to
/// arrangements, 1975).
fn cells(planes: usize, variables: usize) -> f64 {
    let (mut sum, mut combinations) = (1.0, 1.0);
    for chosen in 1..=planes.min(variables) {
        combinations *= (planes + 1 - chosen) as f64 / chosen as f64;
        sum += combinations;
    }
    sum
}

/// Expands a weight into a sum of terms with factors. Factors of the weight that are sums with choices are multiplied out.
fn multiplied_out(store: &mut TermStore, weight: TermId) -> Option<Vec<(Rational, TermId)>> {
    let (factor, all) = factors(store, weight);
    let one = store.number(Rational::ONE);
    let mut terms = vec![(factor, one)];
    for (part, power) in all {
        let summands = summands(store, part);
        let (times, power) = if summands.len() > 1 {
            (power, 1)
        } else {
            (1, power)
        };
        // Since each sum has at least two summands, the expansion would have more than [`MOST_TERMS`] terms.
        if times as usize > MOST_TERMS / 2 {
            return None;
        }
        for _ in 0..times {
            if terms.len().saturating_mul(summands.len()) > MOST_TERMS {
                return None;
            }
            let mut product = BTreeMap::new();
            for (factor, term) in &terms {
                for (other, summand) in &summands {
                    let term = store.product(&[(*term, 1), (*summand, power)]);
                    *product.entry(term).or_insert(Rational::ZERO) += factor * other;
                }
            }
            terms = product.into_iter().map(|(term, factor)| (factor, term)).collect();
        }
    }
    (terms.len() > 1).then_some(terms)
}

/// If a term is a sum with choices, returns its summands. The summands without choices are combined into one summand. Otherwise returns the term
/// alone.
fn summands(store: &mut TermStore, id: TermId) -> Vec<(Rational, TermId)> {
    let RealTerm::Sum(form, rest) = store.term(id).clone() else {
        return vec![(Rational::ONE, id)];
    };
    let (mut all, plain): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(_, part)| store.has_choice(*part));
    if all.is_empty() {
        return vec![(Rational::ONE, id)];
    }
    let plain = store.sum(form, &plain);
    if store.as_number(plain).is_none_or(|number| !number.is_zero()) {
        all.push((Rational::ONE, plain));
    }
    all
}

/// Returns the comparisons and Booleans that a term depends on.
fn choices(store: &TermStore, id: TermId) -> Choices {
    let mut found = Choices::new();
    let (mut seen, mut seen_formulas) = (HashSet::new(), HashSet::new());
    let (mut terms, mut formulas) = (vec![id], Vec::new());
    loop {
        if let Some(term) = terms.pop() {
            if !store.has_choice(term) || !seen.insert(term) {
                continue;
            }
            match store.term(term) {
                RealTerm::Linear(_) => {}
                RealTerm::Sum(_, rest) => terms.extend(rest.iter().map(|(_, part)| *part)),
                RealTerm::Product(parts) => terms.extend(parts.iter().map(|(part, _)| *part)),
                RealTerm::Choice(condition, one, other) => {
                    formulas.push(*condition);
                    terms.extend([*one, *other]);
                }
            }
        } else if let Some(formula) = formulas.pop() {
            if !seen_formulas.insert(formula) {
                continue;
            }
            match store.formula(formula) {
                Formula::Constant(_) => {}
                Formula::Boolean(_) | Formula::AtMost(..) => {
                    found.insert(formula);
                }
                // The comparison becomes a choice only after all choices of the term that it compares are decided.
                Formula::Sign(term) | Formula::Zero(term) => {
                    found.insert(formula);
                    terms.push(*term);
                }
                Formula::Not(inner) => formulas.push(*inner),
                Formula::All(parts) | Formula::Any(parts) => formulas.extend(parts),
                Formula::Choice(one, two, three) => formulas.extend([*one, *two, *three]),
            }
        } else {
            return found;
        }
    }
}
