//! Integrals over single polytopes agree with closed forms and with each other.

#![allow(clippy::unwrap_used)]

mod closed_forms;
mod invariances;
mod statuses;

use bnnc_wmi::integral::{Integral, IntegrationLimits, RegionIntegral};
use bnnc_wmi::linear::{HalfSpace, Polytope};
use bnnc_wmi::polynomial::Polynomial;
use bnnc_wmi::rational::{Rational, parse, to_f64};
use bnnc_wmi::region;

const EXACT: IntegrationLimits = IntegrationLimits {
    tolerance: 0.0,
    exact: true,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};

/// Limits with an infinite tolerance. Results are therefore never computed again in rational arithmetic, and the tests check the error bounds
/// of floating-point results.
const ROUNDED: IntegrationLimits = IntegrationLimits {
    tolerance: f64::INFINITY,
    exact: false,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};

const USUAL: IntegrationLimits = IntegrationLimits {
    tolerance: 1e-12,
    exact: false,
    regions: 1,
    steps: 1_000_000_000,
    memory: u64::MAX,
    deadline: None,
};

fn integrate(polytope: &Polytope, weight: &Polynomial, effort: &IntegrationLimits) -> RegionIntegral {
    region::integrate(polytope, weight, &[], effort)
}

fn number(text: &str) -> Rational {
    parse(text).unwrap()
}

fn row(coefficients: &[&str], bound: &str) -> HalfSpace {
    HalfSpace::new(coefficients.iter().map(|c| number(c)).collect(), number(bound))
}

fn one(variables: usize) -> Polynomial {
    Polynomial::constant(variables, Rational::ONE)
}

fn monomial(exponents: &[u32]) -> Polynomial {
    Polynomial::monomial(exponents.to_vec(), Rational::ONE)
}

fn cube(dimension: usize, lower: &str, upper: &str) -> Polytope {
    Polytope::boxed(&vec![(Some(number(lower)), Some(number(upper))); dimension])
}

fn value(outcome: RegionIntegral) -> Integral {
    match outcome {
        RegionIntegral::Integral(integral) => integral,
        other => panic!("expected an integral, got {other:?}"),
    }
}

fn exactly(polytope: &Polytope, weight: &Polynomial) -> Rational {
    value(integrate(polytope, weight, &EXACT)).exact.unwrap()
}

/// Computes an integral exactly, in floating point, and with the default limits. Checks that all results agree with `expected` within their
/// error bounds.
fn check(name: &str, polytope: &Polytope, weight: &Polynomial, expected: &Rational) {
    assert_eq!(exactly(polytope, weight), *expected, "{name}");
    let rounded = value(integrate(polytope, weight, &ROUNDED));
    let distance = |integral: &Integral| {
        let difference = Rational::try_from(integral.value).unwrap() - expected;
        to_f64(&difference).abs()
    };
    assert!(
        distance(&rounded) <= rounded.error_bound,
        "{name}: {rounded:?} {expected}"
    );
    let usual = value(integrate(polytope, weight, &USUAL));
    assert!(
        distance(&usual) <= usual.error_bound,
        "{name}: {usual:?} {expected}"
    );
    assert!(
        usual.error_bound <= 1e-12 * to_f64(expected).abs(),
        "{name}: {usual:?} {expected}"
    );
}

/// A linear congruential generator (Knuth, MMIX). It returns integers from -bound to bound.
struct Draws(u64);

impl Draws {
    fn integer(&mut self, bound: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as i64 % (2 * bound + 1) - bound
    }

    fn number(&mut self) -> Rational {
        Rational::from(self.integer(100)) / Rational::from(self.integer(3) + 4)
    }

    fn row(&mut self, dimension: usize, bound: Rational) -> HalfSpace {
        HalfSpace::new(
            (0..dimension).map(|_| Rational::from(self.integer(4))).collect(),
            bound,
        )
    }

    /// Returns the intersection of a box around the origin with half-spaces that all contain the origin.
    fn polytope(&mut self, dimension: usize, cuts: usize) -> Polytope {
        let mut polytope = cube(dimension, "-3", "3.5");
        for _ in 0..cuts {
            let bound = Rational::from(self.integer(3) + 5) / Rational::from(2);
            polytope.rows.push(self.row(dimension, bound));
        }
        polytope
    }

    fn polynomial(&mut self, variables: usize) -> Polynomial {
        let mut polynomial = Polynomial::constant(variables, self.number());
        for _ in 0..3 {
            let mut term = Polynomial::constant(variables, self.number());
            for _ in 0..2 {
                let variable = self.integer(1000).unsigned_abs() as usize % variables;
                term = &term * &Polynomial::variable(variables, variable);
            }
            polynomial = &polynomial + &term;
        }
        polynomial
    }
}
