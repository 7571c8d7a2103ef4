//! Brightness and contrast.

use super::field::Field;

/// Adds a constant to the value of the colour space HSV, which is the largest of red, green and blue. Hue and saturation stay the same.
pub(super) fn brightness(planes: &mut [Field], level: usize) {
    let more = [0.05, 0.1, 0.15, 0.2, 0.3][level];
    let count = planes.first().map_or(0, |plane| plane.values.len());
    for at in 0..count {
        let value = planes
            .iter()
            .fold(0.0, |value: f64, plane| value.max(plane.values[at]));
        let brighter = (value + more).min(1.0);
        for plane in planes.iter_mut() {
            let own = &mut plane.values[at];
            *own = match value > 0.0 {
                true => *own * brighter / value,
                false => brighter,
            };
        }
    }
}

/// Moves all numbers of a plane towards their mean.
pub(super) fn contrast(planes: &mut [Field], level: usize) {
    let factor = [0.75, 0.5, 0.4, 0.3, 0.15][level];
    for plane in planes {
        let mean = plane.values.iter().sum::<f64>() / plane.values.len().max(1) as f64;
        let values = plane.values.iter_mut();
        values.for_each(|value| *value = mean + factor * (*value - mean));
    }
}
