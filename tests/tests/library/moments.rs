//! Means of powers and of logarithms agree with quadrature on the logarithmic scale. The means are
//! infinite only where the integral diverges.

use super::probe::{Probe, module, named};
use super::quadrature::Rule;
use super::scalars::{all, ends, near};
use bnnc_graph::dist::Support;
use bnnc_graph::tensor::Tensor;

/// The exponents of the powers whose means are compared.
const ORDERS: [f64; 11] = [-2.5, -1.0, -0.75, -0.5, -0.1, 0.0, 0.4, 1.0, 1.5, 2.0, 3.0];

/// Values whose logarithm exceeds this number in absolute value are left out, because their powers
/// would overflow.
const FAR: f64 = 200.0;

/// A quadrature rule over the logarithms of values: the points, the weights, and the densities at
/// the points.
struct Logarithms {
    points: Vec<f64>,
    /// The log density of the logarithm at each point of the rule.
    log_densities: Vec<f64>,
    weights: Vec<f64>,
}

impl Logarithms {
    /// Returns `None` if the distribution has negative values.
    fn new(probe: &Probe<'_>) -> Option<Logarithms> {
        let Support::Interval(low, high) = ends(probe) else {
            return None;
        };
        let breaks: Vec<f64> = probe.breaks().iter().map(|at| at.ln()).collect();
        let rule = Rule::new((low.ln(), high.ln()), &breaks);
        let near = rule
            .points
            .iter()
            .zip(&rule.weights)
            .filter(|(y, _)| y.abs() < FAR);
        let (points, weights): (Vec<f64>, Vec<f64>) = near.unzip();
        let values: Vec<f64> = points.iter().map(|y| y.exp()).collect();
        let log_densities = probe.log_densities(&values)?;
        let log_densities = log_densities.iter().zip(&points).map(|(density, y)| density + y);
        Some(Logarithms {
            log_densities: log_densities.collect(),
            points,
            weights,
        })
    }

    /// Returns the expectation of `factor exp(order y)`. The integral covers logarithms `y` whose
    /// absolute value is below `far`.
    fn mean(&self, order: f64, far: f64, factor: impl Fn(f64) -> f64) -> f64 {
        let terms = self.points.iter().zip(&self.log_densities).zip(&self.weights);
        terms
            .filter(|((y, density), _)| y.abs() < far && density.is_finite())
            .map(|((y, density), weight)| weight * factor(*y) * (density + order * y).exp())
            .sum()
    }
}

/// Checks that the mean of a power equals its integral. If the mean is infinite, checks that the
/// integral keeps growing with its range.
fn powers(probe: &Probe<'_>) -> Result<(), String> {
    let (Some(logarithms), Some(_)) = (Logarithms::new(probe), probe.moment(0.0)) else {
        return Ok(());
    };
    for order in ORDERS {
        let what = format!("mean of the power {order}");
        let found = probe.moment(order).unwrap_or(f64::NAN);
        let whole = logarithms.mean(order, FAR, |_| 1.0);
        if found.is_finite() {
            near(&what, found, whole, 1e-7)?;
        } else if found != f64::INFINITY || whole < 1.8 * logarithms.mean(order, 0.5 * FAR, |_| 1.0) {
            return Err(format!("{what}: {found}, expected {whole}"));
        }
    }
    Ok(())
}

#[test]
fn means_of_powers_are_integrals() {
    all(powers);
}

/// The moment of order one equals the mean. The moments of orders one and two determine the
/// variance.
#[test]
fn first_moments_are_mean_and_variance() {
    all(|probe| {
        let parts = (probe.moment(1.0), probe.moment(2.0), probe.scalar(|i| &i.mean));
        let (Some(first), Some(second), Some(mean)) = parts else {
            return Ok(());
        };
        if mean != first {
            near("mean", mean, first, 1e-12)?;
        }
        match probe.scalar(|i| &i.variance) {
            Some(variance) if second.is_finite() => near("variance", variance, second - mean * mean, 1e-10),
            Some(variance) if variance.is_finite() => Err(format!("variance: {variance}")),
            _ => Ok(()),
        }
    });
}

#[test]
fn means_of_logarithms_are_integrals() {
    all(|probe| {
        let Some(logarithms) = Logarithms::new(probe) else {
            return Ok(());
        };
        let mean = logarithms.mean(0.0, FAR, |y| y);
        if let Some(found) = probe.scalar(|i| &i.log_mean) {
            near("mean of the logarithm", found, mean, 1e-8)?;
        }
        match probe.scalar(|i| &i.log_variance) {
            Some(found) => {
                let variance = logarithms.mean(0.0, FAR, |y| (y - mean).powi(2));
                near("variance of the logarithm", found, variance, 1e-8)
            }
            None => Ok(()),
        }
    });
}

/// Moments are infinite for orders beyond a boundary. The derivatives of moments are finite for
/// orders on both sides of this boundary.
#[test]
fn slopes_of_moments_are_finite() {
    all(|probe| {
        let instance = probe.instance(&[]);
        let names: Vec<&str> = instance.params.iter().map(|(name, _)| &**name).collect();
        let order = ORDERS.map(|order| vec![Tensor::scalar(order)]);
        let parts = [
            (&instance.moment, "moment", &order[..]),
            (&instance.log_mean, "log_mean", &[vec![]]),
            (&instance.log_variance, "log_variance", &[vec![]]),
            (&instance.mean, "mean", &[vec![]]),
            (&instance.variance, "variance", &[vec![]]),
            (&instance.entropy, "entropy", &[vec![]]),
        ];
        for (part, name, extras) in parts {
            let Some(part) = part else { continue };
            let gradient = bnnc_rewrite::differentiate::gradient(part, name, &names);
            let gradient = gradient.map_err(|fault| fault.to_string())?;
            for extra in extras {
                let inputs: Vec<_> = probe.parameters().iter().chain(extra).cloned().collect();
                let results = bnnc_graph::eval::evaluate(&gradient, &inputs, &Default::default());
                if !results[1..].iter().all(|slope| slope.data[0].is_finite()) {
                    return Err(format!("{name} at {extra:?}: {results:?}"));
                }
            }
        }
        Ok(())
    });
}

/// A program may declare moments too. The moments of a mixture follow from the moments of its
/// components. In this test, the components are uniform between zero and `width`.
#[test]
fn programs_declare_moments() {
    let module = module(
        "dist Box(width: positive) on real {
           moment(k) = if -1 < k { width ^ k / (1 + k) } else { 1 / 0.0 }
         }
         dist Two(weight: unit) on real {
           moment(k) = Mixture(weight, Box(1), Box(2)).moment(k)
         }",
    );
    let two = Probe::at(&module, named(&module, "Two"), vec![Tensor::scalar(0.25)]);
    for (order, expected) in [
        (0.0, 1.0),
        (1.0, 0.875),
        (2.0, 13.0 / 12.0),
        (-1.0, f64::INFINITY),
    ] {
        let found = two.moment(order).unwrap_or(f64::NAN);
        assert!(
            found == expected || (found - expected).abs() < 1e-14,
            "{order}: {found}"
        );
    }
}

/// Declarations of wrong moments fail the check in this file. A check that accepts every
/// declaration would show nothing.
#[test]
fn wrong_moments_are_detected() {
    let module = module(
        "dist Finite(shape: positive) on positive {
           log_density(x) = log(shape) - (shape + 1) * log1p(x)
           moment(k)      = exp(lgamma(1 + k) + lgamma(abs(shape - k)) - lgamma(shape))
         }
         dist Infinite(scale: positive) on positive {
           log_density(x) = -x / scale - log(scale)
           moment(k)      = if k < 2 { scale ^ k * exp(lgamma(1 + k)) } else { 1 / 0.0 }
         }",
    );
    for name in ["Finite", "Infinite"] {
        let wrong = Probe::new(&module, named(&module, name), 0);
        assert!(powers(&wrong).is_err(), "{name}");
    }
}
