//! Floating-point numbers with a bound on their error.

use crate::rational::Rational;
use dashu_base::Approximation;

/// Half the distance from 1 to the next number: the relative error of one rounded operation.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A factor that covers the rounding errors in the computation of a bound, which rounds at most six times.
const MARGIN: f64 = 1.0 + 4.0 * f64::EPSILON;

/// The largest error that underflow can cause in a product.
const TINY: f64 = f64::MIN_POSITIVE;

/// All numbers within `error` of `value`: midpoint-radius arithmetic (Rump, Fast and parallel interval arithmetic, BIT 39, 1999). A margin,
/// instead of a directed rounding mode, covers the rounding errors of the radius. A value that overflows has an infinite radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ball {
    /// The midpoint.
    pub value: f64,
    /// The radius.
    pub error: f64,
}

impl Ball {
    /// 0 without error.
    pub const ZERO: Ball = Ball::exactly(0.0);

    /// A number without error.
    pub const fn exactly(value: f64) -> Ball {
        Ball { value, error: 0.0 }
    }

    /// Returns the ball around the nearest floating-point number.
    pub fn around(number: &Rational) -> Ball {
        match number.to_f64() {
            Approximation::Exact(value) => Ball::exactly(value),
            Approximation::Inexact(value, _) => Ball {
                value,
                error: rounding(value),
            },
        }
    }

    /// Creates a ball, with an infinite radius if `error` is NaN.
    fn with(value: f64, error: f64) -> Ball {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Ball { value, error }
    }

    /// Returns whether the radius is at most this fraction of the value.
    pub fn is_within(self, tolerance: f64) -> bool {
        self.error.is_finite() && self.error <= tolerance * self.value.abs()
    }

    pub fn plus(self, other: Ball) -> Ball {
        let value = self.value + other.value;
        Ball::with(value, (self.error + other.error + UNIT * value.abs()) * MARGIN)
    }

    pub fn times(self, other: Ball) -> Ball {
        let value = product(self.value, other.value);
        let carried = product(self.value.abs(), other.error)
            + product(other.value.abs(), self.error)
            + product(self.error, other.error);
        // An exact zero stays exact, because no rounding occurs.
        let rounded = if value == 0.0 && (self == Ball::ZERO || other == Ball::ZERO) {
            0.0
        } else {
            rounding(value)
        };
        Ball::with(value, (carried + rounded) * MARGIN)
    }

    /// Returns the quotient; its radius is not finite if `other` contains 0.
    pub fn over(self, other: Ball) -> Ball {
        let value = self.value / other.value;
        let smallest = (other.value.abs() - other.error) * (1.0 - f64::EPSILON);
        if smallest.is_nan() || smallest <= 0.0 {
            return Ball::with(value, f64::INFINITY);
        }
        let carried = (self.error + value.abs() * (1.0 + f64::EPSILON) * other.error + TINY) / smallest;
        Ball::with(value, (carried + rounding(value)) * MARGIN)
    }

    /// Returns an upper bound of the numbers of the ball.
    pub fn upper(self) -> f64 {
        (self.value + self.error).next_up()
    }

    /// Returns a lower bound of the numbers of the ball.
    pub fn lower(self) -> f64 {
        (self.value - self.error).next_down()
    }
}

/// Multiplies two numbers. Zero times infinity is zero, because an infinite factor represents an unknown number.
pub(crate) fn product(one: f64, other: f64) -> f64 {
    match one == 0.0 || other == 0.0 {
        true => 0.0,
        false => one * other,
    }
}

/// Bounds the error of one operation that was rounded to `value`, including underflow.
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
