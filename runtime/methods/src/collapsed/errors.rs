//! The errors of integrals. Exact integrals have rounding and interpolation errors, and means over draws have standard errors.

use crate::collapsed::function::LocationDist;
use bnnc_piecewise::{Law, ObservationNoise};

/// The error of a number that is an average over iterates. The error has two parts: a deterministic
/// part, and the variance that comes from independent draws. Deterministic parts of several numbers
/// add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Error {
    /// The sum of the bounds or estimates of deterministic errors. Deterministic errors do not
    /// average out.
    pub size: f64,
    /// The variance that draws cause.
    pub variance: f64,
}

impl Error {
    /// Returns an error of at most this size, without any noise.
    pub fn at_most(size: f64) -> Error {
        Error { size, variance: 0.0 }
    }

    /// Returns the error of an estimate from draws with this variance.
    pub fn of_variance(variance: f64) -> Error {
        Error { size: 0.0, variance }
    }

    /// Returns the deterministic error plus the standard deviation that draws cause.
    pub fn total(self) -> f64 {
        self.size + self.variance.max(0.0).sqrt()
    }

    /// Adds the error of an independent number.
    pub fn plus(self, other: Error) -> Error {
        Error {
            size: self.size + other.size,
            variance: self.variance + other.variance,
        }
    }

    /// Returns the error of the number times a factor.
    pub fn times(self, factor: f64) -> Error {
        Error {
            size: self.size * factor.abs(),
            variance: self.variance * factor * factor,
        }
    }
}

/// Averages `of(location)` over the distribution of the location, and returns the error of this average. If the
/// average is an exact integral, its relative error is `accuracy`.
pub fn of_mean(part: &LocationDist, of: &dyn Fn(f64) -> f64, (mean, accuracy): (f64, f64)) -> Error {
    match part {
        LocationDist::Network(_) | LocationDist::Pieces(_) => Error::at_most(accuracy * mean.abs()),
        LocationDist::Drawn(draws) => of_draws(draws.iter().map(|draw| of(*draw))),
    }
}

/// Returns the relative error of the density at `y`. `law` is the distribution of the location plus noise.
pub fn of_density(part: &LocationDist, law: &Law, (noise, y): (ObservationNoise, f64)) -> Error {
    match part {
        LocationDist::Network(_) | LocationDist::Pieces(_) => Error::at_most(exact(law, y)),
        LocationDist::Drawn(draws) => Error::of_variance(drawn(draws, law, (noise, y))),
    }
}

fn exact(law: &Law, y: f64) -> f64 {
    let (density, error) = law.density_with_error(y);
    match density > f64::MIN_POSITIVE {
        true => error / density,
        // If the density underflows, its logarithm is computed from a tilted series. The exponent
        // of this series has a rounding error.
        false => 1e-11 + 32.0 * f64::EPSILON * law.log_density(y).abs(),
    }
}

fn drawn(draws: &[f64], law: &Law, (noise, y): (ObservationNoise, f64)) -> f64 {
    match noise {
        ObservationNoise::Normal { sd } => {
            let log = |draw: &f64| -0.5 * ((y - draw) / sd).powi(2);
            of_log_densities(draws.iter().map(log)).1.variance
        }
        ObservationNoise::Triangular { radius, floor } => {
            let triangle = |draw: f64| (1.0 - (y - draw).abs() / radius).max(0.0) / radius;
            let normal = of_floor(law, y);
            let of_draw = |draw: &f64| (1.0 - floor) * triangle(*draw) + floor * normal(*draw);
            let (_, variance) = variance_of_mean(draws.iter().map(of_draw));
            match law.density(y) {
                density if density > 0.0 => variance / (density * density),
                // Even if all draws are far from `y`, the density at `y` may be large.
                _ => f64::INFINITY,
            }
        }
    }
}

/// The floor is the Normal with the mean and the variance of the draws. Returns the influence function of the floor's density at `y`. This is the
/// first-order effect of one draw through both moments, up to a constant that is the same for all draws.
fn of_floor(law: &Law, y: f64) -> impl Fn(f64) -> f64 {
    let (mean, spread) = (law.mean(), law.variance());
    let off = y - mean;
    let (density, slopes) = match spread > 0.0 {
        true => (
            (-0.5 * off * off / spread).exp() / (std::f64::consts::TAU * spread).sqrt(),
            [off / spread, 0.5 * (off * off / spread - 1.0) / spread],
        ),
        // If all draws are equal, the floor does not contribute to the density.
        false => (0.0, [0.0; 2]),
    };
    move |draw| density * (slopes[0] * (draw - mean) + slopes[1] * (draw - mean).powi(2))
}

/// Returns the error of the average of these draws. The variance of this error is the squared Monte
/// Carlo standard error.
pub fn of_draws(draws: impl Iterator<Item = f64> + Clone) -> Error {
    Error::of_variance(variance_of_mean(draws).1)
}

/// Returns the logarithm of the mean of densities at draws, and the relative error of this mean.
/// `logs` are the log densities at the draws.
pub fn of_log_densities(logs: impl Iterator<Item = f64> + Clone) -> (f64, Error) {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        // Even if all draws are far from the point, the density there may be large.
        let variance = f64::INFINITY;
        return (largest, Error::of_variance(variance));
    }
    let (mean, variance) = variance_of_mean(logs.map(|log| (log - largest).exp()));
    let relative = Error::of_variance(variance / (mean * mean));
    (largest + mean.ln(), relative)
}

/// Returns the mean of numbers, and the estimated variance of this mean. The variance is infinite
/// if there is only one number.
fn variance_of_mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    let variance = match count > 1.0 {
        true => squares / (count * (count - 1.0)),
        false => f64::INFINITY,
    };
    (mean, variance)
}

/// Returns the relative error of a mean of densities. The arguments are the logarithms and the
/// relative errors of these densities.
pub fn of_mixture(log_densities: &[f64], errors: &[Error]) -> f64 {
    let largest = log_densities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = || log_densities.iter().map(|log| (log - largest).exp());
    let parts = weights().zip(errors).filter(|(weight, _)| *weight > 0.0);
    let all = parts.fold(Error::default(), |all, (weight, error)| {
        all.plus(error.times(weight))
    });
    all.total() / weights().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;

    /// A density is estimated from uniform draws. Its reported standard error equals the standard
    /// deviation of the estimate over many repetitions. One tested point lies outside all
    /// triangles. At this point, only the floor contributes to the density. At another point, both
    /// the triangles and the floor contribute.
    #[test]
    fn standard_errors_match_the_spread_over_repetitions() {
        let triangle = |floor| ObservationNoise::Triangular { radius: 0.3, floor };
        for (noise, y) in [
            (ObservationNoise::Normal { sd: 0.3 }, 0.9),
            (triangle(0.0), 0.9),
            (triangle(0.1), 1.6),
            (triangle(0.5), 1.1),
        ] {
            check_spread(noise, y);
        }
    }

    fn check_spread(noise: ObservationNoise, y: f64) {
        let draws = 200;
        let key = philox::key(7, "errors");
        let mut densities = Vec::new();
        let mut estimates = Vec::new();
        for repetition in 0..400 {
            let place = |draw| philox::uniform(key, [draw, repetition, 0], 0);
            let part = LocationDist::Drawn((0..draws).map(place).collect());
            let law = part.law(noise);
            densities.push(law.density(y));
            estimates.push(of_density(&part, &law, (noise, y)).variance * law.density(y).powi(2));
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let middle = mean(&densities);
        let spread = mean(
            &densities
                .iter()
                .map(|density| (density - middle).powi(2))
                .collect::<Vec<_>>(),
        );
        // A variance that is estimated from 400 numbers has a relative error of about sqrt(2 / 400).
        assert!(
            (mean(&estimates) / spread - 1.0).abs() < 4.0 * (2.0f64 / 400.0).sqrt(),
            "{noise:?}: {} and {spread}",
            mean(&estimates)
        );
    }

    /// The error is infinite for a single draw. The error is also infinite at a point that is far
    /// from all draws, if the density does not have a floor.
    #[test]
    fn errors_that_draws_do_not_determine_are_infinite() {
        let triangle = |floor| ObservationNoise::Triangular { radius: 0.3, floor };
        for (draws, noise, y) in [
            (vec![0.5], ObservationNoise::Normal { sd: 0.3 }, 0.6),
            (vec![0.5], triangle(0.0), 0.6),
            (vec![0.5], triangle(0.1), 0.6),
            (vec![0.4, 0.5], triangle(0.0), 3.0),
        ] {
            let part = LocationDist::Drawn(draws);
            let law = part.law(noise);
            let error = of_density(&part, &law, (noise, y));
            assert_eq!(error.total(), f64::INFINITY, "{noise:?}");
        }
    }

    #[test]
    fn the_error_of_a_mixture_adds_bounds_and_variances() {
        let error = |size, variance| Error { size, variance };
        let got = of_mixture(&[0.0, 2.0f64.ln()], &[error(0.1, 0.01), error(0.2, 0.0)]);
        // The expected error is (0.1 + 0.4 + sqrt(0.01)) / 3.
        assert!((got - 0.2).abs() < 1e-12, "{got}");
        let got = of_mixture(
            &[f64::NEG_INFINITY, -4000.0],
            &[error(f64::NAN, 0.0), error(0.25, 0.0)],
        );
        assert!((got - 0.25).abs() < 1e-12, "{got}");
    }
}
