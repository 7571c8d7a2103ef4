//! The distribution that an affine function has at a uniform point of a simplex. Its density is a B-spline whose knots are the values of the
//! function at the vertices (Curry and Schoenberg, "On Polya frequency functions IV", 1966, theorem 2).

use super::bernstein::Piece;
use super::measure::{Measure, PointMass};
use super::twofold::Twofold;

/// Adds the distribution of an affine function on a simplex to a measure. `values` are the values of the function at the vertices, and `mass` is the
/// total mass that is added. If the values differ only by rounding errors, the distribution is a single atom.
pub fn add(values: &mut [f64], mass: f64, measure: &mut Measure) {
    values.sort_by(f64::total_cmp);
    let (first, last) = (values[0], values[values.len() - 1]);
    if last - first <= 4.0 * f64::EPSILON * first.abs().max(last.abs()) {
        measure.atoms.push(PointMass {
            at: Twofold::from(0.5 * (first + last)),
            mass,
        });
        return;
    }
    let degree = values.len() - 2;
    let knots: Vec<f64> = std::iter::repeat_n(first, degree)
        .chain(values.iter().copied())
        .chain(std::iter::repeat_n(last, degree))
        .collect();
    let scale = mass * (degree + 1) as f64 / (last - first);
    for interval in degree..=2 * degree {
        let (start, end) = (knots[interval], knots[interval + 1]);
        if start < end {
            let blossom = |count| scale * blossom(&knots, degree, interval, count);
            let coefficients = (0..=degree).map(blossom).collect();
            measure
                .pieces
                .push(Piece::new(Twofold::from(start), Twofold::from(end), coefficients));
        }
    }
}

/// Computes one Bernstein coefficient of a B-spline on an interval between knots. The B-spline starts at the knot `degree`. The coefficient with the
/// index `count` is the blossom of the B-spline, with `count` arguments at the right end of the interval and all other arguments at the left end.
/// The blossom is computed by de Boor's recurrence. All its weights are in `[0, 1]`.
fn blossom(knots: &[f64], degree: usize, interval: usize, count: usize) -> f64 {
    let first = interval - degree;
    let mut controls: Vec<f64> = (first..=interval)
        .map(|index| f64::from(u8::from(index == degree)))
        .collect();
    for level in 1..=degree {
        let at = if level <= count {
            knots[interval + 1]
        } else {
            knots[interval]
        };
        for index in (first + level..=interval).rev() {
            let (low, high) = (knots[index], knots[index + degree + 1 - level]);
            let (below, above) = ((at - low) / (high - low), (high - at) / (high - low));
            controls[index - first] = above * controls[index - first - 1] + below * controls[index - first];
        }
    }
    controls[degree]
}
