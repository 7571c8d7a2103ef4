//! A check that the free states other than the weights, such as a noise level, are at the maximum.

use crate::laplace::jacobians::gradient_in;
use crate::laplace::machines::Evaluator;
use bnnc_abi::methods::laplace::Laplace;
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_core::states::StateValues;
use bnnc_laplace::matrix::dot;

/// The limit on the predicted increase of the log posterior at a maximum. The limit is a sum of two
/// products: the first number times the number of elements of the states, and the second number
/// times the number of rows.
const RISE: (f64, f64) = (0.1, 1e-3);

/// If the states other than the weights have at most this number of elements, the elements are also checked one at a time.
const SINGLE: usize = 32;

/// Returns the largest predicted increase of the log posterior if the other states move. The states
/// are moved along the gradient, and along single elements. Returns `None` if the increase is
/// within the limit. The step along a direction is the Newton step, limited to the length 1 on the
/// unconstrained scale. The increase is infinite if the gradient is not finite. The search may also
/// maximise another term. `besides` contains the derivative of this term for each state.
///
/// # Errors
/// Fails if there is too little memory.
pub fn rise(evaluation: &Evaluator, besides: Option<&StateValues>) -> Result<Option<f64>, Stop> {
    let states = states(evaluation);
    let elements: usize = states.iter().map(|(_, elements)| elements).sum();
    if elements == 0 {
        return Ok(None);
    }
    let slope = slope(evaluation, &states, besides)?;
    let norm = slope.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Ok(None);
    }
    let along = |direction: &[f64]| rise_along(evaluation, (&states, besides), (&slope, direction));
    let most = RISE.0 * elements as f64 + RISE.1 * evaluation.rows() as f64;
    let direction: Vec<f64> = slope.iter().map(|slope| slope / norm).collect();
    let mut rise = along(&direction)?;
    // Along the gradient, a state with a large curvature (such as the mean of many narrow priors)
    // hides the slopes along other states. Therefore, states are also checked one at a time.
    for at in (0..elements).filter(|_| elements > 1).take(SINGLE) {
        // In a step of length at most 1, the log posterior cannot increase by more than the slope.
        if rise > most || slope[at].abs() <= most {
            continue;
        }
        let mut direction = vec![0.0; elements];
        direction[at] = slope[at].signum();
        rise = rise.max(along(&direction)?);
    }
    Ok((rise > most).then_some(rise))
}

/// Returns the increase of the log posterior that a Newton step gives. The direction of the step has length 1. The
/// slope along the direction is positive. The length of the step is at most 1.
fn rise_along(
    evaluation: &Evaluator,
    (states, besides): (&[(&str, usize)], Option<&StateValues>),
    (slope, direction): (&[f64], &[f64]),
) -> Result<f64, Stop> {
    let step = step(evaluation.infer.precision);
    let mut values = evaluation.values.clone();
    let mut rest = direction;
    for (state, elements) in states {
        let (own, others) = rest.split_at(*elements);
        if let Some(values) = values.get_mut(*state) {
            let moves = values.iter_mut().zip(own);
            moves.for_each(|(value, direction)| *value += step * direction);
        }
        rest = others;
    }
    let further = self::slope(&evaluation.at(&values), states, besides)?;
    let (here, there) = (dot(slope, direction), dot(&further, direction));
    let curvature = (here - there) / step;
    let length = if curvature > here { here / curvature } else { 1.0 };
    let rise = length * here - 0.5 * curvature.max(0.0) * length * length;
    // The increase may be NaN. The point is then reported as not being a maximum.
    Ok(if rise.is_finite() { rise } else { f64::INFINITY })
}

/// Returns the step of the finite differences for second derivatives.
pub fn step(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-2,
        Precision::F64 => 1e-4,
    }
}

/// Returns the names and the sizes of the free states that are not weights.
fn states<'a>(evaluation: &Evaluator<'a>) -> Vec<(&'a str, usize)> {
    let states = evaluation.infer.states.iter();
    states
        .filter(|state| is_other(evaluation.laplace, &state.name))
        .map(|state| (&*state.name, state.shape.count(&Sizes::default())))
        .collect()
}

/// Returns whether a state is free but does not belong to a weight.
pub fn is_other(laplace: &Laplace, name: &str) -> bool {
    let plan = &laplace.programs.gradient.plan;
    let has_slope = plan.port(&PortName::Gradient.of(name)).is_some();
    has_slope && !laplace.weights.iter().any(|weights| weights.state == name)
}

/// Returns the derivative of the log posterior with respect to some states. The slopes in
/// `besides`, if given, are added.
fn slope(
    evaluation: &Evaluator,
    states: &[(&str, usize)],
    besides: Option<&StateValues>,
) -> Result<Vec<f64>, Stop> {
    let (_, mut slope) = gradient_in(evaluation, states)?;
    let mut machine = evaluation.machine(&evaluation.laplace.programs.prior, Sizes::default())?;
    machine.run()?;
    let mut rest = slope.as_mut_slice();
    for (state, elements) in states {
        let (own, others) = rest.split_at_mut(*elements);
        let prior = machine.read_real(&PortName::Slope.of(state))?;
        own.iter_mut()
            .zip(prior)
            .for_each(|(slope, prior)| *slope += prior);
        let besides = besides
            .and_then(|slopes| slopes.get(*state))
            .into_iter()
            .flatten();
        own.iter_mut()
            .zip(besides)
            .for_each(|(slope, besides)| *slope += besides);
        rest = others;
    }
    Ok(slope)
}
