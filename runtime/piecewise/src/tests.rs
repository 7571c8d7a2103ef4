//! Compares the distributions of networks with uniform weights with exact rational results, results in high precision, and closed
//! forms.
#![allow(clippy::unwrap_used)]

mod cells;
mod exact;
mod many;
mod published;
mod sigmoids;
mod units;
mod vectors;

use super::{Law, Network, ObservationNoise, UniformTerm, Unit};

/// Returns the term `slope * w`, where the weight `w` is uniform on `[lower, upper]`.
fn term(slope: f64, lower: f64, upper: f64) -> UniformTerm {
    UniformTerm { slope, lower, upper }
}

/// Returns a network that is affine in its weights.
fn affine(offset: f64, terms: &[UniformTerm]) -> Network {
    Network {
        offset,
        terms: terms.to_vec(),
        units: Vec::new(),
    }
}

/// Returns a network that consists of ReLU units and an offset.
fn units(offset: f64, units: &[Unit]) -> Network {
    Network {
        offset,
        terms: Vec::new(),
        units: units.to_vec(),
    }
}

/// Returns triangular noise without a Normal that is mixed in.
fn triangle(radius: f64) -> ObservationNoise {
    ObservationNoise::Triangular { radius, floor: 0.0 }
}

/// Checks that the relative difference of two numbers is at most `tolerance`.
fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "{got:e} is not {want:e}, off by {:e}",
        got - want
    );
}

/// Computes mass, mean and variance of a distribution by the midpoint rule. The rule has `count` points, from `reach` standard
/// deviations below the mean to `reach` standard deviations above it.
fn moments(law: &Law, reach: f64, count: i32) -> (f64, f64, f64) {
    let sd = law.variance().sqrt();
    let step = 2.0 * reach * sd / f64::from(count);
    let (mut mass, mut mean, mut variance) = (0.0, 0.0, 0.0);
    for index in 0..count {
        let x = -(reach * sd) + step * (f64::from(index) + 0.5);
        let part = step * law.density(law.mean() + x);
        mass += part;
        mean += part * x;
        variance += part * x * x;
    }
    (mass, law.mean() + mean, variance)
}

/// Checks that the distribution function rises from 0 to 1, that the density has mass 1, and that the mean and the variance of the
/// density agree with those of `law`.
fn check_law(law: &Law, reach: f64, tolerance: f64) {
    let (mass, mean, variance) = moments(law, reach, if tolerance < 1e-6 { 1500 } else { 6000 });
    close(mass, 1.0, tolerance);
    assert!(
        (mean - law.mean()).abs() <= tolerance * law.variance().sqrt(),
        "{mean} is not {}",
        law.mean()
    );
    close(variance, law.variance(), 4.0 * tolerance);
    let sd = law.variance().sqrt();
    let mut before = 0.0;
    for index in 0..=100 {
        let y = law.mean() + (f64::from(index) / 50.0 - 1.0) * reach * sd;
        let here = law.cdf(y);
        assert!(
            here >= before - 1e-14 && here <= 1.0 + 1e-14,
            "the cdf falls from {before} to {here} at {y}"
        );
        before = here;
    }
    assert!(law.cdf(law.mean() - 1e3 * sd).abs() < 1e-14);
    assert!((law.cdf(law.mean() + 1e3 * sd) - 1.0).abs() < 1e-14);
}
