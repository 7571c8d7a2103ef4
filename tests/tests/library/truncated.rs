//! Draws and means of distributions that are truncated by the type of an output.

use super::probe::{Probe, coordinates, module, named};
use super::scalars::near;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::f64::consts::PI;

const INFINITY: f64 = f64::INFINITY;
const DRAWS: usize = 1000;

/// A distribution, an interval, and the mean of the distribution truncated to this interval. The
/// mean is NaN if the density has a jump, because quadrature is then not accurate enough.
type Case = (&'static str, &'static [f64], (f64, f64), f64);

/// Returns the tested cases. The expected means have closed forms. The means of `Gamma` and
/// `StudentT` in bounded intervals are exceptions, which were computed by quadrature (mpmath).
fn cases() -> Vec<Case> {
    let exponential =
        |scale: f64, low: f64, high: f64| low + scale - (high - low) / ((high - low) / scale).exp_m1();
    vec![
        ("Normal", &[-30.0, 1.0], (0.0, INFINITY), 0.033259667433677),
        ("Normal", &[-10.0, 1.0], (0.0, INFINITY), 0.098093233962512),
        ("Normal", &[-1.0, 1.0], (0.0, INFINITY), 0.525135276160982),
        ("Normal", &[0.0, 1.0], (0.0, INFINITY), (2.0 / PI).sqrt()),
        ("Normal", &[2.0, 1.0], (0.0, INFINITY), 2.055247862678987),
        ("Normal", &[10.0, 0.1], (0.0, INFINITY), 10.0),
        ("Normal", &[0.0, 1.0], (-INFINITY, 0.0), -(2.0 / PI).sqrt()),
        ("Normal", &[0.0, 1.0], (8.0, 9.0), 8.121_188_939_988_4),
        ("Normal", &[0.0, 1.0], (-9.0, -8.0), -8.121_188_939_988_4),
        ("Normal", &[0.0, 1.0], (-1.0, 1.0), 0.0),
        ("Exponential", &[5.0], (0.0, 12.0), exponential(5.0, 0.0, 12.0)),
        ("Exponential", &[0.2], (10.0, 12.0), exponential(0.2, 10.0, 12.0)),
        ("Exponential", &[0.2], (10.0, INFINITY), 10.2),
        ("Logistic", &[0.0, 1.0], (0.0, INFINITY), 2.0 * 2f64.ln()),
        ("Uniform", &[-1.0, 3.0], (0.0, INFINITY), f64::NAN),
        ("Gamma", &[2.0, 1.0], (2.0, 3.0), 2.450_829_596_534_6),
        ("StudentT", &[3.0, 0.0, 1.0], (2.0, 5.0), 2.859_804_905_878_87),
        (
            "StudentT",
            &[3.0, 0.0, 1.0],
            (0.0, INFINITY),
            2.0 * 3f64.sqrt() / PI,
        ),
        ("Cauchy", &[0.0, 1.0], (0.0, INFINITY), INFINITY),
    ]
}

#[test]
fn truncated_means_are_the_known_ones() {
    let module = module("");
    for (name, values, (low, high), mean) in cases() {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let instance = probe.observed(&[], Support::Interval(low, high));
        if mean.is_nan() {
            assert!(instance.mean.is_none());
            continue;
        }
        let found = instance
            .mean
            .map_or(f64::NAN, |function| probe.call(&function, &[]).data[0]);
        let label = format!("{} on ({low}, {high})", probe.label());
        if mean.is_infinite() {
            assert_eq!(found, mean, "{label}");
            continue;
        }
        // The error is measured relative to the distance of the mean from the nearer bound.
        let end = if low.is_finite() && (high.is_infinite() || mean - low < high - mean) {
            low
        } else {
            high
        };
        assert_eq!(near(&label, (found - end) / (mean - end), 1.0, 2e-6), Ok(()));
    }
}

/// Families and intervals that make quantiles hard to find. Peaks may be narrow or far from both
/// bounds, and densities may be infinite at a bound. Some tails do not have moments, and some
/// intervals lie far in a tail.
const SEARCHES: [(&str, &[f64], (f64, f64)); 30] = [
    ("StudentT", &[3.0, 2.5, 1.0], (0.0, 5.0)),
    ("StudentT", &[3.0, 0.0, 1.0], (3.0, 4.0)),
    ("StudentT", &[4.0, -3.0, 1.0], (0.0, 5.0)),
    ("StudentT", &[0.5, 10.0, 1.0], (0.0, INFINITY)),
    ("StudentT", &[0.5, 2.5, 0.01], (0.0, 5.0)),
    ("StudentT", &[0.2, 1.0, 0.001], (0.0, 5.0)),
    ("StudentT", &[1.0, 100.0, 1.0], (0.0, INFINITY)),
    ("StudentT", &[30.0, 0.1, 0.1], (0.0, INFINITY)),
    ("HalfStudentT", &[1.5, 1.0], (2.0, 9.0)),
    ("HalfStudentT", &[0.7, 1.0], (0.1, INFINITY)),
    ("Cauchy", &[2.5, 0.01], (0.0, 5.0)),
    ("Cauchy", &[-5.0, 1.0], (0.0, INFINITY)),
    ("Normal", &[0.5, 1e-3], (0.0, 1.0)),
    ("Normal", &[30.0, 1.0], (0.0, INFINITY)),
    ("Normal", &[-30.0, 1.0], (0.0, INFINITY)),
    ("Normal", &[0.0, 1.0], (40.0, 41.0)),
    ("Laplace", &[0.0, 1.0], (-10.0, INFINITY)),
    ("Laplace", &[0.0, 1.0], (-1.0, 10.0)),
    ("Error", &[1.0, 0.2, 1.4], (0.0, 3.0)),
    ("Gamma", &[50.0, 1.0], (0.0, 100.0)),
    ("Gamma", &[50.0, 1.0], (80.0, 100.0)),
    ("Gamma", &[0.1, 1.0], (1e-3, 1.0)),
    ("LogGamma", &[0.5, 1.0], (-INFINITY, 0.0)),
    ("InverseGamma", &[0.5, 1.0], (0.0, 5.0)),
    ("InverseGaussian", &[1.0, 0.3], (0.5, 4.0)),
    ("Beta", &[0.3, 0.3], (0.1, 0.9)),
    ("Beta", &[30.0, 3.0], (0.0, 0.5)),
    ("LogNormal", &[0.0, 2.0], (1.0, 50.0)),
    ("Weibull", &[0.4, 1.0], (0.5, 2.0)),
    ("Pareto", &[1.0, 0.6], (3.0, INFINITY)),
];

/// Each draw is the quantile that belongs to its uniform random number.
#[test]
fn truncated_draws_are_quantiles_of_their_noise() {
    let module = module("");
    for (name, values, (low, high)) in SEARCHES {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let label = format!("{} on ({low}, {high})", probe.label());
        let Some(draw) = probe.observed(&[DRAWS], Support::Interval(low, high)).draw else {
            panic!("{label}: no sampler");
        };
        let draws = probe.call(&draw, &coordinates(0)).data;
        let mut b = Builder::new("noise");
        let at = ["$draw", "$example", "$step"].map(|name| b.param(name, Type::int(Shape::scalar())));
        let noise = b.noise(NoiseKind::Uniform, "truncated", at, &Shape::fixed(&[DRAWS]));
        let noise = b.finish(vec![("noise".into(), noise)]);
        let uniform = evaluate(&noise, &coordinates(0), &Sizes::default())
            .remove(0)
            .data;
        let at = |part: &str, x: f64| match (part, x.is_finite()) {
            (_, true) => probe.part(part, &[x]).map_or(f64::NAN, |found| found[0]),
            ("log_cdf", false) => {
                if x < 0.0 {
                    -INFINITY
                } else {
                    0.0
                }
            }
            (_, false) => {
                if x < 0.0 {
                    0.0
                } else {
                    -INFINITY
                }
            }
        };
        let is_upper =
            low.is_infinite() || (high.is_finite() && at("log_cdf", high) < at("log_survival", low));
        let (part, near_end, far_end) = match is_upper {
            true => ("log_cdf", high, low),
            false => ("log_survival", low, high),
        };
        let whole = at(part, near_end);
        let rest = at(part, far_end) - whole;
        let logs = probe.part(part, &draws).unwrap_or_default();
        for ((x, log), uniform) in draws.iter().zip(logs).zip(uniform) {
            let found = (log - whole).exp_m1() / rest.exp_m1();
            // The attainable accuracy is limited by the probability between a draw and the next
            // 64-bit number.
            let spacing = at("log_density", *x).exp() * x.abs() * f64::EPSILON / whole.exp();
            let room = 1e-6 + if spacing.is_finite() { 4.0 * spacing } else { 0.0 };
            assert!(
                (found - uniform).abs() < room,
                "{label}: {x} at {uniform}, {found}"
            );
        }
    }
}

/// Inside the interval, draws follow the cumulative function of the truncated distribution. A
/// correct sampler exceeds Kolmogorov's bound with a probability of 4e-7.
#[test]
fn truncated_draws_have_their_cumulative_functions() {
    let module = module("");
    for (name, values, (low, high), _) in cases() {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let label = format!("{} on ({low}, {high})", probe.label());
        let Some(draw) = probe.observed(&[DRAWS], Support::Interval(low, high)).draw else {
            panic!("{label}: no sampler");
        };
        let mut draws = probe.call(&draw, &coordinates(0)).data;
        draws.sort_by(f64::total_cmp);
        assert!(low <= draws[0] && draws[DRAWS - 1] <= high, "{label}");
        // Uses the tail that has less probability beyond the interval, because its differences are
        // more accurate.
        let at = |part: &str, x: f64| probe.part(part, &[x]).map_or(f64::NAN, |found| found[0]);
        let is_upper =
            high.is_finite() && (low.is_infinite() || at("log_cdf", high) < at("log_survival", low));
        let (part, whole) = match is_upper {
            true => ("log_cdf", at("log_cdf", high)),
            false => ("log_survival", at("log_survival", low)),
        };
        let beyond = |x: f64| match x.is_finite() {
            true => (at(part, x) - whole).exp(),
            false => 0.0,
        };
        let rest = if is_upper { beyond(low) } else { beyond(high) };
        let logs = probe.part(part, &draws).unwrap_or_default();
        let mut distance = 0.0f64;
        for (rank, log) in logs.iter().enumerate() {
            let further = ((log - whole).exp() - rest) / (1.0 - rest);
            let below = if is_upper { further } else { 1.0 - further };
            let seen = (rank as f64 + 0.5) / DRAWS as f64;
            distance = distance.max((below - seen).abs());
        }
        let statistic = distance * (DRAWS as f64).sqrt();
        assert!(statistic < 2.8, "{label}: {statistic}");
    }
}
