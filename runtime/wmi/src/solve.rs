//! Solves problems of weighted model integration.
//!
//! The search decides a comparison or a Boolean only if the formula or the weight depends on it. The search therefore uses partial assignments, like
//! structure-aware encodings (Spallitta et al., UAI 2022). Parts without common variables are solved separately, and their results are
//! multiplied. If a weight is a sum, its terms may be integrated one by one. A variable is integrated out if one linear form bounds it from below
//! and one bounds it from above. If the primal graph of the problem is a tree, this elimination is message passing as in Zeng et al., ICML 2020. The
//! remaining regions are polytopes, and [`crate::region`] integrates over them.

mod amount;
mod bounds;
mod eliminated;
mod ranges;
mod search;
mod simplify;
mod slab;
mod sparse;
mod state;
mod terms;
mod touch;

use crate::integral::{Integral, IntegrationLimits};
use crate::problem::Problem;
use crate::rational::{Rational, ln_abs};
use crate::region::ball::Ball;
use amount::Part;
use ranges::Ranges;
use search::{Search, Tally};
use state::State;

/// The status of a solution.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The integral is known. If it is 0, the reason for this may be unknown.
    Ok,
    /// The formula does not hold at any point, so the integral is 0.
    Empty,
    /// The set that satisfies the formula has volume zero, so the integral is 0.
    Degenerate,
    /// The region is unbounded in a direction, and the weight is not zero there. The direction is a list of variables with their steps.
    Unbounded(Vec<(String, Rational)>),
    /// The integral exceeds the largest floating-point number of double precision. An exact result was not requested, or is not known.
    Overflow,
    /// The work reached a limit. The text is the reason. The value is the integral over the finished part, and the error bound also covers the
    /// unfinished part.
    GaveUp(String),
}

/// The solution of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The value of the integral.
    pub value: f64,
    /// A bound on the difference between `value` and the exact integral.
    pub error_bound: f64,
    /// The exact integral; `None` if it is not known.
    pub exact: Option<Rational>,
    /// The status of the solution.
    pub status: Status,
    /// The number of regions that were integrated.
    pub regions: usize,
    /// A short description of the methods that were used.
    pub method: String,
}

impl Solution {
    /// If `value` cannot represent the integral, returns the natural logarithm of its magnitude. The integral must be known exactly, and its
    /// magnitude must be below the smallest normal number or above the largest number of double precision.
    pub fn log_value(&self) -> Option<f64> {
        let exact = self.exact.as_ref().filter(|exact| !exact.is_zero())?;
        (!self.value.is_normal()).then(|| ln_abs(exact))
    }
}

/// Solves a problem. A stack of 32 MiB is enough for the deepest nesting of cases. If parts cancel so much that the error bound of their sum exceeds
/// the tolerance, the whole problem is solved again in rational arithmetic.
pub fn solve(problem: &Problem, effort: &IntegrationLimits) -> Solution {
    let solution = within_tolerance(problem, effort);
    let is_known = solution.value.is_finite() || (effort.exact && solution.exact.is_some());
    match solution.status {
        Status::Ok if !is_known => Solution {
            status: Status::Overflow,
            ..solution
        },
        _ => solution,
    }
}

/// Solves a problem in floating point. If the result is not accurate enough, solves it again in rational arithmetic.
fn within_tolerance(problem: &Problem, effort: &IntegrationLimits) -> Solution {
    let solution = attempt(problem, effort);
    let ball = Ball {
        value: solution.value,
        error: solution.error_bound,
    };
    let is_within = ball.is_within(effort.tolerance);
    if effort.exact || solution.status != Status::Ok || is_within {
        return solution;
    }
    let effort = IntegrationLimits {
        exact: true,
        ..*effort
    };
    let exact = attempt(problem, &effort);
    match exact.status {
        // Rational arithmetic takes more work, so it may reach a limit. The floating-point result is kept if it is better.
        Status::GaveUp(_) if exact.error_bound > solution.error_bound => Solution {
            status: exact.status,
            ..solution
        },
        _ => exact,
    }
}

fn attempt(problem: &Problem, effort: &IntegrationLimits) -> Solution {
    let mut search = Search::new(problem.store.clone(), *effort);
    let state = State {
        ranges: Ranges::default(),
        conjuncts: vec![problem.formula],
        weight: problem.weight,
        reals: (0..problem.reals.len()).collect(),
        bools: (0..problem.bools.len()).collect(),
    };
    let inside = vec![Rational::ZERO; problem.reals.len()];
    let part = search.integral(state.clone(), &inside);
    let (integral, status) = match part {
        Part::Number(integral) => (integral, search.gave_up.take().map_or(Status::Ok, Status::GaveUp)),
        Part::Nothing => (Integral::zero(), nothing(problem, &mut search, state, &inside)),
        Part::Unbounded(direction) => {
            let named = |(at, step): (usize, Rational)| (problem.reals[at].clone(), step);
            let direction = direction.into_iter().map(named).collect();
            let nowhere = Integral {
                value: f64::NAN,
                error_bound: f64::INFINITY,
                exact: None,
            };
            (nowhere, Status::Unbounded(direction))
        }
    };
    Solution {
        value: integral.value,
        error_bound: integral.error_bound,
        exact: integral.exact,
        status,
        regions: search.tally.regions,
        method: method(&search.tally),
    }
}

/// Finds out why the search did not integrate over any region: the formula does not hold at any point, the set has volume zero, or the weight
/// is zero. If finding the reason takes too much work, the status is `Ok`, because the integral is known to be 0.
fn nothing(problem: &Problem, search: &mut Search, mut state: State, inside: &[Rational]) -> Status {
    state.weight = search.store.number(Rational::ONE);
    if search.has_region(state, inside) || search.gave_up.is_some() {
        return Status::Ok;
    }
    match touch::holds_somewhere(problem) {
        Some(false) => Status::Empty,
        Some(true) => Status::Degenerate,
        None => Status::Ok,
    }
}

fn method(tally: &Tally) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let words: Vec<String> = [
        counted(tally.polytopes, "polytope", "polytopes"),
        counted(tally.slabs, "box between planes", "boxes between planes"),
        counted(
            tally.eliminated,
            "variable integrated out",
            "variables integrated out",
        ),
        counted(tally.products, "product of parts", "products of parts"),
        counted(tally.sums, "sum term by term", "sums term by term"),
        counted(tally.repeated, "repetition", "repetitions"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match words.is_empty() {
        true => "nothing to integrate".to_owned(),
        false => words.join(", "),
    }
}
