//! Finds parameters whose maximum is at an end of their range.
//!
//! On the unconstrained scale, such a maximum does not exist: the loss is flat towards the end of
//! the range, and increases in the other direction. If the maximum is inside the range, even close
//! to an end, the loss increases in both directions.

use super::Task;
use super::maximum::declared;
use super::surface::Surface;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_base::support::Support;
use bnnc_core::states::{StateValues, site_of};
use serde::{Deserialize, Serialize};

/// The length of one step on the unconstrained scale. Such a step multiplies or divides a positive
/// parameter by `exp(4)`, which is about 55.
const STEP: f64 = 4.0;
/// The maximum number of steps away from an end. Together, the steps cover all distances between
/// 10^-8 of the length of the interval and its whole length.
const STEPS_AWAY: usize = 5;
/// Two losses count as equal if they differ by less than this number of nats.
const FLAT: f64 = 0.05;
/// The smallest increase of the loss that is relevant, in nats. If the loss of a value is higher by
/// 1, the value is less probable by a factor of `e`.
const RISE: f64 = 1.0;
/// In a bounded interval, a value counts as near an end if its distance from the end is below this
/// fraction of the interval's length.
const NEAR: f64 = 0.05;
/// The number of losses that the test computes for each element.
const LOSSES: usize = 1 + STEPS_AWAY;

/// A parameter whose maximum is at an end of its range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtEnd {
    /// The name of the parameter, such as `slope`, or of one of its elements, such as `slope[age]`.
    pub name: String,
    /// The value at the end of the range.
    pub end: f64,
}

/// An element of a parameter that may have its maximum at an end.
struct Candidate {
    found: AtEnd,
    /// The index of the element among the arguments.
    place: usize,
    /// The step on the unconstrained scale that moves the element closer to the end.
    closer: f64,
}

/// Returns the elements of parameters whose maximum is at an end of their range. The budget of
/// `losses` limits the number of elements that are tested.
///
/// # Errors
/// Fails only if the machine has a bug.
pub fn at_ends(
    task: &Task<'_>,
    surface: &mut Surface,
    (values, point): (&StateValues, &[f64]),
    losses: usize,
) -> Result<Vec<AtEnd>, Fault> {
    let mut candidates = candidates(task, surface, (values, point))?;
    candidates.truncate(losses.saturating_sub(1) / LOSSES);
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut slope = vec![0.0; point.len()];
    let here = surface.value(point, &mut slope)?;
    let mut moved = |place: usize, by: f64| -> Result<f64, Fault> {
        let mut other = point.to_vec();
        other[place] += by;
        Ok(surface.value(&other, &mut slope)? - here)
    };
    let mut found = Vec::new();
    for candidate in candidates {
        let is_flat = moved(candidate.place, candidate.closer)?.abs() < FLAT;
        if !is_flat {
            continue;
        }
        let mut rises = false;
        for steps in 1..=STEPS_AWAY {
            // If the model cannot be computed at this value, the loss is not finite. A loss of NaN
            // does not count as an increase.
            rises = rises || moved(candidate.place, -candidate.closer * steps as f64)? > RISE;
        }
        if rises {
            found.push(candidate.found);
        }
    }
    Ok(found)
}

fn candidates(
    task: &Task<'_>,
    surface: &Surface,
    (values, point): (&StateValues, &[f64]),
) -> Result<Vec<Candidate>, Fault> {
    let infer = task.infer;
    if !surface
        .arguments
        .iter()
        .any(|own| interval(infer, &own.name).is_some())
    {
        return Ok(Vec::new());
    }
    let at = |by: f64| {
        let mut all = values.clone();
        for argument in &surface.arguments {
            let own = point[argument.range.clone()].iter().map(|value| value + by);
            all.insert(argument.name.clone(), own.collect());
        }
        declared(infer, &all, task.context)
    };
    let (here, up) = (at(0.0)?, at(STEP)?);
    let mut found = Vec::new();
    for argument in &surface.arguments {
        let Some((site, (low, high))) = interval(infer, &argument.name) else {
            continue;
        };
        if !here.has_port(site) {
            continue;
        }
        let (own, above) = (here.read_real(site)?, up.read_real(site)?);
        if own.len() != argument.range.len() {
            continue;
        }
        let report = infer.report(site);
        let shape = report.map(|report| report.shape.resolve(&Sizes::default()));
        let shape = shape.unwrap_or_default();
        for (element, place) in argument.range.clone().enumerate() {
            let (value, above) = (own[element], above[element]);
            let end = if value - low < high - value { low } else { high };
            if (value - end).abs() > NEAR * (high - low) {
                continue;
            }
            let is_closer = (above - end).abs() < (value - end).abs();
            found.push(Candidate {
                found: AtEnd {
                    name: infer.names.element(site, &shape, element),
                    end,
                },
                place,
                closer: if is_closer { STEP } else { -STEP },
            });
        }
    }
    Ok(found)
}

/// Returns the site of a state, and the interval in which the elements of the site lie. Returns `None` if the interval
/// does not have an end.
fn interval<'a>(infer: &InferenceBlock, state: &'a str) -> Option<(&'a str, (f64, f64))> {
    let site = site_of(state);
    let report = infer.report(site)?;
    match report.prior.support {
        Support::Interval(low, high) if low.is_finite() || high.is_finite() => Some((site, (low, high))),
        _ => None,
    }
}
