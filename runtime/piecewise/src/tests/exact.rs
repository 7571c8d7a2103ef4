//! Tests that splines with dyadic widths agree with sums over the corners of the box, computed in rational arithmetic. Degenerate
//! distributions are also tested.

use super::{affine, check_law, close, term, triangle};
use crate::{Law, Network, ObservationNoise, UniformTerm};
use dashu_ratio::RBig;

/// Computes the density at `y` exactly: `1 / ((n - 1)! prod w) sum_S (-1)^|S| (y - start - w(S))_+^(n-1)`.
fn corners(start: f64, widths: &[f64], y: f64) -> f64 {
    let exact = |x: f64| RBig::try_from(x).unwrap();
    let power = |base: &RBig, exponent: usize| (0..exponent).fold(RBig::ONE, |product, _| product * base);
    let mut sum = RBig::ZERO;
    for corner in 0..1usize << widths.len() {
        let inside = (0..widths.len()).filter(|index| corner >> index & 1 == 1);
        let place = inside.fold(exact(y) - exact(start), |place, index| {
            place - exact(widths[index])
        });
        if place > RBig::ZERO {
            let term = power(&place, widths.len() - 1);
            sum = if corner.count_ones() % 2 == 1 {
                sum - term
            } else {
                sum + term
            };
        }
    }
    let scale = widths
        .iter()
        .fold(RBig::ONE, |product, &width| product * exact(width));
    let factorial = (1..widths.len()).fold(RBig::ONE, |product, n| product * RBig::from(n as u64));
    (sum / scale / factorial).to_f64().value()
}

/// The splines have one to eight random widths. The widths range over eight orders of magnitude.
#[test]
fn splines_match_exact_rationals() {
    let mut state = 7u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..60 {
        let count = 1 + case % 8;
        let scale = if case % 2 == 0 { 1.0 } else { 8.0 };
        let widths: Vec<f64> = (0..count).map(|_| 10f64.powf(-scale * random())).collect();
        let sum: f64 = widths.iter().sum();
        let terms: Vec<UniformTerm> = widths.iter().map(|&width| term(1.0, 0.0, width)).collect();
        let law = Law::new(&affine(-0.3, &terms), ObservationNoise::Normal { sd: 0.0 });
        for _ in 0..5 {
            let y = sum * random() - 0.3;
            close(law.density(y), corners(-0.3, &widths, y), 2e-13);
        }
    }
}

/// A term is constant if its slope is zero or its interval has width zero.
#[test]
fn terms_without_width_or_slope_are_constants() {
    let trivial = [term(2.0, 0.25, 0.25), term(0.0, -1.0, 1.0)];
    let noise = ObservationNoise::Normal { sd: 0.5 };
    let law = Law::new(&affine(0.5, &trivial), noise);
    close(
        law.density(1.5),
        (-0.5f64).exp() / (0.5 * (2.0 * std::f64::consts::PI).sqrt()),
        1e-15,
    );
    close(law.mean(), 1.0, 1e-15);
    close(law.variance(), 0.25, 1e-15);
    close(law.cdf(1.0), 0.5, 1e-15);
    let law = Law::new(&affine(0.5, &trivial), triangle(0.5));
    close(law.density(1.25), 1.0, 1e-15);
    let law = Law::new(&affine(0.5, &trivial), ObservationNoise::Normal { sd: 0.0 });
    assert_eq!((law.density(1.0), law.density(1.1)), (f64::INFINITY, 0.0));
    assert_eq!((law.cdf(0.9), law.cdf(1.0), law.variance()), (0.0, 1.0, 0.0));
    let law = Law::new(&Network::default(), noise);
    close(
        law.density(0.0),
        1.0 / (0.5 * (2.0 * std::f64::consts::PI).sqrt()),
        1e-15,
    );
    assert!(law.log_density(1e6).is_finite());
}

/// For every representation of a sum, checks the mass, the moments, and that the distribution function is monotone.
#[test]
fn sums_are_distributions() {
    for (count, narrow) in [
        (1, 1.0),
        (3, 1e-4),
        (5, 0.1),
        (9, 0.5),
        (14, 0.3),
        (40, 0.1),
        (40, 1e-5),
    ] {
        let width = |index: usize| {
            if index < 3 {
                1.0 - 0.2 * index as f64
            } else {
                narrow
            }
        };
        let terms: Vec<UniformTerm> = (0..count).map(|index| term(-0.7, -0.2, width(index))).collect();
        for sd in [0.03, 1.0] {
            check_law(
                &Law::new(&affine(0.4, &terms), ObservationNoise::Normal { sd }),
                9.0,
                1e-11,
            );
        }
    }
}
