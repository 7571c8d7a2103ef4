//! The remaining problem in one case of the search.

use super::ranges::{Range, Ranges, RowId, Rows};
use super::simplify::factors;
use crate::linear::{HalfSpace, Polytope};
use crate::problem::store::{Formula, FormulaId, RealTerm, TermId, TermStore};
use crate::rational::Rational;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A part of the problem: constraints that are known to hold, other formulas that must hold, a weight, and variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// The constraints that are known to hold.
    pub ranges: Ranges,
    /// The other formulas that must hold.
    pub conjuncts: Vec<FormulaId>,
    /// The integrand, a piecewise polynomial.
    pub weight: TermId,
    /// The real variables that the weight is integrated over, in increasing order.
    pub reals: Vec<usize>,
    /// The Boolean variables, over whose values the integral is summed, in increasing order.
    pub bools: Vec<usize>,
}

impl State {
    /// Returns the approximate number of bytes of the state. The estimate assumes that maps and lists have room for twice as many entries as they
    /// contain.
    pub(super) fn bytes(&self) -> usize {
        let lists = size_of_val(&*self.conjuncts) + size_of_val(&*self.reals) + size_of_val(&*self.bools);
        size_of::<State>() + lists + 2 * self.ranges.iter().count() * size_of::<(RowId, Range)>()
    }

    /// Returns the known constraints as a polytope in the real variables of the state.
    pub(super) fn polytope(&self, rows: &Rows) -> Polytope {
        let mut polytope = Polytope::whole(self.reals.len());
        for (id, Range { lower, upper }) in self.ranges.iter() {
            let mut coefficients = vec![Rational::ZERO; self.reals.len()];
            for (variable, coefficient) in rows.row(id).entries() {
                if let Ok(at) = self.reals.binary_search(variable) {
                    coefficients[at] = coefficient.clone();
                }
            }
            if let Some(lower) = lower {
                let opposite = coefficients.iter().map(|coefficient| -coefficient).collect();
                polytope.rows.push(HalfSpace::new(opposite, -lower));
            }
            if let Some(upper) = upper {
                polytope.rows.push(HalfSpace::new(coefficients, upper.clone()));
            }
        }
        polytope
    }
}

/// A real or a Boolean variable of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Variable {
    Real(usize),
    Bool(usize),
}

/// The variables that occur in each term and formula. They are computed once and stored.
#[derive(Debug, Default)]
pub(super) struct Variables {
    formulas: HashMap<FormulaId, Rc<[Variable]>>,
    terms: HashMap<TermId, Rc<[Variable]>>,
}

impl Variables {
    /// Returns the variables that occur in a formula.
    pub(super) fn of_formula(&mut self, store: &TermStore, id: FormulaId) -> Rc<[Variable]> {
        if let Some(known) = self.formulas.get(&id) {
            return Rc::clone(known);
        }
        let mut all = BTreeSet::new();
        match store.formula(id) {
            Formula::Constant(_) => {}
            Formula::Boolean(variable) => {
                all.insert(Variable::Bool(*variable));
            }
            Formula::AtMost(row, _) => {
                all.extend(row.entries().iter().map(|entry| Variable::Real(entry.0)));
            }
            Formula::Sign(term) | Formula::Zero(term) => {
                all.extend(self.of_term(store, *term).iter());
            }
            Formula::Not(inner) => all.extend(self.of_formula(store, *inner).iter()),
            Formula::All(parts) | Formula::Any(parts) => {
                for part in parts {
                    all.extend(self.of_formula(store, *part).iter());
                }
            }
            Formula::Choice(condition, one, other) => {
                for part in [condition, one, other] {
                    all.extend(self.of_formula(store, *part).iter());
                }
            }
        }
        let all: Rc<[Variable]> = all.into_iter().collect();
        self.formulas.insert(id, Rc::clone(&all));
        all
    }

    /// Returns the variables that occur in a term.
    pub(super) fn of_term(&mut self, store: &TermStore, id: TermId) -> Rc<[Variable]> {
        if let Some(known) = self.terms.get(&id) {
            return Rc::clone(known);
        }
        let mut all = BTreeSet::new();
        match store.term(id) {
            RealTerm::Linear(form) => all.extend(form.variables().map(Variable::Real)),
            RealTerm::Sum(form, rest) => {
                all.extend(form.variables().map(Variable::Real));
                for (_, part) in rest {
                    all.extend(self.of_term(store, *part).iter());
                }
            }
            RealTerm::Product(parts) => {
                for (part, _) in parts {
                    all.extend(self.of_term(store, *part).iter());
                }
            }
            RealTerm::Choice(condition, one, other) => {
                all.extend(self.of_formula(store, *condition).iter());
                all.extend(self.of_term(store, *one).iter());
                all.extend(self.of_term(store, *other).iter());
            }
        }
        let all: Rc<[Variable]> = all.into_iter().collect();
        self.terms.insert(id, Rc::clone(&all));
        all
    }
}

/// The result of splitting a state into parts without common variables. `free` is the number of Booleans that do not occur in any part. The value
/// of the state is the product of `factor`, `2^free`, and the values of all parts.
pub(super) struct Split {
    pub factor: Rational,
    pub free: usize,
    pub parts: Vec<State>,
}

/// Splits a state into parts without common variables. Two variables are in the same part if a constraint, a formula or a factor of the weight
/// contains both.
pub(super) fn split(state: &State, store: &mut TermStore, rows: &Rows, variables: &mut Variables) -> Split {
    let (factor, all) = factors(store, state.weight);
    let mut groups = Groups::new(state);
    for (id, _) in state.ranges.iter() {
        groups.join(rows.row(id).entries().iter().map(|entry| Variable::Real(entry.0)));
    }
    for conjunct in &state.conjuncts {
        groups.join(variables.of_formula(store, *conjunct).iter().copied());
    }
    for (part, _) in &all {
        groups.join(variables.of_term(store, *part).iter().copied());
    }
    let (mut parts, mut free) = (Vec::new(), 0);
    for members in groups.sets() {
        let has = |variable: Option<&Variable>| variable.is_some_and(|one| members.contains(one));
        let conjuncts: Vec<FormulaId> = state
            .conjuncts
            .iter()
            .copied()
            .filter(|id| has(variables.of_formula(store, *id).first()))
            .collect();
        let own: Vec<(TermId, u32)> = all
            .iter()
            .copied()
            .filter(|(id, _)| has(variables.of_term(store, *id).first()))
            .collect();
        let reals: Vec<usize> = members.iter().filter_map(real).collect();
        let bools: Vec<usize> = members.iter().filter_map(boolean).collect();
        if reals.is_empty() && conjuncts.is_empty() && own.is_empty() {
            free += bools.len();
            continue;
        }
        parts.push(State {
            ranges: state.ranges.only(|id: RowId| {
                has(rows
                    .row(id)
                    .entries()
                    .first()
                    .map(|e| Variable::Real(e.0))
                    .as_ref())
            }),
            conjuncts,
            weight: store.product(&own),
            reals,
            bools,
        });
    }
    Split { factor, free, parts }
}

fn real(variable: &Variable) -> Option<usize> {
    match variable {
        Variable::Real(at) => Some(*at),
        Variable::Bool(_) => None,
    }
}

fn boolean(variable: &Variable) -> Option<usize> {
    match variable {
        Variable::Bool(at) => Some(*at),
        Variable::Real(_) => None,
    }
}

/// Disjoint sets of variables. Two sets are joined if a constraint, a formula or a factor of the weight contains variables of both sets.
struct Groups {
    all: Vec<Variable>,
    parent: Vec<usize>,
}

impl Groups {
    fn new(state: &State) -> Groups {
        let reals = state.reals.iter().map(|at| Variable::Real(*at));
        let bools = state.bools.iter().map(|at| Variable::Bool(*at));
        let all: Vec<Variable> = reals.chain(bools).collect();
        Groups {
            parent: (0..all.len()).collect(),
            all,
        }
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn join(&mut self, together: impl Iterator<Item = Variable>) {
        let mut first = None;
        for variable in together {
            let Ok(at) = self.all.binary_search(&variable) else {
                continue;
            };
            let root = self.root(at);
            match first {
                None => first = Some(root),
                Some(first) => self.parent[root] = first,
            }
        }
    }

    /// Returns the sets, in the order of their first variables.
    fn sets(mut self) -> Vec<BTreeSet<Variable>> {
        let mut sets: Vec<(usize, BTreeSet<Variable>)> = Vec::new();
        for at in 0..self.all.len() {
            let root = self.root(at);
            let variable = self.all[at];
            match sets.iter_mut().find(|(known, _)| *known == root) {
                Some((_, set)) => {
                    set.insert(variable);
                }
                None => sets.push((root, BTreeSet::from([variable]))),
            }
        }
        sets.into_iter().map(|(_, set)| set).collect()
    }
}

/// Returns two collections: the variables that occur in formulas that must hold or in weight factors with conditions, and all factors of the
/// weight.
pub(super) fn conditioned(
    state: &State,
    store: &TermStore,
    variables: &mut Variables,
) -> (HashSet<Variable>, Vec<(TermId, u32)>) {
    let mut mentioned = HashSet::new();
    for conjunct in &state.conjuncts {
        mentioned.extend(variables.of_formula(store, *conjunct).iter().copied());
    }
    let (_, all) = factors(store, state.weight);
    for (part, _) in all.iter().filter(|(part, _)| store.has_choice(*part)) {
        mentioned.extend(variables.of_term(store, *part).iter().copied());
    }
    (mentioned, all)
}
