//! Bounds the integral of a state that was not solved.

use super::amount::Part;
use super::ranges::{Range, Rows};
use super::state::State;
use crate::integral::Integral;
use crate::problem::form::LinearForm;
use crate::problem::store::{RealTerm, TermId, TermStore};
use crate::rational::{Rational, to_f64};
use crate::region::ball::product;
use std::collections::HashMap;

/// An interval of floating-point numbers, which rounding can only make wider.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Interval {
    lower: f64,
    upper: f64,
}

impl Interval {
    fn number(number: &Rational) -> Interval {
        let nearest = to_f64(number);
        Interval {
            lower: nearest,
            upper: nearest,
        }
        .widened()
    }

    fn widened(self) -> Interval {
        Interval {
            lower: self.lower.next_down(),
            upper: self.upper.next_up(),
        }
    }

    fn plus(self, other: Interval) -> Interval {
        Interval {
            lower: self.lower + other.lower,
            upper: self.upper + other.upper,
        }
        .widened()
    }

    fn times(self, other: Interval) -> Interval {
        let all = [
            product(self.lower, other.lower),
            product(self.lower, other.upper),
            product(self.upper, other.lower),
            product(self.upper, other.upper),
        ];
        Interval {
            lower: all.into_iter().fold(f64::INFINITY, f64::min),
            upper: all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        }
        .widened()
    }

    fn around(self, other: Interval) -> Interval {
        Interval {
            lower: self.lower.min(other.lower),
            upper: self.upper.max(other.upper),
        }
    }
}

/// Returns zero with an error bound: the largest magnitude that the integral of the state can have. For given values of the Booleans,
/// this is the volume of the box of all reals, times the largest magnitude of the weight in this box. The bound sums it over all values
/// of the Booleans.
pub(super) fn anything(store: &TermStore, rows: &Rows, state: &State) -> Part {
    let side = |variable: usize| {
        let range = state.ranges.of_variable(rows, variable);
        let of = |bound: Option<&Rational>, open: f64| {
            bound.map_or((open, open), |bound| {
                let interval = Interval::number(bound);
                (interval.lower, interval.upper)
            })
        };
        let lower = of(
            range.and_then(|range: &Range| range.lower.as_ref()),
            f64::NEG_INFINITY,
        )
        .0;
        let upper = of(
            range.and_then(|range: &Range| range.upper.as_ref()),
            f64::INFINITY,
        )
        .1;
        Interval { lower, upper }
    };
    let sides: HashMap<usize, Interval> = state.reals.iter().map(|at| (*at, side(*at))).collect();
    let weight = of_term(store, state.weight, &sides, &mut HashMap::new());
    let mut volume = 2f64.powi(state.bools.len().min(2000) as i32);
    for at in &state.reals {
        volume = (volume * (sides[at].upper - sides[at].lower).next_up()).next_up();
    }
    let largest = weight.lower.abs().max(weight.upper.abs());
    let error_bound = if largest == 0.0 {
        0.0
    } else {
        (volume * largest).next_up()
    };
    Part::Number(Integral {
        value: 0.0,
        error_bound,
        exact: None,
    })
}

fn of_term(
    store: &TermStore,
    id: TermId,
    sides: &HashMap<usize, Interval>,
    known: &mut HashMap<TermId, Interval>,
) -> Interval {
    if let Some(interval) = known.get(&id) {
        return *interval;
    }
    let interval = match store.term(id) {
        RealTerm::Linear(form) => of_form(form, sides),
        RealTerm::Sum(form, rest) => rest.iter().fold(of_form(form, sides), |sum, (factor, part)| {
            sum.plus(Interval::number(factor).times(of_term(store, *part, sides, known)))
        }),
        RealTerm::Product(parts) => {
            let one = Interval::number(&Rational::ONE);
            parts.iter().fold(one, |product, (part, power)| {
                let part = of_term(store, *part, sides, known);
                (0..*power).fold(product, |product, _| product.times(part))
            })
        }
        RealTerm::Choice(_, one, other) => {
            of_term(store, *one, sides, known).around(of_term(store, *other, sides, known))
        }
    };
    known.insert(id, interval);
    interval
}

fn of_form(form: &LinearForm, sides: &HashMap<usize, Interval>) -> Interval {
    let whole = Interval {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };
    let start = Interval::number(&form.constant);
    form.coefficients.iter().fold(start, |sum, (variable, factor)| {
        let side = sides.get(variable).copied().unwrap_or(whole);
        sum.plus(Interval::number(factor).times(side))
    })
}
