//! The supports of distributions and types, and the bijectors from a support to the real line.

use serde::{Deserialize, Serialize};

/// The support of a distribution, or the set of values that a declared type allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Support {
    /// All real numbers.
    Real,
    /// Real numbers in an open interval, whose ends may be infinite. The type `positive` is `(0,
    /// inf)`, and `unit` is `(0, 1)`.
    Interval(f64, f64),
    /// Vectors of positive numbers that sum to one. Vectors lie along the last axis.
    Simplex,
    /// Vectors of strictly increasing numbers. Vectors lie along the last axis.
    Ordered,
    /// The integers `0..k`. If `k` is 0, the integers are unbounded, as for counts. If `k` is 2,
    /// they stand for Booleans.
    Integers(usize),
}

/// The sum of a simplex may differ from one by at most this distance. This distance allows for the rounding
/// error of a few thousand elements in single precision.
const SUM: f64 = 1e-4;

impl Support {
    /// Returns whether values are vectors along the last axis. The elements of such a vector are
    /// not independent of each other.
    pub fn is_of_vectors(self) -> bool {
        matches!(self, Support::Simplex | Support::Ordered)
    }

    /// Maps values in the support to unconstrained values. `last` is the size of the last axis,
    /// along which vectors lie. The function applies the bijectors of the language. A value with
    /// one bound becomes the logarithm of its distance to the bound, and a value between two bounds
    /// becomes a logit. A simplex becomes a vector of log ratios: each element divided by the last element. An
    /// increasing vector becomes its first element and the logarithms of its gaps.
    pub fn inverse(self, last: usize, values: &[f64]) -> Vec<f64> {
        let last = last.max(1);
        match self {
            Support::Real | Support::Integers(_) => values.to_vec(),
            Support::Interval(lo, hi) => values.iter().map(|w| inverse_interval(lo, hi, *w)).collect(),
            Support::Simplex => values
                .chunks(last)
                .flat_map(|w| w[..w.len() - 1].iter().map(|x| (x / w[w.len() - 1]).ln()))
                .collect(),
            Support::Ordered => values
                .chunks(last)
                .flat_map(|w| {
                    w[..1]
                        .iter()
                        .copied()
                        .chain(w.windows(2).map(|pair| (pair[1] - pair[0]).ln()))
                })
                .collect(),
        }
    }

    /// Returns the position of the first value that is not finite. If all are finite, returns the
    /// position of the first value outside the support. If the sum of a simplex is not one, returns
    /// the position of its first element. `last` is the size of the last axis, along which vectors
    /// lie.
    pub fn outside(self, last: usize, values: &[f64]) -> Option<usize> {
        let last = last.max(1);
        let first = |is_outside: &dyn Fn(f64) -> bool| values.iter().position(|value| is_outside(*value));
        let infinite = first(&|value| !value.is_finite());
        let of_support = match self {
            Support::Real => None,
            Support::Interval(lo, hi) => first(&|value| !(lo < value && value < hi)),
            Support::Integers(count) => {
                first(&|value| value.fract() != 0.0 || value < 0.0 || (count > 0 && value >= count as f64))
            }
            Support::Simplex => first(&|value| value <= 0.0).or_else(|| {
                let is_off = |w: &[f64]| (w.iter().sum::<f64>() - 1.0).abs() > SUM;
                values.chunks(last).position(is_off).map(|at| at * last)
            }),
            Support::Ordered => (1..values.len()).find(|at| at % last != 0 && values[at - 1] >= values[*at]),
        };
        infinite.or(of_support)
    }
}

fn inverse_interval(lo: f64, hi: f64, w: f64) -> f64 {
    match (lo.is_finite(), hi.is_finite()) {
        (false, false) => w,
        (true, false) => (w - lo).ln(),
        (false, true) => (hi - w).ln(),
        (true, true) => (w - lo).ln() - (hi - w).ln(),
    }
}

impl std::fmt::Display for Support {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Support::Real => formatter.write_str("the reals"),
            Support::Interval(lo, hi) => write!(formatter, "the interval from {lo} to {hi}"),
            Support::Simplex => formatter.write_str("positive vectors with the sum one"),
            Support::Ordered => formatter.write_str("increasing vectors"),
            Support::Integers(0) => formatter.write_str("the counts"),
            Support::Integers(count) => write!(formatter, "the integers from 0 to {}", count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIVE: Support = Support::Interval(0.0, f64::INFINITY);

    #[test]
    fn first_element_outside_the_support_is_found() {
        assert_eq!(Support::Real.outside(1, &[0.0, f64::NAN]), Some(1));
        assert_eq!(POSITIVE.outside(1, &[1.0, 2.0, 0.0]), Some(2));
        assert_eq!(POSITIVE.outside(1, &[1.0, 2.0]), None);
        assert_eq!(Support::Simplex.outside(2, &[0.5, 0.5, 0.5, 0.6]), Some(2));
        assert_eq!(Support::Simplex.outside(2, &[0.5, 0.5, 0.25, 0.75]), None);
        assert_eq!(Support::Ordered.outside(2, &[1.0, 2.0, 0.0, 0.0]), Some(3));
        assert_eq!(Support::Ordered.outside(2, &[1.0, 2.0, 0.0, 0.5]), None);
        assert_eq!(Support::Integers(3).outside(1, &[0.0, 2.0, 3.0]), Some(2));
        assert_eq!(Support::Integers(0).outside(1, &[0.0, 7.0]), None);
    }

    #[test]
    fn inverse_maps_values_to_the_unconstrained_scale() {
        let logit = Support::Interval(-1.0, 3.0).inverse(1, &[0.0]);
        assert_eq!(logit, [1f64.ln() - 3f64.ln()]);
        assert_eq!(POSITIVE.inverse(1, &[1.0, 2.0]), [0.0, 2f64.ln()]);
        assert_eq!(
            Support::Ordered.inverse(3, &[1.0, 3.0, 3.5]),
            [1.0, 2f64.ln(), 0.5f64.ln()]
        );
        assert_eq!(Support::Simplex.inverse(2, &[0.75, 0.25]), [3f64.ln()]);
    }
}
