//! Gamma variates and their derivative with respect to the shape, in `f64` and without branches. The functions here are the steps of the
//! loops in [`crate::gamma`].
//!
//! To generate a variate, the caller makes attempts until one is accepted. To compute the derivative of a variate below the mode, the
//! caller adds terms of a series until further terms are negligible. Each function here computes one step of such a loop.

use super::format::Double;
use super::functions::{exp, expm1, log, log1p};
use super::lane::{Fused, Lane, horner};
use super::noise::{NoiseLaw, StandardNormal, Uniform};
use super::rare::digamma;
use crate::gamma::{DEPTH, NODES, SERIES};

/// Returns the constants `d` and `c` of Marsaglia and Tsang's method for a shape.
fn sizes<T: Lane<Format = Double>>(shape: T) -> (T, T) {
    let raised = (shape + T::one()).when(shape.less(T::one()), shape);
    let d = raised - T::number(1.0 / 3.0);
    (d, T::one() / (T::number(9.0) * d).root())
}

/// Returns the variate that is used if no attempt is accepted.
pub fn fallback<T: Lane<Format = Double>>(shape: T) -> T {
    finish(shape, sizes(shape).0)
}

/// Corrects a variate for special shapes. Returns infinity if the shape is infinite, and NaN if the shape is not positive. Otherwise
/// returns `variate`.
fn finish<T: Lane<Format = Double>>(shape: T, variate: T) -> T {
    let infinity = T::number(f64::INFINITY);
    let variate = infinity.when(shape.equals(infinity), variate);
    variate.when(T::zero().less(shape), T::number(f64::NAN))
}

/// Makes one attempt at a variate, from the four random words of a block. Returns whether the attempt is accepted, and the variate.
pub fn attempt<T: Lane<Format = Double>>(words: [T::Half; 4], shape: T) -> (T::Mask, T) {
    let [first, second, third, fourth] = words;
    let (d, c) = sizes(shape);
    let normal: T = StandardNormal::pair::<Fused, T>(first, second).0;
    let (uniform, other): (T, T) = Uniform::pair::<Fused, T>(third, fourth);
    let root = c.fma::<Fused>(normal, T::one());
    let (cube, square) = (root * root * root, normal * normal);
    let quick = uniform.less(T::one() - T::number(0.0331) * square * square);
    let exact = T::number(0.5) * square + d * (T::one() - cube + log::<Fused, T>(cube));
    let accepted = T::zero().less(root) & (quick | log::<Fused, T>(uniform).less(exact));
    let boost = exp::<Fused, T>(log::<Fused, T>(other) / shape);
    let variate = d * cube * boost.when(shape.less(T::one()), T::one());
    let smallest = T::number(f64::MIN_POSITIVE);
    let variate = smallest.when(variate.less(smallest), variate);
    let usual = T::zero().less(shape) & shape.less(T::number(f64::INFINITY));
    (accepted | !usual, finish(shape, variate))
}

/// Returns two values: whether the derivative at `g` must be computed by the series, and the first term of this series,
/// `digamma(shape + 1) - log g`.
pub fn series_start<T: Lane<Format = Double>>(shape: T, g: T) -> (T::Mask, T) {
    let ordinary = T::zero().less(shape) & T::zero().less(g);
    let low = g.at_most(shape) | g.at_most(T::one());
    let series = ordinary & low & shape.less(T::number(SERIES));
    (series, digamma(shape + T::one()) - log::<Fused, T>(g))
}

/// Returns the derivative of a variate with respect to the shape. `sum` is the sum of the series. It is ignored unless [`series_start`]
/// selects the series.
pub fn gradient<T: Lane<Format = Double>>(shape: T, g: T, sum: T) -> T {
    let (is_series, _) = series_start(shape, g);
    let above = !(g.at_most(shape) | g.at_most(T::one()));
    let side = T::one().when(above, T::number(-1.0));
    let value = (g / shape * sum).when(is_series, tail(shape, g, side));
    let infinity = T::number(f64::INFINITY);
    let value = g.when(g.equals(T::zero()) | g.equals(infinity), value);
    let defined = T::zero().less(shape) & shape.less(infinity) & T::zero().at_most(g);
    value.when(defined, T::number(f64::NAN))
}

/// Returns the derivative as `g` times an integral from 0 to plus or minus infinity, depending on the sign of `side`: see
/// [`crate::gamma::gradient`].
fn tail<T: Lane<Format = Double>>(shape: T, g: T, side: T) -> T {
    let exponent = |w: T| (shape - g) * w - g * (expm1::<Fused, T>(w) - w);
    let offset = log_minus_mean(shape, g);
    let distance = (g - shape) * side;
    let depth = T::number(DEPTH);
    let root = (distance * distance + T::number(2.0 * DEPTH) * g).root();
    let mut end = T::number(2.0 * DEPTH) / (distance + root);
    for _ in 0..6 {
        let w = side * end;
        end = end - (exponent(w) + depth) / (side * (shape - g * exp::<Fused, T>(w)));
    }
    let half = T::number(0.5) * end;
    let value = |node: f64| {
        let w = side * half * T::number(1.0 + node);
        side * (w + offset) * exp::<Fused, T>(exponent(w))
    };
    let sum = NODES.iter().fold(T::zero(), |sum, (node, weight)| {
        T::number(*weight).fma::<Fused>(value(*node) + value(-node), sum)
    });
    g * half * sum
}

/// Returns `log g - digamma(shape)`, computed such that large terms do not cancel.
fn log_minus_mean<T: Lane<Format = Double>>(shape: T, g: T) -> T {
    let small = log::<Fused, T>(g) - digamma(shape);
    let ratio = (g - shape) / shape;
    let near = ratio.magnitude().less(T::number(0.5));
    let log = log1p::<Fused, T>(ratio).when(near, log::<Fused, T>(g / shape));
    let w = T::one() / (shape * shape);
    let coefficients = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32_760.0,
    ];
    let large = log + T::number(0.5) / shape + w * horner::<Fused, T, _, _>(w, coefficients);
    small.when(shape.less(T::number(10.0)), large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gamma, philox};

    fn variate(key: u64, coordinates: [u32; 3], element: u64, shape: f64) -> f64 {
        let [draw, example, step] = coordinates;
        for number in 0..64 {
            let key = philox::attempt(key, number);
            let words = philox::block(
                [element as u32, draw, example, step],
                [key as u32, (key >> 32) as u32],
            );
            let (accepted, variate) = attempt(words, shape);
            if accepted {
                return variate;
            }
        }
        fallback(shape)
    }

    #[test]
    fn variates_agree_with_the_reference() {
        let shapes = (0..4000).map(|i| 10f64.powf(f64::from(i) / 400.0 - 4.0));
        for (element, shape) in shapes.chain([0.0, -1.0, f64::INFINITY, f64::NAN]).enumerate() {
            let got = variate(77, [1, 2, 3], element as u64, shape);
            let want = gamma::variate(77, [1, 2, 3], element as u64, shape);
            let same = got == want || got.is_nan() && want.is_nan();
            // For small shapes, the variate is raised to a large power, which amplifies errors.
            let bound = 1e-14 * (1.0 + 40.0 / shape.min(1.0));
            assert!(
                same || (got - want).abs() <= bound * want,
                "{shape}: {got} not {want}"
            );
        }
    }

    fn derivative(shape: f64, g: f64) -> f64 {
        let (is_series, offset) = series_start(shape, g);
        let (mut power, mut harmonic, mut sum, mut n) = (1.0, 0.0, offset, shape);
        while is_series && (power >= 1e-18 || n <= 2.0 * g) {
            n += 1.0;
            power *= g / n;
            harmonic += 1.0 / n;
            sum += power * (offset + harmonic);
        }
        gradient(shape, g, sum)
    }

    #[test]
    fn derivatives_agree_with_the_reference() {
        for i in 0..400 {
            let shape = 10f64.powf(f64::from(i) / 40.0 - 4.0);
            for factor in [1e-6, 0.01, 0.3, 0.9, 1.0, 1.1, 2.0, 10.0] {
                let g = shape * factor;
                let (got, want) = (derivative(shape, g), gamma::gradient(shape, g));
                assert!(
                    (got - want).abs() <= 2e-12 * want.abs(),
                    "{shape} {g}: {got} not {want}"
                );
            }
        }
        for (shape, g) in [
            (0.0, 1.0),
            (-1.0, 1.0),
            (f64::NAN, 1.0),
            (1.0, -1.0),
            (1.0, f64::NAN),
            (1.0, 0.0),
        ] {
            let (got, want) = (derivative(shape, g), gamma::gradient(shape, g));
            assert!(
                got == want || got.is_nan() && want.is_nan(),
                "{shape} {g}: {got} not {want}"
            );
        }
    }
}
