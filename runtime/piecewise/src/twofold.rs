//! Positions with twice the digits of `f64`. The knots of splines are sums of widths, and the difference of two such sums must be
//! accurate even if it is very small.

use std::cmp::Ordering;
use std::ops::{Add, Neg, Sub};

/// An unevaluated sum `high + low`, where `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twofold {
    high: f64,
    low: f64,
}

impl Twofold {
    /// Returns the exact sum of two numbers, computed by Knuth's two-sum.
    pub fn sum(a: f64, b: f64) -> Twofold {
        let high = a + b;
        let part = high - a;
        Twofold {
            high,
            low: (a - (high - part)) + (b - part),
        }
    }

    /// Returns the product of two numbers, which is exact unless it underflows.
    pub fn product(a: f64, b: f64) -> Twofold {
        let high = a * b;
        Twofold {
            high,
            low: a.mul_add(b, -high),
        }
    }

    /// Returns the nearest `f64` number.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    /// Returns the midpoint of two positions.
    pub fn midpoint(self, other: Twofold) -> Twofold {
        let sum = self + other;
        Twofold {
            high: 0.5 * sum.high,
            low: 0.5 * sum.low,
        }
    }

    /// Multiplies this position by a number.
    pub fn times(self, factor: f64) -> Twofold {
        let product = Twofold::product(self.high, factor);
        Twofold::sum(product.high, product.low + self.low * factor)
    }

    /// Compares two positions.
    pub fn order(self, other: Twofold) -> Ordering {
        self.high
            .total_cmp(&other.high)
            .then(self.low.total_cmp(&other.low))
    }
}

impl From<f64> for Twofold {
    fn from(high: f64) -> Twofold {
        Twofold { high, low: 0.0 }
    }
}

impl Neg for Twofold {
    type Output = Twofold;
    fn neg(self) -> Twofold {
        Twofold {
            high: -self.high,
            low: -self.low,
        }
    }
}

impl Add for Twofold {
    type Output = Twofold;
    fn add(self, other: Twofold) -> Twofold {
        let sum = Twofold::sum(self.high, other.high);
        let rest = Twofold::sum(self.low, other.low);
        let sum = Twofold::sum(sum.high, sum.low + rest.high);
        Twofold::sum(sum.high, sum.low + rest.low)
    }
}

impl Sub for Twofold {
    type Output = Twofold;
    fn sub(self, other: Twofold) -> Twofold {
        self + -other
    }
}
