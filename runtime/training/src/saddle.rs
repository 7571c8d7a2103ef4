//! A test of whether a point without a slope is a minimum or a saddle.
//!
//! If the loss is symmetric in a parameter, a training run may start where the slope along this parameter is zero.
//! An example is `b = 0`, if the loss depends on `b * b`. The training then never changes the parameter, and a
//! descent from this point does not change it either. If the point is a saddle, a descent from a nearby point
//! ends far below it.

use super::descent::descend;
use super::surface::Surface;
use bnnc_core::context::Stop;
use bnnc_math::philox;

/// The standard deviation of the random shift that leads from the point to the nearby point. It
/// applies to each argument on the unconstrained scale.
const NEARBY: f64 = 1e-3;

/// The name of the random stream for the shifts.
const STREAM: &str = "saddle";

/// Runs a descent from a point near the given point. Returns the difference between the loss at the
/// given point and the loss at the end of the descent. `limits`
/// are the limits of the descent.
///
/// # Errors
/// Fails only if the machine has a bug.
pub fn fall(surface: &mut Surface, point: &[f64], limits: (usize, f64)) -> Result<f64, Stop> {
    let key = philox::key(0, STREAM);
    let distance = |at: usize| NEARBY * philox::normal(key, [0, 0, 0], at as u64);
    let nearby: Vec<f64> = point
        .iter()
        .enumerate()
        .map(|(at, value)| value + distance(at))
        .collect();
    let mut slope = vec![0.0; point.len()];
    let here = surface.value(point, &mut slope)?;
    let there = surface.value(&nearby, &mut slope)?;
    let mut value = |point: &[f64], slope: &mut [f64]| Ok(surface.value(point, slope)?);
    let end = descend(&mut value, &nearby, limits)?;
    Ok(end.map_or(0.0, |end| here - there + end.fall))
}
