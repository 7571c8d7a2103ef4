//! The density that the code of Zeng and Van den Broeck (2023) assigns to a known target. It is needed to compare results with their tables.
//!
//! The function considers the location plus triangular noise, around one iterate. Let `d` be its
//! density and `F` its distribution function. The published density of a target `y` is
//!
//! `p(y) = (smoothing + d(y)) / (smoothing (b - a) + F(b) - F(a))`, `a <= y <= b`.
//!
//! The published density is the density of the noisy location, truncated to the interval `[a, b]`
//! and mixed with a uniform distribution on this interval. The interval spans the targets that are
//! scored together, plus a margin. A real prediction does not know these targets. The truncation
//! raises every density. Means, standard deviations and quantiles are computed from the triangle
//! without truncation.

use crate::collapsed::errors::{self, Error};
use crate::collapsed::function::LocationDist;
use bnnc_abi::methods::collapsed::{CollapsedSettings, LikelihoodNoise};
use bnnc_data::metrics::extent;
use bnnc_piecewise::{Law, Network};

/// The interval extends beyond the targets by this distance, on the model's scale.
const MARGIN: f64 = 1e-3;

/// The published density of known targets, on the model's scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The constant that is added to the density.
    smoothing: f64,
    /// The interval that the density is truncated to.
    pub interval: (f64, f64),
}

impl Published {
    /// Builds the density for the targets that are scored together. Returns `None` if the options
    /// do not select the published density.
    pub fn new(options: &CollapsedSettings, targets: &[f64]) -> Option<Published> {
        let LikelihoodNoise::Published { smoothing, .. } = options.noise else {
            return None;
        };
        let (low, high) = extent(targets.iter().copied());
        Some(Published {
            smoothing,
            interval: (low - MARGIN, high + MARGIN),
        })
    }

    /// Returns the normalising constant of the density, and the error of this constant.
    fn whole(&self, law: &Law) -> (f64, f64) {
        let (low, high) = self.interval;
        let (inside, error) = law.between(low, high);
        (self.smoothing * (high - low) + inside, error)
    }

    /// Returns the log density at a target around one iterate. If the interval has a probability of
    /// zero, the log density is minus infinity.
    pub fn log_density(&self, law: &Law, y: f64) -> f64 {
        let (whole, _) = self.whole(law);
        match whole > 0.0 {
            true => (self.smoothing + law.density(y)).ln() - whole.ln(),
            false => f64::NEG_INFINITY,
        }
    }

    /// Returns the probability that the value is at most `y`, under the distribution around one
    /// iterate. `y` must lie in the interval.
    pub fn cdf(&self, law: &Law, y: f64) -> f64 {
        let (low, high) = self.interval;
        let (whole, _) = self.whole(law);
        match whole > 0.0 {
            true => (self.smoothing * (y - low) + law.between(low, y).0) / whole,
            // As the mass of the interval tends to zero, the distribution tends to the uniform
            // distribution.
            false => (y - low) / (high - low),
        }
    }

    /// Returns the relative error of the density at `y` around one iterate. `law` is the
    /// distribution of the location plus noise.
    pub fn error(
        &self,
        part: &LocationDist,
        law: &Law,
        (noise, y): (bnnc_piecewise::ObservationNoise, f64),
    ) -> Error {
        let ((whole, of_whole), (density, of_density)) = (self.whole(law), law.density_with_error(y));
        let above = self.smoothing + density;
        match part {
            LocationDist::Network(_) | LocationDist::Pieces(_) => {
                Error::at_most(of_density / above + of_whole / whole)
            }
            // Even if no draw is near `y` or near the interval, the true density there may be
            // large.
            LocationDist::Drawn(_) if above <= 0.0 || whole <= 0.0 => Error::of_variance(f64::INFINITY),
            LocationDist::Drawn(draws) => {
                // The influence of one draw on a quotient of two means, except for a constant that
                // is the same for all draws.
                let influence = |draw: &f64| {
                    let offset = *draw;
                    let alone = Law::new(
                        &Network {
                            offset,
                            ..Network::default()
                        },
                        noise,
                    );
                    let (low, high) = self.interval;
                    alone.density(y) / above - alone.between(low, high).0 / whole
                };
                let influences: Vec<f64> = draws.iter().map(influence).collect();
                errors::of_draws(influences.iter().copied())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_math::philox;
    use bnnc_piecewise::UniformTerm;

    fn noise(radius: f64) -> bnnc_piecewise::ObservationNoise {
        bnnc_piecewise::ObservationNoise::Triangular { radius, floor: 0.0 }
    }

    fn sum_of_uniforms() -> LocationDist {
        let term = |slope, lower, upper| UniformTerm { slope, lower, upper };
        LocationDist::Network(Network {
            offset: 0.2,
            terms: vec![term(1.0, -0.5, 0.9), term(-0.7, 0.1, 1.0)],
            units: Vec::new(),
        })
    }

    /// The density integrates to 1 over the interval, even if the interval contains little of the
    /// probability. The distribution function is the integral of the density.
    #[test]
    fn the_density_integrates_to_one_over_the_interval() {
        let count = 4000;
        for (smoothing, radius) in [(0.0, 1.2), (0.05, 1.2), (3.0, 0.1)] {
            let law = sum_of_uniforms().law(noise(radius));
            let published = Published {
                smoothing,
                interval: (-0.4, 0.6),
            };
            let step = 1.0 / f64::from(count);
            let mut sum = 0.0;
            for at in 0..count {
                let y = -0.4 + (f64::from(at) + 0.5) * step;
                sum += published.log_density(&law, y).exp() * step;
                // The error of the midpoint rule is at most h^2 / 24 times the largest change of
                // the slope.
                let off = (published.cdf(&law, y + 0.5 * step) - sum).abs();
                assert!(off < 1e-6, "{smoothing}, {radius}: {off} at {y}");
            }
            assert!((sum - 1.0).abs() < 1e-6, "{smoothing}, {radius}: {sum}");
        }
    }

    /// If the triangle lies outside the interval, only the uniform part remains. Without smoothing,
    /// nothing remains.
    #[test]
    fn a_triangle_outside_the_interval_leaves_the_uniform() {
        let law = sum_of_uniforms().law(noise(0.1));
        let of = |smoothing| Published {
            smoothing,
            interval: (50.0, 54.0),
        };
        assert!((of(1e-3).log_density(&law, 51.0) + 4.0f64.ln()).abs() < 1e-9);
        assert!((of(1e-3).cdf(&law, 51.0) - 0.25).abs() < 1e-9);
        assert_eq!(of(0.0).log_density(&law, 51.0), f64::NEG_INFINITY);
        let part = LocationDist::Drawn(vec![0.1, 0.2]);
        let law = part.law(noise(0.1));
        let error = of(0.0).error(&part, &law, (noise(0.1), 51.0));
        assert_eq!(error.total(), f64::INFINITY);
    }

    /// A log density is estimated from uniform draws. Its reported standard error equals the
    /// standard deviation of the log density over many repetitions.
    #[test]
    fn standard_errors_match_the_spread_over_repetitions() {
        let published = Published {
            smoothing: 0.05,
            interval: (0.3, 1.1),
        };
        let key = philox::key(7, "published");
        let (noise, y, repetitions) = (noise(0.3), 0.9, 400);
        let (mut found, mut estimated) = (Vec::new(), 0.0);
        for repetition in 0..repetitions {
            let place = |draw| philox::uniform(key, [draw, repetition, 0], 0);
            let part = LocationDist::Drawn((0..200).map(place).collect());
            let law = part.law(noise);
            found.push(published.log_density(&law, y));
            estimated += published.error(&part, &law, (noise, y)).variance / f64::from(repetitions);
        }
        let mean = found.iter().sum::<f64>() / f64::from(repetitions);
        let squares: f64 = found.iter().map(|log| (log - mean).powi(2)).sum();
        let spread = squares / f64::from(repetitions);
        // A variance that is estimated from n numbers has a relative error of about sqrt(2 / n).
        let near = 4.0 * (2.0 / f64::from(repetitions)).sqrt();
        assert!(
            (estimated / spread - 1.0).abs() < near,
            "{estimated} and {spread}"
        );
    }
}
