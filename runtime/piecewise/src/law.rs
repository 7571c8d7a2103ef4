//! The distribution of a noisy observation of a network's output.

use super::bernstein::MOST_DEGREE;
use super::measure::Measure;
use super::normal::{normal_below, normal_log_density};
use super::shape::Representation;
use super::transform::Segment;
use super::twofold::Twofold;
use super::unit::{UniformSum, UnitContribution, decided};
use super::{Network, ObservationNoise, Ridge, grid};

/// The distribution of `f + noise`, where `f` is the output of a network. Most of the work is done when a distribution is created. Evaluations are
/// cheap.
#[derive(Clone, Debug)]
pub struct Law {
    shape: Representation,
    mean: f64,
    variance: f64,
    /// The weight of a Normal that is mixed with the distribution, and that has the same mean and variance.
    floor: f64,
}

/// The noise, represented as a sum of uniforms (by their widths) and a Normal (by its standard deviation).
struct Kernel {
    uniforms: Vec<f64>,
    shift: f64,
    sd: f64,
    floor: f64,
}

impl Kernel {
    /// A triangular variable of radius `r` is a sum of two independent uniforms on `[-r/2, r/2]`.
    fn new(noise: ObservationNoise) -> Kernel {
        match noise {
            ObservationNoise::Normal { sd } => Kernel {
                uniforms: Vec::new(),
                shift: 0.0,
                sd: sd.max(0.0),
                floor: 0.0,
            },
            ObservationNoise::Triangular { radius, floor } => {
                let radius = radius.max(0.0);
                Kernel {
                    uniforms: vec![radius, radius],
                    shift: -radius,
                    sd: 0.0,
                    floor,
                }
            }
        }
    }

    /// Returns the variance of the noise.
    fn variance(&self) -> f64 {
        self.sd * self.sd
            + self
                .uniforms
                .iter()
                .map(|width| width * width / 12.0)
                .sum::<f64>()
    }
}

impl Law {
    /// Computes the distribution of a network and its noise. If interval bounds determine the sign of a unit's input, the unit is linear or zero.
    /// The other units are independent of each other, and the distribution of each consists of a mass at 0 and a spline. These distributions are
    /// convolved exactly if this takes little work. Otherwise, they are convolved by their characteristic functions if these decay fast, or else on
    /// a grid ([`super::grid::sum`]). The work is therefore bounded. The mean and the variance are always those of the exact distribution.
    pub fn new(network: &Network, noise: ObservationNoise) -> Law {
        let kernel = Kernel::new(noise);
        let mut linear = UniformSum::new(network.offset, &network.terms, 1.0);
        let mut laws = Vec::new();
        for unit in &network.units {
            match decided(unit) {
                UnitContribution::Off => {}
                UnitContribution::On(more) => linear = linear.plus(more),
                UnitContribution::Both(law) => laws.push(law),
            }
        }
        let (mut mean, mut variance) = linear.moments();
        for (more, spread) in laws.iter().map(Measure::moments) {
            mean += more;
            variance += spread;
        }
        variance += kernel.variance();
        linear.start = linear.start + Twofold::from(kernel.shift);
        linear.widths.extend(&kernel.uniforms);
        Law {
            shape: sum(laws, linear, kernel.sd),
            mean,
            variance,
            floor: kernel.floor,
        }
    }

    /// Computes the distribution of a piecewise linear function of one linear form, plus noise. An example is a single unit at any depth, as a
    /// function of its incoming weights.
    pub fn of_ridge(ridge: &Ridge, noise: ObservationNoise) -> Law {
        let form = UniformSum::new(ridge.offset, &ridge.terms, 1.0);
        let law = form.measure(f64::NEG_INFINITY, f64::INFINITY);
        Law::of_measure(law.mapped(&ridge.segments), noise)
    }

    /// Computes the distribution of the sum of the noise and a variable with the distribution `law`.
    pub fn of_measure(law: Measure, noise: ObservationNoise) -> Law {
        let kernel = Kernel::new(noise);
        let (mean, variance) = law.moments();
        let shape = match noise {
            ObservationNoise::Triangular { radius, .. } if radius > 0.0 => {
                Representation::Triangular(law, radius)
            }
            ObservationNoise::Normal { .. } | ObservationNoise::Triangular { .. } => {
                Representation::smoothed(law, kernel.sd)
            }
        };
        Law {
            shape,
            mean,
            variance: variance + kernel.variance(),
            floor: kernel.floor,
        }
    }

    /// Computes the density at `y`. If the distribution does not have noise, the density is infinite at an atom.
    pub fn density(&self, y: f64) -> f64 {
        if self.floor > 0.0 {
            self.log_density(y).exp()
        } else {
            self.shape.density(y)
        }
    }

    /// Computes the log density at `y`. Outside the support, the log density is minus infinity. The relative error of the density is small even far
    /// out in the tails.
    pub fn log_density(&self, y: f64) -> f64 {
        let main = self.shape.log_density(y);
        if self.floor <= 0.0 || self.variance <= 0.0 {
            return main;
        }
        let base = self.floor.ln() + normal_log_density(y - self.mean, self.variance.sqrt());
        let main = main + (-self.floor).ln_1p();
        let (low, high) = if main < base { (main, base) } else { (base, main) };
        high + (low - high).exp().ln_1p()
    }

    /// Computes the distribution function at `y` with a small absolute error.
    pub fn cdf(&self, y: f64) -> f64 {
        // Because of rounding errors, sums over many pieces may lie outside [0, 1].
        let main = self.shape.below(y).clamp(0.0, 1.0);
        if self.floor <= 0.0 || self.variance <= 0.0 {
            return main;
        }
        main + self.floor * (normal_below((y - self.mean) / self.variance.sqrt()) - main)
    }

    /// Computes the probability that the observation is between two values, and an estimate of the error of this probability. The error is estimated
    /// as in [`Law::density_with_error`].
    pub fn between(&self, low: f64, high: f64) -> (f64, f64) {
        let between = self.cdf(high) - self.cdf(low);
        (between.max(0.0), self.shape.accuracy() + ROUNDING)
    }

    /// Returns the mean of the distribution.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the variance, including the noise. A Normal that is mixed in as a floor does not change the mean or the variance, because it has the
    /// same mean and variance.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Computes the density at `y`, and an estimate of its error. For a series, the estimate includes truncation, aliasing and rounding errors. For
    /// pieces, the estimate includes only rounding errors, because all terms are non-negative. If a distribution was interpolated, discretised or
    /// put on a grid, the estimate gives only the order of magnitude of the error, not a proven bound.
    pub fn density_with_error(&self, y: f64) -> (f64, f64) {
        let density = self.density(y);
        (
            density,
            (1.0 - self.floor) * self.shape.error(y, density) + 8.0 * f64::EPSILON * density,
        )
    }

    /// Returns the representation of the distribution.
    pub fn shape(&self) -> &Representation {
        &self.shape
    }
}

/// The estimated rounding error of a computed probability.
const ROUNDING: f64 = 256.0 * f64::EPSILON;

/// If an exact convolution would have more terms than this, a series or a grid is used instead.
const MOST_WORK: f64 = 1e7;

/// Computes the distribution of a sum of independent variables: variables with the distributions `laws`, uniforms and a Normal. The result consists
/// of exact pieces if there are few of them. Otherwise, it is a Fourier series if this series is short, and a density on a grid if it is long.
fn sum(mut laws: Vec<Measure>, linear: UniformSum, sd: f64) -> Representation {
    let start = Measure::point(linear.start);
    // The distributions are convolved one after the other. Those with the most pieces come last, where they cost least.
    laws.sort_by_key(|law| law.pieces.len());
    let degree: usize = laws.iter().map(|law| degree(law) + 1).sum();
    let work = work(&laws);
    let exact = laws.len() < 2 || (work <= MOST_WORK && 2 * degree <= MOST_DEGREE);
    if laws.len() > 1 && (sd > 0.0 || !exact) {
        let mut all = laws.clone();
        all.push(start.clone());
        let most = if exact { work.min(MOST_WORK) } else { MOST_WORK };
        if let Some(shape) = Representation::of_many(&all, &linear.widths, sd, most) {
            return shape;
        }
    }
    if exact {
        let base = laws.iter().fold(start, |sum, law| sum.convolved(law).flattened());
        return Representation::new(base, linear.widths, sd);
    }
    laws.push(start);
    Representation::smoothed(grid::sum(&laws, &linear.widths), sd)
}

/// Returns the highest degree among the pieces of a distribution.
fn degree(law: &Measure) -> usize {
    law.pieces.iter().map(|piece| piece.degree()).max().unwrap_or(0)
}

/// Estimates the number of terms in the exact convolution of all distributions.
fn work(laws: &[Measure]) -> f64 {
    let (mut pieces, mut high, mut total) = (1.0, 0.0, 0.0);
    for law in laws {
        let next = law.pieces.len() as f64;
        high += degree(law) as f64 + 1.0;
        total += pieces * next * high * high * high;
        pieces = (pieces + 2.0) * (next + 2.0);
        total += pieces * high;
    }
    total
}

impl Ridge {
    /// Returns the segments of the function `relu(x)`.
    pub fn relu() -> [Segment; 2] {
        [
            Segment {
                from: f64::NEG_INFINITY,
                to: 0.0,
                offset: 0.0,
                slope: 0.0,
            },
            Segment {
                from: 0.0,
                to: f64::INFINITY,
                offset: 0.0,
                slope: 1.0,
            },
        ]
    }
}
