//! KL divergences agree with quadrature: closed forms up to rounding errors, and estimates within
//! their standard errors.

use super::estimate::{BEST, SUMS, Subject, Way, method, states};
use super::finite;
use super::integral;
use super::pairs::{Method, Pair};
use bnnc_core::states::StateValues;

/// The number of draws in one estimate.
const DRAWS: usize = 100;
/// The number of estimates in one comparison.
const ESTIMATES: i32 = 60;

/// The compiled KL divergence, and the value that quadrature gives.
pub struct Comparison {
    pub method: Method,
    pub nodes: usize,
    pub mean: f64,
    pub error: f64,
    pub integral: f64,
    pub sentence: String,
}

impl Comparison {
    /// Returns a description of the difference if it is too large. A closed form may differ by
    /// rounding errors, and an estimate by five standard errors.
    pub fn fault(&self) -> Option<String> {
        let allowed = match self.method {
            Method::Exact => 1e-8 * self.integral.abs().max(1.0),
            Method::Tuple | Method::Signs | Method::Taylor | Method::Direct => 5.0 * self.error,
        };
        let is_near = (self.mean - self.integral).abs() <= allowed;
        (!is_near).then(|| {
            let (mean, error, integral) = (self.mean, self.error, self.integral);
            format!(
                "{mean} +- {error}, quadrature gives {integral} ({})",
                self.sentence
            )
        })
    }
}

/// Compares the compiled KL divergence with the integral. `set` may change the states first.
pub fn compare(
    pair: &Pair,
    subject: &mut Subject<'_>,
    way: Way,
    set: impl Fn(&mut StateValues),
) -> Result<Comparison, String> {
    let divergence = subject.divergence(DRAWS, way).map_err(|rejected| rejected.text)?;
    let mut states = states(&divergence);
    set(&mut states);
    let (method, nodes) = (method(&divergence), divergence.gradient_nodes);
    let mut machine = subject.machine(&divergence, DRAWS, "cranelift");
    let count = if method == Method::Exact { 1 } else { ESTIMATES };
    let values: Vec<f64> = (0..count).map(|step| machine.value(&states, step)).collect();
    let mean = values.iter().sum::<f64>() / f64::from(count);
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let posterior = pair.posterior(&states);
    let elements = states["w/scale"].len();
    Ok(Comparison {
        method,
        nodes,
        mean,
        error: (squares / f64::from(count - 1).max(1.0) / f64::from(count)).sqrt(),
        integral: integral::divergence(&posterior, &pair.prior(elements), pair.is_carried()),
        sentence: divergence.reports[0].kl.clone(),
    })
}

#[test]
fn kl_divergences_match_quadrature() {
    finite(|pair, mut subject| {
        for way in [BEST, SUMS] {
            let found = compare(pair, &mut subject, way, |_| ())?;
            found.fault().map_or(Ok(()), Err)?;
        }
        Ok(())
    });
}

/// Returns the derivative of the integral with respect to one element of a state. Computed by
/// central differences.
fn slope(pair: &Pair, states: &StateValues, name: &str, at: usize) -> f64 {
    let shifted = |by: f64| {
        let mut states = states.clone();
        states.get_mut(name).unwrap()[at] += by;
        let prior = pair.prior(states["w/scale"].len());
        integral::divergence(&pair.posterior(&states), &prior, pair.is_carried())
    };
    let step = 1e-4;
    (shifted(step) - shifted(-step)) / (2.0 * step)
}

/// For the first element of each state that moves, the gradient agrees with the derivative of the
/// integral.
#[test]
fn gradients_match_slopes_of_the_integrals() {
    finite(|pair, mut subject| {
        let divergence = subject
            .divergence(DRAWS, BEST)
            .map_err(|rejected| rejected.text)?;
        let states = states(&divergence);
        let mut machine = subject.machine(&divergence, DRAWS, "cranelift");
        let estimates: Vec<StateValues> = (0..ESTIMATES).map(|step| machine.at(&states, step)).collect();
        let count = f64::from(ESTIMATES);
        for name in estimates[0].keys().filter(|name| *name != "$kl") {
            let values: Vec<f64> = estimates.iter().map(|values| values[name][0]).collect();
            let mean = values.iter().sum::<f64>() / count;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let error = (squares / (count - 1.0) / count).sqrt();
            let expected = slope(pair, &states, name, 0);
            let is_near = (mean - expected).abs() <= 5.0 * error + 1e-5 * expected.abs().max(1.0);
            if !is_near {
                return Err(format!("{name}: {mean} +- {error}, the integral has {expected}"));
            }
        }
        Ok(())
    });
}
