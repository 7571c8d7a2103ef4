//! Tests of values outside the support, both tails of every cumulative function, quantiles, and
//! truncation.

use super::probe::{Probe, module, named, vector};
use super::quadrature::Rule;
use super::scalars::{all, ends, near};
use bnnc_graph::dist::Support;
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::differentiate::gradient;

const INFINITY: f64 = f64::INFINITY;

/// The parts that are functions of a value. Each has one value below the support, and one value
/// above the support.
const OUTSIDE: [(&str, [f64; 2]); 5] = [
    ("log_density", [-INFINITY, -INFINITY]),
    ("cdf", [0.0, 1.0]),
    ("survival", [1.0, 0.0]),
    ("log_cdf", [-INFINITY, 0.0]),
    ("log_survival", [0.0, -INFINITY]),
];

/// The test covers every distribution of the library, at points below and above its support.
#[test]
fn parts_outside_the_support_are_those_of_a_zero_density() {
    all(|probe| {
        let (low, high) = match ends(probe) {
            Support::Interval(low, high) => (low, high),
            Support::Integers(0) => (0.0, INFINITY),
            _ => return Ok(()),
        };
        let (below, above) = ([low - 1e-9, low - 1.0, -1e30], [high + 1e-9, high + 1.0, 1e30]);
        for (part, expected) in OUTSIDE {
            for (points, end, expected) in [(below, low, expected[0]), (above, high, expected[1])] {
                let Some(found) = probe.part(part, &points).filter(|_| end.is_finite()) else {
                    continue;
                };
                if found.iter().any(|found| *found != expected) {
                    return Err(format!("{part} at {points:?} is {found:?}, not {expected}"));
                }
            }
        }
        Ok(())
    });
}

/// Outside the support, the gradient is zero instead of NaN.
#[test]
fn slopes_outside_the_support_are_numbers() {
    all(|probe| {
        if !matches!(ends(probe), Support::Interval(..)) {
            return Ok(());
        }
        for (part, _) in OUTSIDE {
            let Some(function) = probe.part_function(part, 2) else {
                continue;
            };
            let mut b = bnnc_graph::builder::Builder::new("sum");
            let args: Vec<_> = function
                .params
                .iter()
                .map(|param| {
                    let name = function.param_name(*param).map_or("", |name| name);
                    b.param(name, function.ty(*param).clone())
                })
                .collect();
            let result = b.inline(&function, &args)[0];
            let sum = b.reduce_sum_all(result);
            let sum = b.finish(vec![("sum".into(), sum)]);
            let slope = gradient(&sum, "sum", &["x"]).map_err(|fault| fault.to_string())?;
            let mut inputs = probe.parameters().to_vec();
            inputs.push(vector(&[-1.0, -7.5]));
            let found = evaluate(&slope, &inputs, &Default::default());
            if found.last().is_none_or(|slope| slope.data != [0.0, 0.0]) {
                return Err(format!("{part}: {found:?}"));
            }
        }
        Ok(())
    });
}

/// Both tails agree with quadrature of the density. The log tails are the logarithms of the tails.
#[test]
fn both_tails_are_integrals_of_the_density() {
    all(|probe| {
        let (low, high) = match ends(probe) {
            Support::Real => (-INFINITY, INFINITY),
            Support::Interval(low, high) => (low, high),
            _ => return Ok(()),
        };
        let from = if low.is_finite() { low } else { -2.0 };
        let points: Vec<f64> = [0.07, 0.31, 0.83, 1.7, 3.9].iter().map(|x| from + x).collect();
        for x in points.into_iter().filter(|x| *x < high) {
            let Some(survival) = probe.part("survival", &[x]) else {
                return Ok(());
            };
            let breaks: Vec<f64> = probe.breaks().into_iter().filter(|at| *at > x).collect();
            let rule = Rule::new((x, high), &breaks);
            let log_densities = probe.log_densities(&rule.points).unwrap_or_default();
            let expected = rule.sum(|at, _| log_densities[at].exp());
            near(&format!("survival at {x}"), survival[0], expected, 1e-7)?;
            let part = |name: &str| probe.part(name, &[x]).unwrap_or_default()[0];
            near("sum", part("cdf") + survival[0], 1.0, 1e-13)?;
            for (log, number) in [("log_cdf", part("cdf")), ("log_survival", survival[0])] {
                if number > 0.0 {
                    near(&format!("{log} at {x}"), part(log), number.ln(), 1e-10)?;
                }
            }
        }
        Ok(())
    });
}

/// A distribution with a cumulative function must also have a survival function. Without a survival
/// function, truncation far out would suffer from cancellation.
#[test]
fn every_cumulative_function_has_a_survival_of_its_own() {
    use bnnc_hir::parts::DistributionPart;
    all(|probe| {
        let item = probe.item();
        let has_own = [DistributionPart::Survival, DistributionPart::LogSurvival]
            .into_iter()
            .any(|part| item.declares(part));
        match probe.has("cdf") && !has_own {
            true => Err("`cdf` without `survival`".to_owned()),
            false => Ok(()),
        }
    });
}

/// Every distribution on the reals has a cumulative function. The horseshoe is an exception,
/// because its integral does not have a closed form.
#[test]
fn distributions_of_reals_have_cumulative_functions() {
    all(|probe| {
        let is_real = matches!(ends(probe), Support::Real | Support::Interval(..));
        match is_real && !probe.has("cdf") && &*probe.item().name != "Horseshoe" {
            true => Err("no `cdf`".to_owned()),
            false => Ok(()),
        }
    });
}

#[test]
fn quantiles_are_inverses() {
    all(|probe| {
        let p = [1e-6, 0.02, 0.4, 0.5, 0.77, 0.999];
        let Some(quantiles) = probe.part("quantile", &p) else {
            return Ok(());
        };
        let found = probe.cdf(&quantiles).ok_or("`quantile` without `cdf`")?;
        let mut pairs = p.iter().zip(found);
        pairs.try_for_each(|(p, found)| near("p", found / p, 1.0, 1e-8))
    });
}

/// The expected values were computed with SciPy 1.17. The value of the half-normal near zero was
/// computed with mpmath.
#[test]
fn quantiles_of_the_normal_families_are_the_known_ones() {
    let module = module("");
    let cases: [(&str, &[f64], f64, f64); 14] = [
        ("Normal", &[0.0, 1.0], 0.0, -f64::INFINITY),
        ("Normal", &[0.0, 1.0], 1e-300, -37.0470962993612),
        ("Normal", &[0.0, 1.0], 1e-12, -7.034483825301131),
        ("Normal", &[0.0, 1.0], 1e-3, -3.090232306167813),
        ("Normal", &[0.0, 1.0], 0.07, -1.4757910281791706),
        ("Normal", &[0.0, 1.0], 0.3, -0.5244005127080409),
        ("Normal", &[0.0, 1.0], 0.975, 1.959963984540054),
        ("Normal", &[1.5, 2.0], 0.9, 4.063103131089201),
        ("HalfNormal", &[2.0], 1e-12, 2.506628274631e-12),
        ("HalfNormal", &[2.0], 0.5, 1.3489795003921634),
        ("HalfNormal", &[2.0], 0.999, 6.581053462983851),
        ("HalfNormal", &[2.0], 1.0, f64::INFINITY),
        ("LogNormal", &[0.5, 1.2], 0.01, 0.101102800923986),
        ("LogNormal", &[0.5, 1.2], 0.999, 67.24070325748865),
    ];
    for (name, values, p, expected) in cases {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let found = probe.part("quantile", &[p]).unwrap_or_default()[0];
        let label = format!("{} at {p}", probe.label());
        if expected.is_infinite() {
            assert_eq!(found, expected, "{label}");
        } else {
            assert_eq!(near(&label, found / expected, 1.0, 1e-12), Ok(()));
        }
    }
}

/// The derivatives of the logarithms of both tails agree with central differences of fourth order.
/// The derivatives are taken with respect to the value and every parameter, including shapes.
#[test]
fn slopes_of_both_tails_match_differences() {
    all(|probe| {
        let at = if matches!(ends(probe), Support::Real) {
            -0.6
        } else {
            0.37
        };
        for part in ["log_cdf", "log_survival"] {
            let Some(function) = probe.part_function(part, 1) else {
                continue;
            };
            let mut inputs = probe.parameters().to_vec();
            inputs.push(vector(&[at]));
            let names: Vec<String> = function
                .params
                .iter()
                .filter_map(|param| function.param_name(*param).map(|name| name.to_string()))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if names.len() != inputs.len() {
                // The function does not depend on this parameter.
                continue;
            }
            let mut b = bnnc_graph::builder::Builder::new("sum");
            let mut args = Vec::new();
            for (param, name) in function.params.iter().zip(&names) {
                args.push(b.param(name, function.ty(*param).clone()));
            }
            let result = b.inline(&function, &args)[0];
            let sum = b.reduce_sum_all(result);
            let sum = b.finish(vec![("sum".into(), sum)]);
            let slopes = gradient(&sum, "sum", &names).map_err(|fault| fault.to_string())?;
            let slopes = evaluate(&slopes, &inputs, &Default::default());
            let slopes = &slopes[slopes.len() - names.len()..];
            for (at, slope) in slopes.iter().enumerate() {
                let value = |by: f64| {
                    let mut moved = inputs.clone();
                    moved[at].data[0] += by;
                    evaluate(&sum, &moved, &Default::default())[0].data[0]
                };
                if !value(0.0).is_finite() {
                    // A Pareto or a uniform variable has zero probability below its smallest value.
                    continue;
                }
                let h = 1e-3;
                let expected =
                    (8.0 * (value(h) - value(-h)) - (value(2.0 * h) - value(-2.0 * h))) / (12.0 * h);
                near(&format!("{part} by {}", names[at]), slope.data[0], expected, 1e-6)?;
            }
        }
        Ok(())
    });
}

/// A density that is truncated to an interval far out still integrates to one. Far out, the
/// difference of two cumulative functions may be zero or consist of rounding errors.
#[test]
fn densities_truncated_far_out_integrate_to_one() {
    let module = module("");
    let cases: &[(&str, &[f64], (f64, f64))] = &[
        ("Normal", &[0.0, 1.0], (8.0, 9.0)),
        ("Normal", &[0.0, 1.0], (-41.0, -40.0)),
        ("Normal", &[-45.0, 1.0], (0.0, INFINITY)),
        ("Exponential", &[0.2], (10.0, 12.0)),
        ("Gamma", &[2.0, 0.1], (6.0, 7.0)),
        ("Gamma", &[9.0, 1.0], (0.0, 1e-3)),
        ("Beta", &[2.0, 60.0], (0.7, 0.8)),
        ("StudentT", &[6.0, 0.0, 1.0], (1e4, 1.1e4)),
        ("Weibull", &[2.0, 1.0], (7.0, 7.5)),
        ("Laplace", &[0.0, 0.1], (5.0, 6.0)),
        ("Logistic", &[0.0, 0.1], (5.0, 6.0)),
        ("LogGamma", &[2.0, 1.0], (4.0, 4.5)),
        ("HalfNormal", &[1.0], (20.0, 21.0)),
        ("InverseGamma", &[2.0, 1.0], (0.0, 0.01)),
        ("Error", &[0.0, 1.0, 1.0], (12.0, 13.0)),
        ("Cauchy", &[0.0, 1.0], (-1e9, -1e8)),
    ];
    for (name, values, (low, high)) in cases {
        let values = values.iter().map(|value| Tensor::scalar(*value)).collect();
        let probe = Probe::at(&module, named(&module, name), values);
        let rule = Rule::new((*low, *high), &[]);
        let instance = probe.declared(&[rule.points.len()], Support::Interval(*low, *high));
        let Some(density) = &instance.log_density_elements else {
            panic!("no density of {}", probe.label());
        };
        let log_densities = probe.call(density, &[vector(&rule.points)]).data;
        let mass = rule.sum(|at, _| log_densities[at].exp());
        assert_eq!(
            near(&format!("{} on {low}..{high}", probe.label()), mass, 1.0, 1e-8),
            Ok(())
        );
    }
}

/// The location is far outside the interval. The derivative of the normalisation with respect to
/// the location is `d/dm -log Phi(m)` at -30. This derivative is the negative inverse Mills ratio,
/// `-(30 + 1 / 30 - ..)`.
#[test]
fn truncated_densities_have_slopes_far_out() {
    let module = module("");
    let probe = Probe::at(
        &module,
        named(&module, "Normal"),
        vec![Tensor::scalar(-30.0), Tensor::scalar(1.0)],
    );
    let instance = probe.declared(&[], Support::Interval(0.0, INFINITY));
    let slope = gradient(&instance.log_density, "log_density", &["loc"]).unwrap();
    let mut inputs = probe.parameters().to_vec();
    inputs.push(Tensor::scalar(0.5));
    let found = evaluate(&slope, &inputs, &Default::default()).pop().unwrap().data[0];
    // The expected derivative is (x - loc) - phi(30) / Phi(-30), computed with mpmath.
    assert_eq!(near("slope", found, 30.5 - 30.033_259_667_433_68, 1e-10), Ok(()));
}
