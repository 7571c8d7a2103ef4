//! Floating-point numbers with a bound on their error.

use crate::rational::Rational;
use dashu_base::Approximation;

/// The largest relative error of one rounded operation: half of the distance from 1 to the next floating-point number.
const UNIT: f64 = f64::EPSILON / 2.0;

/// The computation of an error bound rounds at most six times. Multiplying by this factor makes the bound cover these rounding errors.
const MARGIN: f64 = 1.0 + 4.0 * f64::EPSILON;

/// The largest error that underflow can cause in a product.
const TINY: f64 = f64::MIN_POSITIVE;

/// All numbers within `error` of `value`: midpoint-radius arithmetic (Rump, Fast and parallel interval arithmetic, BIT 39, 1999). The
/// radius is enlarged by a margin for its own rounding errors, so directed rounding is not needed. A value that overflows
/// has an infinite radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ball {
    /// The midpoint of the ball.
    pub value: f64,
    /// The radius of the ball.
    pub error: f64,
}

impl Ball {
    /// The number 0 without error.
    pub const ZERO: Ball = Ball::exactly(0.0);

    /// Creates a ball that contains one number, without error.
    pub const fn exactly(value: f64) -> Ball {
        Ball { value, error: 0.0 }
    }

    /// Returns a ball that contains a rational number. The midpoint of the ball is the nearest floating-point number.
    pub fn around(number: &Rational) -> Ball {
        match number.to_f64() {
            Approximation::Exact(value) => Ball::exactly(value),
            Approximation::Inexact(value, _) => Ball {
                value,
                error: rounding(value),
            },
        }
    }

    /// Creates a ball. If `error` is NaN, the radius is infinite.
    fn with(value: f64, error: f64) -> Ball {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Ball { value, error }
    }

    /// Returns whether the radius is at most this fraction of the midpoint's magnitude.
    pub fn is_within(self, tolerance: f64) -> bool {
        self.error.is_finite() && self.error <= tolerance * self.value.abs()
    }

    pub fn plus(self, other: Ball) -> Ball {
        let value = self.value + other.value;
        Ball::with(value, (self.error + other.error + UNIT * value.abs()) * MARGIN)
    }

    pub fn times(self, other: Ball) -> Ball {
        let value = product(self.value, other.value);
        let propagated = product(self.value.abs(), other.error)
            + product(other.value.abs(), self.error)
            + product(self.error, other.error);
        // If one factor is an exact zero, the product is exact and is not rounded.
        let rounded = if value == 0.0 && (self == Ball::ZERO || other == Ball::ZERO) {
            0.0
        } else {
            rounding(value)
        };
        Ball::with(value, (propagated + rounded) * MARGIN)
    }

    /// Returns the quotient of two balls. If `other` contains 0, the radius is not finite.
    pub fn over(self, other: Ball) -> Ball {
        let value = self.value / other.value;
        let smallest = (other.value.abs() - other.error) * (1.0 - f64::EPSILON);
        if smallest.is_nan() || smallest <= 0.0 {
            return Ball::with(value, f64::INFINITY);
        }
        let propagated = (self.error + value.abs() * (1.0 + f64::EPSILON) * other.error + TINY) / smallest;
        Ball::with(value, (propagated + rounding(value)) * MARGIN)
    }

    /// Returns an upper bound on the numbers in the ball.
    pub fn upper(self) -> f64 {
        (self.value + self.error).next_up()
    }

    /// Returns a lower bound on the numbers in the ball.
    pub fn lower(self) -> f64 {
        (self.value - self.error).next_down()
    }
}

/// Multiplies two numbers. Here, zero times infinity is zero, because an infinite factor stands for an unknown finite number.
pub(crate) fn product(one: f64, other: f64) -> f64 {
    match one == 0.0 || other == 0.0 {
        true => 0.0,
        false => one * other,
    }
}

/// Returns a bound on the error of one operation whose rounded result is `value`. The bound includes the error from underflow.
fn rounding(value: f64) -> f64 {
    UNIT * MARGIN * value.abs() + TINY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underflow_and_overflow_are_not_silent() {
        let tiny = Ball::exactly(1e-200);
        assert!(tiny.times(tiny).error >= 1e-308);
        let huge = Ball::exactly(1e200);
        assert!(!huge.times(huge).error.is_finite());
        assert!(
            Ball::exactly(1.0)
                .over(tiny.plus(Ball {
                    value: 0.0,
                    error: 1e-100
                }))
                .error
                .is_infinite()
        );
    }

    #[test]
    fn unknown_numbers_have_an_infinite_radius() {
        let unknown = Ball {
            value: 0.0,
            error: f64::INFINITY,
        };
        assert_eq!(Ball::exactly(1.0).times(unknown), unknown);
        assert_eq!(Ball::ZERO.times(unknown), Ball::ZERO);
        let overflow = Ball::exactly(1e200).times(Ball::exactly(1e200));
        let opposite = overflow.times(Ball::exactly(-1.0));
        assert_eq!(overflow.plus(opposite).error, f64::INFINITY);
        assert!(!overflow.is_within(1e-12) && !unknown.is_within(1.0));
    }

    #[test]
    fn exact_zeros_stay_exact() {
        let third = Ball::around(&(Rational::ONE / Rational::from(3)));
        assert!(third.error > 0.0);
        assert_eq!(Ball::ZERO.times(third), Ball::ZERO);
        assert_eq!(Ball::ZERO.plus(Ball::ZERO), Ball::ZERO);
    }
}
