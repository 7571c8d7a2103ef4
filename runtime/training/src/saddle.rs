//! A test of whether a point without a slope is a minimum.
//!
//! A training that starts where the loss is symmetric in a parameter, such as `b = 0` for `b * b`, never leaves that value, because the slope there is
//! zero. A descent from the point does not leave it either. A descent from a nearby point does, and ends far below if the point is a saddle.

use super::descent::descend;
use super::surface::Surface;
use bnnc_core::context::Stop;
use bnnc_math::philox;

/// The standard deviation of the distance between the point and the nearby point, for each argument on the unconstrained scale.
const NEARBY: f64 = 1e-3;

/// The stream of the distances.
const STREAM: &str = "saddle";

/// Returns by how much a descent from a nearby point ends below a point. `limits` are those of the descent.
///
/// # Errors
/// Fails only because of a bug in the machine.
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
