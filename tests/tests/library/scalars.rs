//! Tests of distributions over scalars. Every part of a distribution agrees with quadrature, sums
//! and samples.

use super::probe::{Probe, SETTINGS, module, named, vector};
use super::quadrature::Rule;
use bnnc_graph::dist::Support;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate::dist::support;
use bnnc_hir::types::Ty;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The number of draws in a sample.
const DRAWS: usize = 40_000;

/// The largest count in sums over counts. At the parameters of these tests, larger counts have a
/// negligible probability.
const COUNTS: usize = 3000;

/// Distributions that are improper on purpose: their density does not have a finite integral.
const IMPROPER: &[&str] = &["Flat"];

/// Checks that `found` is near `expected`. The tolerance is relative if the expected value is above
/// one.
pub fn near(what: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    let close = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
    if close {
        Ok(())
    } else {
        Err(format!("{what}: {found}, expected {expected}"))
    }
}

/// Runs a check for every elementwise distribution that has a density, at every setting of its
/// parameters.
pub fn all(check: impl Fn(&Probe<'_>) -> Result<(), String>) {
    let module = module("");
    let mut faults = Vec::new();
    let mut names = 0;
    for id in module.dists.ids() {
        let item = &module.dists[id];
        let has_density = item.declares(bnnc_hir::parts::DistributionPart::LogDensity);
        if !item.elementwise || !has_density || IMPROPER.contains(&&*item.name) {
            continue;
        }
        names += 1;
        for setting in 0..SETTINGS {
            let probe = Probe::new(&module, id, setting);
            faults.extend(
                check(&probe)
                    .err()
                    .map(|fault| format!("{}: {fault}", probe.label())),
            );
        }
    }
    assert!(names >= 28, "only {names} distributions were found");
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

pub fn ends(probe: &Probe<'_>) -> Support {
    match &probe.item().on {
        Ty::Tensor(elem, _) => support(elem),
        other => panic!("{other:?}"),
    }
}

/// Returns points and weights for integrating (or summing) a function over the support.
fn rule(probe: &Probe<'_>) -> Rule {
    match ends(probe) {
        Support::Real => Rule::new((f64::NEG_INFINITY, f64::INFINITY), &probe.breaks()),
        Support::Interval(low, high) => Rule::new((low, high), &probe.breaks()),
        Support::Integers(size) => {
            let size = if size == 0 { COUNTS } else { size };
            Rule {
                points: (0..size).map(|at| at as f64).collect(),
                weights: vec![1.0; size],
            }
        }
        other => panic!("{other:?} is not a support of scalars"),
    }
}

/// Returns the expectation of a function. The arguments of this function are the value and the log
/// density of the value.
fn expectation(probe: &Probe<'_>, f: impl Fn(f64, f64) -> f64) -> f64 {
    let rule = rule(probe);
    let log_density = probe.log_densities(&rule.points).unwrap_or_default();
    rule.sum(|at, x| {
        let density = log_density[at].exp();
        if density == 0.0 {
            0.0
        } else {
            density * f(x, log_density[at])
        }
    })
}

#[test]
fn densities_integrate_to_one() {
    all(|probe| near("mass", expectation(probe, |_, _| 1.0), 1.0, 1e-6));
}

#[test]
fn moments_are_integrals() {
    all(|probe| {
        let Some(mean) = probe.scalar(|i| &i.mean).filter(|mean| mean.is_finite()) else {
            return Ok(());
        };
        near("mean", mean, expectation(probe, |x, _| x), 1e-5)?;
        let Some(variance) = probe
            .scalar(|i| &i.variance)
            .filter(|variance| variance.is_finite())
        else {
            return Ok(());
        };
        near(
            "variance",
            variance,
            expectation(probe, |x, _| (x - mean) * (x - mean)),
            1e-4,
        )
    });
}

#[test]
fn entropies_are_expectations() {
    all(|probe| match probe.scalar(|i| &i.entropy) {
        Some(entropy) => near("entropy", entropy, -expectation(probe, |_, log| log), 1e-5),
        None => Ok(()),
    });
}

/// Returns points inside the support that are not near a break of the density.
fn inside(probe: &Probe<'_>) -> Vec<f64> {
    let (low, high) = match ends(probe) {
        Support::Real => (-4.0, 4.0),
        Support::Interval(low, high) => (low, high.min(low + 6.0)),
        _ => return vec![0.0, 1.0],
    };
    let points = (1..40).map(|at| low + (high - low) * f64::from(at) / 40.0);
    let breaks = probe.breaks();
    points
        .filter(|x| breaks.iter().all(|at| (x - at).abs() > 1e-3))
        .collect()
}

#[test]
fn cumulative_functions_have_the_density_as_slope() {
    all(|probe| {
        let (points, h) = (inside(probe), 1e-5);
        let shifted = |by: f64| probe.cdf(&points.iter().map(|x| x + by).collect::<Vec<f64>>());
        let (Some(above), Some(below)) = (shifted(h), shifted(-h)) else {
            return Ok(());
        };
        let log_densities = probe.log_densities(&points).unwrap_or_default();
        for (at, x) in points.iter().enumerate() {
            let slope = (above[at] - below[at]) / (2.0 * h);
            near(&format!("slope at {x}"), slope, log_densities[at].exp(), 1e-6)?;
        }
        let far = match ends(probe) {
            Support::Interval(low, high) => [low + 1e-9, if high.is_finite() { high - 1e-9 } else { 1e9 }],
            _ => [-1e9, 1e9],
        };
        let ends = probe.cdf(&far).unwrap_or_default();
        near("lower end", ends[0], 0.0, 1e-6)?;
        near("upper end", ends[1], 1.0, 1e-6)
    });
}

/// If the type of a site is narrower than the support, the site has the truncated distribution. The
/// truncated density integrates to one over the interval. Parts that are not valid for the
/// truncated distribution are removed.
#[test]
fn narrowed_densities_integrate_to_one() {
    all(|probe| {
        let has_cdf = probe.has("cdf");
        let (low, high) = match ends(probe) {
            Support::Real => (0.0, 2.0),
            Support::Interval(low, high) => (low + 0.25, high.min(2.0)),
            _ => return Ok(()),
        };
        if !has_cdf {
            return Ok(());
        }
        let rule = Rule::new((low, high), &probe.breaks());
        let instance = probe.declared(&[rule.points.len()], Support::Interval(low, high));
        if instance.draw.is_some() || instance.mean.is_some() || instance.entropy.is_some() {
            return Err("the parts of the wider distribution were kept".to_owned());
        }
        let Some(density) = &instance.log_density_elements else {
            return Err("no density".to_owned());
        };
        let log_densities = probe.call(density, &[vector(&rule.points)]).data;
        near("mass", rule.sum(|at, _| log_densities[at].exp()), 1.0, 1e-6)
    });
}

/// The cumulative distribution function is one half at a declared median.
#[test]
fn half_of_the_probability_lies_below_the_median() {
    all(|probe| {
        let Some(median) = probe.median() else {
            return Ok(());
        };
        let below = probe
            .cdf(&[median])
            .ok_or("no cumulative distribution function")?;
        near("probability below the median", below[0], 0.5, 1e-12)
    });
}

/// Draws that are computed at most once. Some distributions have no sampler.
type Sample = OnceLock<Option<Vec<f64>>>;

/// Returns the draws that two tests compare with the distribution. The test that needs them first computes them,
/// because evaluating a sampler is slow.
fn sample(probe: &Probe<'_>) -> Option<Vec<f64>> {
    static SAMPLES: Mutex<BTreeMap<String, Arc<Sample>>> = Mutex::new(BTreeMap::new());
    // The parameterisations of a distribution have the same name, and differ in the names of their parameters.
    let instance = probe.instance(&[]);
    let names: Vec<&str> = instance.params.iter().map(|(name, _)| &**name).collect();
    let key = format!("{} {names:?}", probe.label());
    let mut samples = SAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
    let sample = samples.entry(key).or_default().clone();
    drop(samples);
    sample.get_or_init(|| probe.draws(DRAWS)).clone()
}

/// Compares a sample with the declared moments. The sample mean must be within five standard errors
/// of the mean, and the sample variance within six standard errors of the variance.
fn sample_moments(probe: &Probe<'_>) -> Result<(), String> {
    let mean = probe.scalar(|i| &i.mean).filter(|mean| mean.is_finite());
    let (Some(draws), Some(mean)) = (sample(probe), mean) else {
        return Ok(());
    };
    let n = draws.len() as f64;
    let average = |f: &dyn Fn(f64) -> f64| draws.iter().map(|x| f(*x)).sum::<f64>() / n;
    let centre = average(&|x| x);
    let second = average(&|x| (x - centre).powi(2));
    let fourth = average(&|x| (x - centre).powi(4));
    let z = (centre - mean) / (second / n).sqrt();
    if z.abs() > 5.0 {
        return Err(format!("sample mean {centre}, expected {mean}: z = {z}"));
    }
    let variance = probe
        .scalar(|i| &i.variance)
        .filter(|variance| variance.is_finite());
    let Some(variance) = variance else {
        return Ok(());
    };
    let z = (second - variance) / ((fourth - second * second) / n).sqrt();
    if z.abs() > 6.0 {
        Err(format!("sample variance {second}, expected {variance}: z = {z}"))
    } else {
        Ok(())
    }
}

/// Checks the Kolmogorov-Smirnov distance between a sample and the distribution. A correct sampler
/// exceeds the bound with a probability of 0.0001.
fn sample_distance(probe: &Probe<'_>) -> Result<(), String> {
    let Some(mut draws) = sample(probe) else {
        return Ok(());
    };
    draws.sort_by(f64::total_cmp);
    // Only every fourth draw is used, because cumulative functions are slow. At the draws in
    // between, the distance is larger by at most three draws divided by the number of draws.
    let some: Vec<f64> = draws.iter().copied().step_by(4).collect();
    let Some(cdf) = probe.cdf(&some) else {
        return Ok(());
    };
    let n = draws.len() as f64;
    let distance = |(at, p): (usize, &f64)| (p - at as f64 / n).abs().max((p - (at + 1) as f64 / n).abs());
    let places = (0..draws.len()).step_by(4);
    let largest = places.zip(&cdf).map(distance).fold(0.0, f64::max) + 3.0 / n;
    if largest * n.sqrt() > 2.23 {
        Err(format!("Kolmogorov-Smirnov {}", largest * n.sqrt()))
    } else {
        Ok(())
    }
}

#[test]
fn draws_have_the_moments() {
    all(sample_moments);
}

#[test]
fn draws_follow_the_cumulative_function() {
    all(sample_distance);
}

/// Draws lie within the support. A declared sampler may be missing only if it needs gamma
/// variables.
#[test]
fn draws_lie_in_the_support() {
    all(|probe| {
        let Some(draws) = probe.draws(2000) else {
            return Ok(());
        };
        let (low, high) = match ends(probe) {
            Support::Interval(low, high) => (low, high),
            Support::Integers(2) => (-0.5, 1.5),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        match draws.iter().find(|x| !(low < **x && **x < high)) {
            Some(outside) => Err(format!("{outside} was drawn")),
            None => Ok(()),
        }
    });
}

/// A sampler whose scale is too small by a tenth fails these checks.
#[test]
fn a_wrong_sampler_is_detected() {
    let module = module(
        "dist Wrong(loc: real, scale: positive) on real {
           log_density(x) = -0.5 * ((x - loc) / scale) ^ 2 - log(scale) - 0.9189385332046727
           cdf(x)         = 0.5 * (1 + erf((x - loc) / (scale * 1.4142135623730951)))
           draw           = loc + 0.9 * scale * standard_normal()
           mean           = loc
           variance       = scale * scale
         }
         dist Shifted(loc: real, scale: positive) on real {
           log_density(x) = -0.5 * ((x - loc) / scale) ^ 2 - log(scale) - 0.9189385332046727
           draw           = loc + 0.1 + scale * standard_normal()
           mean           = loc
         }",
    );
    let wrong = Probe::new(&module, named(&module, "Wrong"), 0);
    assert!(sample_moments(&wrong).is_err() && sample_distance(&wrong).is_err());
    assert!(sample_moments(&Probe::new(&module, named(&module, "Shifted"), 0)).is_err());
    let right = Probe::new(&module, named(&module, "Normal"), 0);
    assert_eq!(
        (sample_moments(&right), sample_distance(&right)),
        (Ok(()), Ok(()))
    );
}

/// The derivatives of the log density are finite, both inside the support and far out. The
/// derivatives are taken with respect to every parameter and the value.
#[test]
fn gradients_are_finite() {
    all(|probe| {
        let instance = probe.instance(&[]);
        let mut names: Vec<&str> = instance.params.iter().map(|(name, _)| &**name).collect();
        if let Support::Real | Support::Interval(..) = instance.support {
            names.push("x");
        }
        let gradient = bnnc_rewrite::differentiate::gradient(&instance.log_density, "log_density", &names);
        let gradient = gradient.map_err(|fault| fault.to_string())?;
        let mut points = inside(probe);
        points.extend(match instance.support {
            Support::Real => vec![-1e40, -30.0, 1e-30, 30.0, 1e40],
            Support::Interval(low, high) if high.is_finite() => vec![low + 1e-6, high - 1e-6],
            Support::Interval(low, _) => vec![low + 1e-40, low + 1e-6, 60.0, 1e40],
            _ => vec![],
        });
        for x in points {
            let mut inputs = probe.parameters().to_vec();
            inputs.push(Tensor::scalar(x));
            let results = bnnc_graph::eval::evaluate(&gradient, &inputs, &Default::default());
            // If the density is zero, its gradient is meaningless.
            if results[0].data[0].is_finite() && !results.iter().all(|result| result.data[0].is_finite()) {
                return Err(format!("at {x}: {results:?}"));
            }
        }
        Ok(())
    });
}

/// The log density of the improper prior is zero everywhere, and so is its derivative.
#[test]
fn improper_densities_are_constant() {
    let module = module("");
    for name in IMPROPER {
        let probe = Probe::new(&module, named(&module, name), 0);
        assert_eq!(probe.log_densities(&[-3.0, 0.0, 1e9]), Some(vec![0.0; 3]));
    }
}
