//! Tests of far tails, and of values that are known. A log density is never NaN. Densities that use
//! special functions agree with values that were computed with many digits.

use super::probe::{Probe, module, named};
use super::scalars::{all, ends, near};
use bnnc_graph::dist::Support;
use bnnc_graph::tensor::Tensor;
use std::f64::consts::{LN_2, PI};

const EULER: f64 = 0.577_215_664_901_532_9;

/// Runs a check for a distribution at these parameters.
fn at(name: &str, values: &[f64], check: impl Fn(&Probe<'_>)) {
    let module = module("");
    let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
    check(&Probe::at(&module, named(&module, name), values));
}

/// The tested values range from `1e-40` to `1e40`. The values are on both sides of zero if both
/// sides belong to the support.
#[test]
fn densities_are_numbers_in_the_far_tails() {
    all(|probe| {
        let sizes: Vec<f64> = (-40..=40).map(|exponent| 10f64.powi(exponent)).collect();
        let points: Vec<f64> = match ends(probe) {
            Support::Real => sizes.iter().flat_map(|x| [-x, *x]).collect(),
            Support::Interval(_, high) => sizes.into_iter().filter(|x| *x < high).collect(),
            _ => return Ok(()),
        };
        let log_densities = probe.log_densities(&points).unwrap_or_default();
        let mut pairs = points.iter().zip(&log_densities);
        match pairs.find(|(_, density)| density.is_nan() || **density == f64::INFINITY) {
            Some((x, density)) => Err(format!("log density {density} at {x}")),
            None => Ok(()),
        }
    });
}

/// Some tails fall like a power. If the squared value is far above one, they have the exact power.
#[test]
fn power_laws_have_their_orders() {
    let laws: [(&str, &[f64], f64); 7] = [
        ("Cauchy", &[0.3, 0.5], -2.0),
        ("HalfCauchy", &[0.5], -2.0),
        ("Horseshoe", &[0.3, 0.5], -2.0),
        ("StudentT", &[3.5, 0.3, 0.5], -4.5),
        ("HalfStudentT", &[3.5, 0.5], -4.5),
        ("InverseGamma", &[0.7, 0.5], -1.7),
        ("Pareto", &[0.5, 0.7], -1.7),
    ];
    for (name, values, order) in laws {
        at(name, values, |probe| {
            let found = probe.log_densities(&[1e30, 1e40]).unwrap_or_default();
            let slope = (found[1] - found[0]) / 1e10f64.ln();
            assert_eq!(near(name, slope, order, 1e-12), Ok(()));
        });
    }
}

/// The expected entropies have closed forms. Shapes are integers, so gamma functions are
/// factorials.
#[test]
fn entropies_are_the_known_ones() {
    let (log, scale) = (0.4f64.ln(), 0.4);
    // The logarithm of the gamma function at three, and the digamma function at three.
    let (gamma, digamma) = (LN_2, 1.5 - EULER);
    let known: [(&str, &[f64], f64); 14] = [
        ("Exponential", &[scale], 1.0 + log),
        ("Rayleigh", &[scale], 1.0 - 0.5 * LN_2 + 0.5 * EULER + log),
        (
            "Weibull",
            &[3.0, scale],
            EULER * 2.0 / 3.0 - 3f64.ln() + 1.0 + log,
        ),
        ("Gamma", &[3.0, scale], 3.0 + gamma - 2.0 * digamma + log),
        ("InverseGamma", &[3.0, scale], 3.0 + gamma - 4.0 * digamma + log),
        ("Error", &[0.0, scale, 2.0], 1.0 + 4f64.ln() + log),
        ("Error", &[0.0, scale, 1.0], 0.5 * (1.0 + (2.0 * PI).ln()) + log),
        ("LogGamma", &[3.0, scale], 3.0 + gamma - 3.0 * digamma),
        ("StandardWald", &[scale], 0.876945608 + log),
        ("Normal", &[0.0, scale], 1.418938533 + log),
        ("Laplace", &[0.0, scale], 1.0 + LN_2 + log),
        ("Logistic", &[0.0, scale], 2.0 + log),
        ("Horseshoe", &[0.0, scale], 2.10987184 + log),
        (
            "LogNormal",
            &[0.7, scale],
            0.7 + 0.5 * (1.0 + (2.0 * PI).ln()) + log,
        ),
    ];
    for (name, values, expected) in known {
        at(name, values, |probe| {
            let found = probe.scalar(|i| &i.entropy).unwrap_or(f64::NAN);
            assert_eq!(near(name, found, expected, 5e-9), Ok(()));
        });
    }
    at("InverseGaussian", &[1.0, 1.0], |probe| {
        let found = probe.scalar(|i| &i.entropy).unwrap_or(f64::NAN);
        assert_eq!(near("InverseGaussian", found, 0.876945608, 5e-10), Ok(()));
    });
}

/// The expected log densities of the standard horseshoe were computed with fifty digits and
/// rounded. The points are near the peak, around the boundary between the two formulas, and far
/// out.
#[test]
fn horseshoe_densities_are_the_known_ones() {
    let known = [
        (1e-30, 2.86554737682676),
        (1e-8, 1.54609458379155),
        (0.01, 0.169222293749251),
        (0.5, -1.45412990946146),
        (1.4, -2.56695323422712),
        (1.41, -2.57656334713575),
        (1.42, -2.58613262282763),
        (1.5, -2.66125975850645),
        (3.0, -3.74223356213084),
        (20.0, -7.36694881645449),
        (1e5, -24.3963721686346),
        (1e40, -185.577328678018),
    ];
    at("Horseshoe", &[0.0, 1.0], |probe| {
        let points: Vec<f64> = known.iter().map(|(x, _)| *x).collect();
        let found = probe.log_densities(&points).unwrap_or_default();
        for ((x, expected), found) in known.iter().zip(found) {
            assert_eq!(near(&format!("at {x}"), found, *expected, 1e-12), Ok(()));
        }
    });
}

/// The expected values are `Phi(a) + exp(2 shape) Phi(-b)`. The expected values were computed with
/// fifty digits and rounded.
#[test]
fn inverse_gaussian_probabilities_are_the_known_ones() {
    let known = [
        (0.3, 2.0, 0.0568926271166807),
        (1.0, 0.5, 0.713791788077904),
        (2.5, 3.0, 0.975251260416996),
        (7.0, 0.1, 0.970370725508357),
        (0.9, 40.0, 0.277557782449437),
    ];
    for (x, shape, expected) in known {
        at("InverseGaussian", &[1.0, shape], |probe| {
            let found = probe.cdf(&[x]).unwrap_or_default();
            assert_eq!(near(&format!("at {x}"), found[0], expected, 1e-12), Ok(()));
        });
    }
}

/// The expected probabilities far in the tail were computed with fifty digits and rounded. If an
/// argument `z` has the relative rounding error `e`, such a probability changes by the fraction
/// `z^2 e`.
#[test]
fn small_probabilities_keep_their_digits() {
    let normal = [
        (-1.0, 0.158_655_253_931_457_05),
        (-5.0, 2.866_515_718_791_939e-7),
        (-10.0, 7.619_853_024_160_526e-24),
        (-20.0, 2.753_624_118_606_233_7e-89),
        (-37.0, 5.725_571_222_524_577e-300),
    ];
    let relative = |found: Option<Vec<f64>>, x: f64, expected: f64, bound: f64| {
        let found = found.unwrap_or_default()[0];
        assert!(
            (found / expected - 1.0).abs() < bound,
            "{found:e} at {x}, not {expected:e}"
        );
    };
    let text = "dist Bent(loc: real) on real {
           log_density(x) = x - loc
           cdf(x)         = gelu(x - loc)
           draw           = loc
         }";
    for (z, expected) in normal {
        let bound = 4e-16 * (1.0 + z * z);
        at("Normal", &[3.0, 0.5], |probe| {
            relative(probe.cdf(&[3.0 + 0.5 * z]), z, expected, bound);
        });
        at("LogNormal", &[0.0, 1.0], |probe| {
            relative(probe.cdf(&[z.exp()]), z, expected, 2.0 * bound);
        });
        let module = module(text);
        let probe = Probe::at(&module, named(&module, "Bent"), vec![Tensor::scalar(0.0)]);
        relative(probe.cdf(&[z]), z, z * expected, bound);
    }
    // At these arguments, both terms of the probability are small.
    for (x, shape, expected) in [
        (0.01, 2.0, 1.527_989_256_759_566_6e-44),
        (0.05, 3.0, 1.771_692_817_533_797_3e-13),
    ] {
        at("InverseGaussian", &[1.0, shape], |probe| {
            relative(probe.cdf(&[x]), x, expected, 1e-12);
        });
    }
}
