//! Noise: every number of every plane is changed independently.

use super::RowRandom;
use super::field::Field;

/// Replaces every number. `change` takes the number and its index in the image.
fn each(planes: &mut [Field], change: impl Fn(f64, usize) -> f64) {
    let values = planes.iter_mut().flat_map(|plane| &mut plane.values);
    for (at, value) in values.enumerate() {
        *value = change(*value, at);
    }
}

pub(super) fn gaussian(planes: &mut [Field], level: usize, random: RowRandom) {
    let sd = [0.04, 0.06, 0.08, 0.09, 0.1][level];
    each(planes, |value, at| value + sd * random.normal(0, at));
}

pub(super) fn shot(planes: &mut [Field], level: usize, random: RowRandom) {
    let photons = [500.0, 250.0, 100.0, 75.0, 50.0][level];
    each(planes, |value, at| {
        poisson(photons * value, random.uniform(0, at)) / photons
    });
}

pub(super) fn impulse(planes: &mut [Field], level: usize, random: RowRandom) {
    let amount = [0.01, 0.02, 0.03, 0.05, 0.07][level];
    each(planes, |value, at| {
        let is_white = random.uniform(1, at) <= 0.5;
        match random.uniform(0, at) <= amount {
            true => f64::from(u8::from(is_white)),
            false => value,
        }
    });
}

/// Returns the smallest count whose distribution function is at least `uniform`. The mean is at most 500, so `exp(-mean)` does not underflow.
fn poisson(mean: f64, uniform: f64) -> f64 {
    let (mut count, mut probability) = (0.0, (-mean).exp());
    let mut sum = probability;
    // Rounding errors may keep the sum below `uniform`. The terms are zero long before this limit.
    let limit = mean + 40.0 * mean.sqrt() + 100.0;
    while sum < uniform && count < limit {
        count += 1.0;
        probability *= mean / count;
        sum += probability;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poisson_counts_invert_the_distribution_function() {
        // exp(-2) = 0.1353, then 0.4060, 0.6767, 0.8571.
        for (uniform, count) in [
            (0.135, 0.0),
            (0.136, 1.0),
            (0.406, 1.0),
            (0.407, 2.0),
            (0.85, 3.0),
        ] {
            assert_eq!(poisson(2.0, uniform), count);
        }
        assert_eq!(poisson(0.0, 0.999), 0.0);
        // The median of a Poisson distribution with an integer mean is the mean.
        assert_eq!(poisson(500.0, 0.5), 500.0);
    }
}
