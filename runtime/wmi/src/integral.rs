//! The result of an integration.

use crate::rational::{Rational, to_f64};
use crate::region::ball::Ball;
use std::borrow::Borrow;
use std::time::Instant;

/// The result of an integration: a number with a bound on its error.
#[derive(Clone, Debug, PartialEq)]
pub struct Integral {
    /// The computed number. It may be rounded.
    pub value: f64,
    /// A bound on the difference between `value` and the exact number. It includes the rounding error of
    /// `value`.
    pub error_bound: f64,
    /// The exact number. `None` if it was not computed.
    pub exact: Option<Rational>,
}

/// The result of an integration over a region.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionIntegral {
    /// The region has a volume, and the integral over it was computed.
    Integral(Integral),
    /// The region is empty, so the integral is 0.
    Empty,
    /// The region has points but no volume, so the integral is 0.
    Degenerate,
    /// The region is unbounded in this direction, and the weight is not zero there.
    Unbounded(Vec<Rational>),
    /// The integral is unknown, because the work on the region would exceed a limit of [`IntegrationLimits`].
    GaveUp(Limit),
}

/// The limit that the work on a region would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`IntegrationLimits::steps`], or a fixed limit on the number of monomials.
    Steps,
    /// [`IntegrationLimits::deadline`].
    Seconds,
    /// [`IntegrationLimits::memory`].
    Memory,
}

/// The required accuracy of a result, and limits on the work that may be spent on the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntegrationLimits {
    /// The largest relative error bound that is accepted for a floating-point result. A result with a larger bound is computed again in rational
    /// arithmetic.
    pub tolerance: f64,
    /// True if all results are computed in rational arithmetic from the start.
    pub exact: bool,
    /// The maximum number of regions that are integrated.
    pub regions: usize,
    /// The maximum number of steps in one region. A step is either a comparison of two rays of the cone over the region, or the addition of one term
    /// to the integral over a face of the region. Storing a number counts as eight steps. Adding a term in rational
    /// arithmetic counts as at least 32 steps.
    pub steps: u64,
    /// The maximum number of bytes for the search and the current region together. This includes rays, moments of faces, solved cases and terms. The
    /// allocator uses somewhat more memory than is counted.
    pub memory: u64,
    /// The time at which unfinished work is abandoned. The clock is checked before each case and during the work on a region.
    pub deadline: Option<Instant>,
}

impl Default for IntegrationLimits {
    /// Returns limits with a relative tolerance of 1e-12, a million regions, and a billion steps in each region. Rational arithmetic is used only
    /// where it is needed. A billion steps in floating point take less than a minute.
    fn default() -> IntegrationLimits {
        IntegrationLimits {
            tolerance: 1e-12,
            exact: false,
            regions: 1_000_000,
            steps: 1_000_000_000,
            memory: u64::MAX,
            deadline: None,
        }
    }
}

impl Integral {
    /// Creates a result whose exact number is known.
    pub fn exactly(number: Rational) -> Integral {
        let ball = Ball::around(&number);
        Integral {
            value: ball.value,
            error_bound: ball.error,
            exact: Some(number),
        }
    }

    /// Creates the exact result 0.
    pub fn zero() -> Integral {
        Integral::exactly(Rational::ZERO)
    }

    /// Adds the parts. The sum is exact if all parts are exact. The error bound of the sum includes the error bounds of the parts and all rounding
    /// errors of the additions, and is valid for any order of addition (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3, running
    /// error bounds).
    pub fn sum<I: Borrow<Integral>>(parts: impl IntoIterator<Item = I>) -> Integral {
        parts.into_iter().fold(Integral::zero(), |sum, part| {
            sum.combine(part.borrow(), Ball::plus, |a, b| a + b)
        })
    }

    /// Multiplies the parts. The product is exact if all parts are exact. The product of an empty list is 1. The error bound of the product includes
    /// the error bounds of the parts and all rounding errors of the multiplications.
    pub fn product<I: Borrow<Integral>>(parts: impl IntoIterator<Item = I>) -> Integral {
        let one = Integral::exactly(Rational::ONE);
        parts.into_iter().fold(one, |product, part| {
            product.combine(part.borrow(), Ball::times, |a, b| a * b)
        })
    }

    /// Multiplies the result by an exact number.
    pub fn scaled(&self, factor: &Rational) -> Integral {
        self.combine(&Integral::exactly(factor.clone()), Ball::times, |a, b| a * b)
    }

    fn combine(
        &self,
        other: &Integral,
        rounded: fn(Ball, Ball) -> Ball,
        exact: fn(&Rational, &Rational) -> Rational,
    ) -> Integral {
        match (&self.exact, &other.exact) {
            (Some(a), Some(b)) => Integral::exactly(exact(a, b)),
            _ => rounded(self.ball(), other.ball()).into(),
        }
    }

    fn ball(&self) -> Ball {
        Ball {
            value: self.value,
            error: self.error_bound,
        }
    }
}

impl From<Ball> for Integral {
    fn from(ball: Ball) -> Integral {
        Integral {
            value: ball.value,
            error_bound: ball.error,
            exact: None,
        }
    }
}

/// Returns the floating-point number nearest to the exact number, or `value` if the exact number is not known.
impl From<&Integral> for f64 {
    fn from(integral: &Integral) -> f64 {
        integral.exact.as_ref().map_or(integral.value, to_f64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::rational::parse;

    fn rounded(text: &str) -> Integral {
        let exact = Integral::exactly(parse(text).unwrap());
        Integral {
            error_bound: exact.error_bound * 2.0 + 1e-18,
            exact: None,
            ..exact
        }
    }

    fn error(integral: &Integral, expected: &str) -> f64 {
        to_f64(&(Rational::try_from(integral.value).unwrap() - parse(expected).unwrap())).abs()
    }

    #[test]
    fn exact_parts_stay_exact() {
        let parts = ["1/3", "0.25", "-2/7"].map(|text| Integral::exactly(parse(text).unwrap()));
        assert_eq!(Integral::sum(&parts).exact, parse("25/84"));
        assert_eq!(Integral::product(&parts).exact, parse("-1/42"));
        assert_eq!(Integral::exactly(parse("0.25").unwrap()).error_bound, 0.0);
        assert_eq!(Integral::sum(Vec::<Integral>::new()), Integral::zero());
        assert_eq!(
            Integral::product(Vec::<Integral>::new()).exact,
            Some(Rational::ONE)
        );
    }

    #[test]
    fn bounds_cover_every_rounding() {
        // The ten thousand terms cannot be represented exactly in floating point, and the last part cancels their sum.
        let mut parts = vec![rounded("0.1"); 10_000];
        parts.push(rounded("-999.7"));
        let sum = Integral::sum(&parts);
        assert!(
            error(&sum, "0.3") <= sum.error_bound && sum.error_bound < 1e-8,
            "{sum:?}"
        );
        let product = Integral::product([rounded("1/3"), rounded("3/7"), rounded("-7/1000")]);
        assert!(
            error(&product, "-0.001") <= product.error_bound && product.error_bound < 1e-17,
            "{product:?}"
        );
    }
}
