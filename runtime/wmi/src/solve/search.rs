//! The search for a solution. It distinguishes cases until the remaining problem can be integrated.
//!
//! A state is simplified with the known constraints, and is split into states without common variables. Then one of three steps follows. If
//! possible, a variable is integrated out. If all conditions are decided, the weight is integrated over the polytope. Otherwise, a comparison or a
//! Boolean is chosen, and both of its cases are solved. Conditions that do not affect the result are never decided. This keeps the number of
//! regions small. Equal states are solved only once.

use super::amount::{Part, product, scaled, sum};
use super::eliminated::Smaller;
use super::ranges::{Ranges, Rows};
use super::simplify::{Simplifier, factors, undecided, undecided_in_term};
use super::sparse::Sparse;
use super::state::{State, Variables, split};
use super::terms::apart;
use super::{bounds, slab};
use crate::integral::{Integral, IntegrationLimits, Limit, RegionIntegral};
use crate::problem::store::{Formula, FormulaId, RealTerm, TermId, TermStore};
use crate::rational::Rational;
use crate::region::{Feasibility, feasible_near, integrate, is_bounded};
use std::collections::HashMap;
use std::time::Instant;

/// Results are stored for the first states of a search, up to this number of states.
const REMEMBERED: usize = 200_000;

/// The maximum number of case distinctions is this number times the number of allowed regions, plus [`FREE_DECISIONS`].
const DECISIONS_PER_REGION: usize = 50;

/// The number of case distinctions that are allowed even if few regions are allowed.
const FREE_DECISIONS: usize = 10_000;

/// The reason that is reported if the work takes too long.
const OUT_OF_TIME: &str = "the time limit was reached";

/// The search is abandoned if the store contains more terms and formulas than this.
const MOST_NODES: usize = 5_000_000;

/// The search is abandoned if case distinctions and eliminations are nested deeper than this. Each level takes about three thousand bytes of the
/// stack, or several times as much without compiler optimisation.
pub(super) const DEEPEST: usize = 1_500;

/// The statistics of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// The number of regions that were integrated.
    pub regions: usize,
    /// The number of regions that were integrated as polytopes.
    pub polytopes: usize,
    /// The number of regions that were integrated as boxes between parallel planes.
    pub slabs: usize,
    /// The number of variables that were integrated out symbolically.
    pub eliminated: usize,
    /// The number of states that were split into parts without common variables.
    pub products: usize,
    /// The number of states whose weight is a sum that was integrated term by term.
    pub sums: usize,
    /// The number of times that a state occurred again after it had been solved.
    pub repeated: usize,
    decisions: usize,
}

/// The state of the search, and its caches.
pub(super) struct Search {
    pub store: TermStore,
    pub rows: Rows,
    pub tally: Tally,
    /// The reason why the work ended early; `None` if it did not end early.
    pub gave_up: Option<String>,
    effort: IntegrationLimits,
    depth: usize,
    pub(super) variables: Variables,
    solved: HashMap<State, Part>,
    /// The approximate number of bytes that the solved states take.
    solved_bytes: u64,
}

/// The result of simplifying a state.
enum Settled {
    /// The state has volume zero, or its weight is zero.
    Nothing,
    /// The simplified state.
    State(State),
}

impl Search {
    /// Creates a search for problems whose terms and formulas are in this store.
    pub(super) fn new(store: TermStore, effort: IntegrationLimits) -> Search {
        Search {
            store,
            rows: Rows::default(),
            tally: Tally::default(),
            gave_up: None,
            effort,
            depth: 0,
            variables: Variables::default(),
            solved: HashMap::new(),
            solved_bytes: 0,
        }
    }

    /// Computes the integral of a state. `inside` is a point in the larger region from which this state was derived by case distinctions, so it may
    /// be outside the region of this state. It has one coordinate per real of the problem.
    pub(super) fn integral(&mut self, state: State, inside: &[Rational]) -> Part {
        let mut inside = inside.to_vec();
        let Settled::State(state) = self.settled(state, &mut inside) else {
            return Part::Nothing;
        };
        if let Some(known) = self.solved.get(&state) {
            self.tally.repeated += 1;
            return known.clone();
        }
        self.depth += 1;
        let part = self.integral_of_settled(&state, &inside);
        self.depth -= 1;
        if self.solved.len() < REMEMBERED {
            self.solved_bytes += state.bytes() as u64;
            self.solved.insert(state, part.clone());
        }
        part
    }

    fn integral_of_settled(&mut self, state: &State, inside: &[Rational]) -> Part {
        let split = split(state, &mut self.store, &self.rows, &mut self.variables);
        let factor = split.factor * Rational::from(2).pow(split.free as isize);
        self.tally.products += usize::from(split.parts.len() > 1);
        let mut parts = Vec::with_capacity(split.parts.len());
        for part in split.parts {
            let part = match part == *state {
                true => self.connected(&part, inside),
                false => self.remembered(part, inside),
            };
            if part == Part::Nothing {
                return Part::Nothing;
            }
            parts.push(part);
        }
        scaled(&factor, product(parts))
    }

    fn remembered(&mut self, state: State, inside: &[Rational]) -> Part {
        if let Some(known) = self.solved.get(&state) {
            self.tally.repeated += 1;
            return known.clone();
        }
        let part = self.connected(&state, inside);
        if self.solved.len() < REMEMBERED {
            self.solved_bytes += state.bytes() as u64;
            self.solved.insert(state, part.clone());
        }
        part
    }

    /// Computes the integral of a state that cannot be split.
    fn connected(&mut self, state: &State, inside: &[Rational]) -> Part {
        if self.gave_up.is_none() {
            self.check_work();
        }
        if self.gave_up.is_some() {
            return bounds::anything(&self.store, &self.rows, state);
        }
        if let Some(integral) = self
            .is_decided(state)
            .then(|| slab::integral(state, &self.store, &self.rows))
            .flatten()
        {
            self.tally.regions += 1;
            self.tally.slabs += 1;
            return Part::Number(Integral::exactly(integral));
        }
        if let Some(Smaller { state: smaller, of }) = self.without_one_variable(state) {
            self.tally.eliminated += 1;
            self.tally.regions += usize::from(state.reals.len() == 1 && state.conjuncts.is_empty());
            return match self.has_no_weight(&smaller) {
                // The result is a number rather than `Nothing`, because the integral is zero only by cancellation.
                true => Part::Number(Integral::exactly(Rational::ZERO)),
                false => of.lifted(self.integral(smaller, inside)),
            };
        }
        let Some(atom) = self.to_decide(state) else {
            return self.region(state);
        };
        if let Some(weights) = apart(state, &mut self.store)
            && is_bounded(&state.polytope(&self.rows))
        {
            self.tally.sums += 1;
            let parts = weights.into_iter().map(|weight| {
                let part = State {
                    weight,
                    ..state.clone()
                };
                self.integral(part, inside)
            });
            return sum(parts.collect());
        }
        self.tally.decisions += 1;
        let opposite = self.store.not(atom);
        let cases = [atom, opposite].map(|literal| {
            let mut case = state.clone();
            case.conjuncts.push(literal);
            self.integral(case, inside)
        });
        sum(cases.into())
    }

    /// Returns whether all conditions are decided.
    pub(super) fn is_decided(&self, state: &State) -> bool {
        state.conjuncts.is_empty() && !self.store.has_choice(state.weight)
    }

    fn has_no_weight(&self, state: &State) -> bool {
        self.store.as_number(state.weight).is_some_and(Rational::is_zero)
    }

    /// Returns the approximate number of bytes that the search occupies. The estimate assumes that a node has few children, and that a solved state
    /// has a list of conditions and a range for each variable.
    fn bytes(&self) -> u64 {
        let nodes = self.store.len() as u64;
        nodes * 128 + self.solved_bytes
    }

    fn check_work(&mut self) {
        let decisions =
            FREE_DECISIONS.saturating_add(self.effort.regions.saturating_mul(DECISIONS_PER_REGION));
        if self
            .effort
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.gave_up = Some(OUT_OF_TIME.to_owned());
        } else if self.bytes() > self.effort.memory {
            self.gave_up = Some("the cases do not fit into the memory limit".to_owned());
        } else if self.tally.regions >= self.effort.regions {
            self.gave_up = Some(match self.tally.regions {
                1 => "one region was integrated".to_owned(),
                regions => format!("{regions} regions were integrated"),
            });
        } else if self.tally.decisions >= decisions {
            self.gave_up = Some(format!("{} cases were distinguished", self.tally.decisions));
        } else if self.depth > DEEPEST {
            self.gave_up = Some(format!("the cases are nested more than {DEEPEST} deep"));
        } else if self.store.len() > MOST_NODES {
            self.gave_up = Some(format!("the cases have {} terms and formulas", self.store.len()));
        }
    }

    fn to_decide(&self, state: &State) -> Option<FormulaId> {
        let mut conjuncts = state.conjuncts.iter();
        conjuncts
            .find_map(|conjunct| undecided(&self.store, *conjunct))
            .or_else(|| undecided_in_term(&self.store, state.weight))
    }

    /// Integrates the weight of a state over its polytope.
    fn region(&mut self, state: &State) -> Part {
        self.tally.regions += 1;
        self.tally.polytopes += 1;
        let polytope = state.polytope(&self.rows);
        let blocks = polytope.blocks(&[]);
        let composed = Sparse::composed(&self.store, state.weight, &state.reals, &blocks);
        let Some((weight, forms)) = composed else {
            self.gave_up = Some("the weight has too many monomials".to_owned());
            return bounds::anything(&self.store, &self.rows, state);
        };
        let effort = IntegrationLimits {
            memory: self.effort.memory.saturating_sub(self.bytes()),
            ..self.effort
        };
        match integrate(&polytope, &weight, &forms, &effort) {
            RegionIntegral::Integral(integral) => Part::Number(integral),
            RegionIntegral::Empty | RegionIntegral::Degenerate => Part::Nothing,
            RegionIntegral::GaveUp(limit) => {
                let count = state.reals.len();
                self.gave_up = Some(match limit {
                    Limit::Steps => format!(
                        "a region in {count} variables has too many faces, or too many monomials in its weight"
                    ),
                    Limit::Seconds => OUT_OF_TIME.to_owned(),
                    Limit::Memory => {
                        format!("the faces of a region in {count} variables do not fit into the memory limit")
                    }
                });
                bounds::anything(&self.store, &self.rows, state)
            }
            RegionIntegral::Unbounded(direction) => {
                let steps = state.reals.iter().copied().zip(direction);
                Part::Unbounded(steps.filter(|(_, step)| !step.is_zero()).collect())
            }
        }
    }
}

/// Functions that simplify states.
impl Search {
    /// Simplifies a state. Comparisons and Booleans that must hold become known, and formulas are simplified with them. `inside` becomes a point
    /// that satisfies the known constraints.
    fn settled(&mut self, mut state: State, inside: &mut [Rational]) -> Settled {
        let mut has_new_rows = false;
        loop {
            let mut bools = HashMap::new();
            let mut rest = Vec::with_capacity(state.conjuncts.len());
            for conjunct in std::mem::take(&mut state.conjuncts) {
                for part in self.flattened(conjunct) {
                    match self.assume(part, &mut state.ranges, &mut bools) {
                        Assumed::Contradiction => return Settled::Nothing,
                        Assumed::Known => has_new_rows = true,
                        Assumed::Kept => rest.push(part),
                    }
                }
            }
            state.bools.retain(|variable| !bools.contains_key(variable));
            let before = rest.clone();
            let weight_before = state.weight;
            let mut simplifier = Simplifier::new(&mut self.store, &self.rows, &state.ranges, &bools);
            state.conjuncts = rest.into_iter().map(|id| simplifier.formula(id)).collect();
            state.weight = simplifier.term(state.weight);
            self.move_conditions(&mut state);
            if state.conjuncts == before && state.weight == weight_before {
                break;
            }
        }
        if self.has_no_weight(&state) {
            return Settled::Nothing;
        }
        state.conjuncts.sort_unstable();
        state.conjuncts.dedup();
        match has_new_rows && !self.has_volume(&state, inside) {
            true => Settled::Nothing,
            false => Settled::State(state),
        }
    }

    fn flattened(&self, id: FormulaId) -> Vec<FormulaId> {
        match self.store.formula(id) {
            Formula::All(parts) => parts.clone(),
            _ => vec![id],
        }
    }

    /// If a formula that must hold is simple enough, adds it to the known constraints.
    fn assume(&mut self, id: FormulaId, ranges: &mut Ranges, bools: &mut HashMap<usize, bool>) -> Assumed {
        let (inner, value) = match self.store.formula(id) {
            Formula::Not(inner) => (self.store.formula(*inner), false),
            formula => (formula, true),
        };
        let fits = match inner {
            Formula::Constant(constant) => *constant == value,
            Formula::Boolean(variable) => *bools.entry(*variable).or_insert(value) == value,
            Formula::AtMost(row, bound) => ranges.add(self.rows.id(row), bound.clone(), !value),
            Formula::Sign(_)
            | Formula::Zero(_)
            | Formula::Not(_)
            | Formula::All(_)
            | Formula::Any(_)
            | Formula::Choice(..) => return Assumed::Kept,
        };
        match fits {
            true => Assumed::Known,
            false => Assumed::Contradiction,
        }
    }

    /// Moves conditions out of the weight. If a factor of the weight is zero wherever a condition is false, the condition becomes a formula that
    /// must hold.
    fn move_conditions(&mut self, state: &mut State) {
        let (factor, all) = factors(&self.store, state.weight);
        let mut parts = Vec::with_capacity(all.len());
        let mut has_moved = false;
        for (part, power) in all {
            let is_zero = |store: &TermStore, id: TermId| store.as_number(id).is_some_and(Rational::is_zero);
            match *self.store.term(part) {
                RealTerm::Choice(condition, one, other) if is_zero(&self.store, other) => {
                    state.conjuncts.push(condition);
                    parts.push((one, power));
                    has_moved = true;
                }
                RealTerm::Choice(condition, one, other) if is_zero(&self.store, one) => {
                    state.conjuncts.push(self.store.not(condition));
                    parts.push((other, power));
                    has_moved = true;
                }
                _ => parts.push((part, power)),
            }
        }
        if has_moved {
            let product = self.store.product(&parts);
            state.weight = self.store.scaled(&factor, product);
        }
    }

    /// Returns whether the set that satisfies the constraints of a state has a volume. If the set has a volume, `inside` becomes a point in this
    /// set.
    fn has_volume(&mut self, state: &State, inside: &mut [Rational]) -> bool {
        let guess: Vec<Rational> = state.reals.iter().map(|at| inside[*at].clone()).collect();
        match feasible_near(&state.polytope(&self.rows), &guess) {
            Feasibility::Interior(point) => {
                for (at, value) in state.reals.iter().zip(point) {
                    inside[*at] = value;
                }
                true
            }
            Feasibility::Flat | Feasibility::Empty => false,
        }
    }

    /// Returns whether the set that satisfies the formulas of a state has a volume. The weight is ignored.
    pub(super) fn has_region(&mut self, state: State, inside: &[Rational]) -> bool {
        let mut inside = inside.to_vec();
        let Settled::State(state) = self.settled(state, &mut inside) else {
            return false;
        };
        let Some(atom) = self.to_decide(&state) else {
            return true;
        };
        self.tally.decisions += 1;
        if self.gave_up.is_none() {
            self.check_work();
        }
        if self.gave_up.is_some() {
            return false;
        }
        let opposite = self.store.not(atom);
        self.depth += 1;
        let has_region = [atom, opposite].into_iter().any(|literal| {
            let mut case = state.clone();
            case.conjuncts.push(literal);
            self.has_region(case, &inside)
        });
        self.depth -= 1;
        has_region
    }
}

/// The result of assuming that a formula holds.
enum Assumed {
    /// The formula contradicts the known constraints.
    Contradiction,
    /// The formula was added to the known constraints.
    Known,
    /// The formula is not simple enough to become a known constraint.
    Kept,
}
