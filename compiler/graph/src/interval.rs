//! Interval arithmetic: outer bounds, never tight at the cost of being wrong.
//!
//! Note [Exact arithmetic]. Bounds say what holds for finite operands in exact arithmetic, so that supports can be proved: an
//! exponential is above zero, although it may underflow to it. The smallest normal number stands for such an open end.

use crate::op::Interval;

impl Interval {
    /// Truth values, probabilities.
    pub const UNIT: Interval = Interval { lo: 0.0, hi: 1.0 };
    /// Zero and above.
    pub const NON_NEGATIVE: Interval = Interval {
        lo: 0.0,
        hi: f64::INFINITY,
    };

    /// One number.
    pub fn point(value: f64) -> Interval {
        Interval::hull(&[value])
    }

    /// The smallest interval with these numbers; everything if one is not a number.
    pub fn hull(numbers: &[f64]) -> Interval {
        if numbers.is_empty() || numbers.iter().any(|x| x.is_nan()) {
            return Interval::REALS;
        }
        let lo = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Interval { lo, hi }
    }

    /// The smallest interval with all of these.
    pub fn union(intervals: &[Interval]) -> Interval {
        let ends: Vec<f64> = intervals.iter().flat_map(|x| [x.lo, x.hi]).collect();
        Interval::hull(&ends)
    }

    /// Whether `value` lies inside.
    pub fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether all of `self` lies inside `outer`.
    pub fn is_within(self, outer: Interval) -> bool {
        outer.lo <= self.lo && self.hi <= outer.hi
    }

    /// The image under a monotone function.
    pub fn monotone(self, f: impl Fn(f64) -> f64) -> Interval {
        Interval::hull(&[f(self.lo), f(self.hi)])
    }

    /// The image under a function of two operands that is monotone in each.
    pub fn corners(self, other: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
        let (a, b) = (self, other);
        Interval::hull(&[f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)])
    }

    /// These numbers, known to be above zero; see Note [Exact arithmetic].
    pub fn above_zero(self) -> Interval {
        Interval {
            lo: self.lo.max(f64::MIN_POSITIVE),
            hi: self.hi.max(f64::MIN_POSITIVE),
        }
    }

    /// Whether all numbers are above zero.
    pub fn is_above_zero(self) -> bool {
        self.lo > 0.0
    }

    /// The part inside `bounds`; `bounds` itself where they do not meet.
    pub fn clip(self, bounds: Interval) -> Interval {
        let (lo, hi) = (self.lo.max(bounds.lo), self.hi.min(bounds.hi));
        if lo <= hi { Interval { lo, hi } } else { bounds }
    }

    /// Of sums of one element or more.
    pub fn sum_of_some(self) -> Interval {
        let lo = if self.lo >= 0.0 {
            self.lo
        } else {
            f64::NEG_INFINITY
        };
        let hi = if self.hi <= 0.0 { self.hi } else { f64::INFINITY };
        Interval { lo, hi }
    }

    /// Of products `x * y`, where zero times infinity counts as zero.
    pub fn times(self, other: Interval) -> Interval {
        let product = self.corners(other, |x, y| if x == 0.0 || y == 0.0 { 0.0 } else { x * y });
        let positive = self.is_above_zero() && other.is_above_zero();
        if positive { product.above_zero() } else { product }
    }

    /// Of quotients `x / y`.
    pub fn over(self, other: Interval) -> Interval {
        if other.contains(0.0) {
            return Interval::REALS;
        }
        let quotient = self.corners(other, |x, y| x / y);
        let positive = self.is_above_zero() && other.is_above_zero();
        if positive { quotient.above_zero() } else { quotient }
    }
}
