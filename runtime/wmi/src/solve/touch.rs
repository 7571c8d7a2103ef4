//! For a formula that does not hold on any set with a volume, decides whether it holds at some point, for example on a boundary.

use super::search::DEEPEST;
use crate::linear::{HalfSpace, Polytope};
use crate::problem::Problem;
use crate::problem::form::{LinearDirection, LinearForm};
use crate::problem::store::{Formula, FormulaId, RealTerm, TermId, TermStore};
use crate::rational::Rational;
use crate::region::{Feasibility, feasible};
use std::collections::HashMap;

/// The maximum number of steps. If the decision takes more steps, the result is unknown.
const STEPS: usize = 20_000;

/// Replaces all comparisons of a problem by weak comparisons, and returns whether its formula then holds at some point. Returns `None` if
/// the decision takes too many steps.
pub(super) fn holds_somewhere(problem: &Problem) -> Option<bool> {
    let mut search = Touch {
        store: problem.store.clone(),
        dimension: problem.reals.len(),
        steps: 0,
        depth: 0,
    };
    let start = Case {
        duties: vec![(problem.formula, true)],
        polytope: Polytope::whole(problem.reals.len()),
        decided: HashMap::new(),
    };
    search.some(start)
}

struct Touch {
    store: TermStore,
    dimension: usize,
    steps: usize,
    depth: usize,
}

/// A case of the search: the formulas that must still get their required values, and the decisions so far.
#[derive(Clone)]
struct Case {
    duties: Vec<(FormulaId, bool)>,
    polytope: Polytope,
    /// The Booleans and conditions that are decided, with their values.
    decided: HashMap<FormulaId, bool>,
}

impl Touch {
    fn some(&mut self, case: Case) -> Option<bool> {
        self.depth += 1;
        let answer = self.depth <= DEEPEST && self.steps <= STEPS;
        let answer = answer.then(|| self.fulfilled(case)).flatten();
        self.depth -= 1;
        answer
    }

    fn fulfilled(&mut self, mut case: Case) -> Option<bool> {
        while let Some((id, value)) = case.duties.pop() {
            self.steps += 1;
            if self.steps > STEPS {
                return None;
            }
            match self.store.formula(id).clone() {
                Formula::Constant(constant) if constant == value => {}
                Formula::Constant(_) => return Some(false),
                Formula::Boolean(_) => {
                    if *case.decided.entry(id).or_insert(value) != value {
                        return Some(false);
                    }
                }
                Formula::AtMost(row, bound) => {
                    self.cut(&mut case.polytope, &row, &bound, value);
                    if feasible(&case.polytope) == Feasibility::Empty {
                        return Some(false);
                    }
                }
                Formula::Not(inner) => case.duties.push((inner, !value)),
                Formula::All(parts) if value => case.duties.extend(parts.iter().map(|part| (*part, true))),
                Formula::Any(parts) if !value => case.duties.extend(parts.iter().map(|part| (*part, false))),
                Formula::All(parts) | Formula::Any(parts) => return self.one_of(&case, &parts, value),
                Formula::Choice(condition, one, other) => {
                    return self.either(&case, condition, [(one, value), (other, value)]);
                }
                Formula::Sign(term) | Formula::Zero(term) => {
                    if let Some(answer) = self.compare(&mut case, (id, value), term) {
                        return answer;
                    }
                }
            }
        }
        Some(true)
    }

    /// Adds a constraint to the polytope: `row <= bound` if `is_upper` is true, and `row >= bound` otherwise.
    fn cut(&self, polytope: &mut Polytope, row: &LinearDirection, bound: &Rational, is_upper: bool) {
        let mut coefficients = vec![Rational::ZERO; self.dimension];
        for (variable, coefficient) in row.entries() {
            coefficients[*variable] = coefficient.clone();
        }
        let upper = HalfSpace::new(coefficients, bound.clone());
        polytope.rows.push(match is_upper {
            true => upper,
            false => upper.complement(),
        });
    }

    /// Returns whether at least one of `parts` can have the value `value`, trying them one after the other.
    fn one_of(&mut self, case: &Case, parts: &[FormulaId], value: bool) -> Option<bool> {
        for part in parts {
            let mut next = case.clone();
            next.duties.push((*part, value));
            if self.some(next)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Tries two cases: `condition` is true and the first duty holds, or `condition` is false and the second duty holds. A duty is a
    /// formula together with the value that it must have.
    fn either(&mut self, case: &Case, condition: FormulaId, duties: [(FormulaId, bool); 2]) -> Option<bool> {
        for (value, duty) in [true, false].into_iter().zip(duties) {
            let mut next = case.clone();
            if *next.decided.entry(condition).or_insert(value) != value {
                continue;
            }
            next.duties.extend([duty, (condition, value)]);
            if self.some(next)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Handles a comparison of a piecewise linear term with zero. First decides the conditions of the term. Returns the result, or `None`
    /// if the comparison was added to the case.
    fn compare(
        &mut self,
        case: &mut Case,
        (id, value): (FormulaId, bool),
        term: TermId,
    ) -> Option<Option<bool>> {
        if let Some(condition) = condition_of(&self.store, term, &case.decided) {
            return Some(self.either(case, condition, [(id, value), (id, value)]));
        }
        let linear = resolved(&mut self.store, term, &case.decided);
        let below = self.store.not_positive(linear);
        if matches!(self.store.formula(id), Formula::Sign(_)) {
            case.duties.push((below, value));
            return None;
        }
        let opposite = self.store.scaled(&Rational::NEG_ONE, linear);
        let above = self.store.not_positive(opposite);
        if value {
            case.duties.extend([(below, true), (above, true)]);
        } else if self.store.as_number(linear).is_some_and(Rational::is_zero) {
            return Some(Some(false));
        }
        None
    }
}

/// Returns a condition of a term that is not decided yet.
fn condition_of(store: &TermStore, id: TermId, decided: &HashMap<FormulaId, bool>) -> Option<FormulaId> {
    match store.term(id) {
        RealTerm::Linear(_) => None,
        RealTerm::Sum(_, rest) => rest
            .iter()
            .find_map(|(_, part)| condition_of(store, *part, decided)),
        RealTerm::Product(parts) => parts
            .iter()
            .find_map(|(part, _)| condition_of(store, *part, decided)),
        RealTerm::Choice(condition, one, other) => match decided.get(condition) {
            None => Some(*condition),
            Some(true) => condition_of(store, *one, decided),
            Some(false) => condition_of(store, *other, decided),
        },
    }
}

/// Returns a term after every condition was replaced by its decided value.
fn resolved(store: &mut TermStore, id: TermId, decided: &HashMap<FormulaId, bool>) -> TermId {
    match store.term(id).clone() {
        RealTerm::Linear(_) => id,
        RealTerm::Sum(form, rest) => {
            let form: LinearForm = form;
            let parts: Vec<_> = rest
                .into_iter()
                .map(|(factor, part)| (factor, resolved(store, part, decided)))
                .collect();
            store.sum(form, &parts)
        }
        RealTerm::Product(parts) => {
            let parts: Vec<_> = parts
                .into_iter()
                .map(|(part, power)| (resolved(store, part, decided), power))
                .collect();
            store.product(&parts)
        }
        RealTerm::Choice(condition, one, other) => match decided.get(&condition) {
            Some(false) => resolved(store, other, decided),
            Some(true) | None => resolved(store, one, decided),
        },
    }
}
