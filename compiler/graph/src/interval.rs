//! Interval arithmetic with outer bounds. The bounds are always valid, but not always tight.
//!
//! Note [Exact arithmetic]. The bounds hold for finite operands in exact arithmetic, so that they can prove
//! in which support a value lies. For example, an exponential is above zero in exact arithmetic, although it
//! may underflow to zero. The smallest normal number stands for an open end at zero.

use crate::op::Interval;

impl Interval {
    /// The interval from 0 to 1. It contains Booleans and probabilities.
    pub const UNIT: Interval = Interval { lo: 0.0, hi: 1.0 };
    /// The interval of all numbers that are not negative.
    pub const NON_NEGATIVE: Interval = Interval {
        lo: 0.0,
        hi: f64::INFINITY,
    };

    /// Returns the interval of one number.
    pub fn point(value: f64) -> Interval {
        Interval::hull(&[value])
    }

    /// Returns the smallest interval that contains these numbers. If a number is NaN, or if the list is
    /// empty, returns all reals.
    pub fn hull(numbers: &[f64]) -> Interval {
        if numbers.is_empty() || numbers.iter().any(|x| x.is_nan()) {
            return Interval::REALS;
        }
        let lo = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Interval { lo, hi }
    }

    /// Returns the smallest interval that contains all of these intervals.
    pub fn union(intervals: &[Interval]) -> Interval {
        let ends: Vec<f64> = intervals.iter().flat_map(|x| [x.lo, x.hi]).collect();
        Interval::hull(&ends)
    }

    /// Returns whether `value` lies inside the interval.
    pub fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Returns whether all of `self` lies inside `outer`.
    pub fn is_within(self, outer: Interval) -> bool {
        outer.lo <= self.lo && self.hi <= outer.hi
    }

    /// Returns the image of the interval under a monotone function.
    pub fn monotone(self, f: impl Fn(f64) -> f64) -> Interval {
        Interval::hull(&[f(self.lo), f(self.hi)])
    }

    /// Returns the range of a function of two operands, one from each interval. The function must
    /// be monotone in each operand.
    pub fn corners(self, other: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
        let (a, b) = (self, other);
        Interval::hull(&[f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)])
    }

    /// Returns the part of the interval above zero; see Note [Exact arithmetic].
    pub fn above_zero(self) -> Interval {
        Interval {
            lo: self.lo.max(f64::MIN_POSITIVE),
            hi: self.hi.max(f64::MIN_POSITIVE),
        }
    }

    /// Returns whether all numbers of the interval are above zero.
    pub fn is_above_zero(self) -> bool {
        self.lo > 0.0
    }

    /// Returns the part of the interval inside `bounds`, or `bounds` itself if the two are disjoint.
    pub fn clip(self, bounds: Interval) -> Interval {
        let (lo, hi) = (self.lo.max(bounds.lo), self.hi.min(bounds.hi));
        if lo <= hi { Interval { lo, hi } } else { bounds }
    }

    /// Returns the range of all sums of one or more numbers from the interval.
    pub fn sum_of_some(self) -> Interval {
        let lo = if self.lo >= 0.0 {
            self.lo
        } else {
            f64::NEG_INFINITY
        };
        let hi = if self.hi <= 0.0 { self.hi } else { f64::INFINITY };
        Interval { lo, hi }
    }

    /// Returns the range of the products `x * y`. The product of zero and infinity is taken as zero.
    pub fn times(self, other: Interval) -> Interval {
        let product = self.corners(other, |x, y| if x == 0.0 || y == 0.0 { 0.0 } else { x * y });
        let positive = self.is_above_zero() && other.is_above_zero();
        if positive { product.above_zero() } else { product }
    }

    /// Returns the range of quotients `x / y`.
    pub fn over(self, other: Interval) -> Interval {
        if other.contains(0.0) {
            return Interval::REALS;
        }
        let quotient = self.corners(other, |x, y| x / y);
        let positive = self.is_above_zero() && other.is_above_zero();
        if positive { quotient.above_zero() } else { quotient }
    }
}
