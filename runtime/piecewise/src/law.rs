//! The law of a noisy observation of a network.

use super::bernstein::MOST_DEGREE;
use super::grid;
use super::measure::Measure;
use super::normal::{normal_below, normal_log_density};
use super::shape::Shape;
use super::transform::Segment;
use super::twofold::Twofold;
use super::unit::{Decided, Linear, decided};
use super::{Network, Noise, Ridge};

/// The law of `f + noise`. Making it is the work; asking it is cheap.
#[derive(Clone, Debug)]
pub struct Law {
    shape: Shape,
    mean: f64,
    variance: f64,
    /// Weight of the Normal of the same mean and variance that is mixed in.
    floor: f64,
}

/// The uniforms and the standard deviation of the Normal that noise adds.
struct Kernel {
    uniforms: Vec<f64>,
    shift: f64,
    sd: f64,
    floor: f64,
}

impl Kernel {
    /// A triangle of radius `r` is the sum of two uniforms on `[-r/2, r/2]`.
    fn new(noise: Noise) -> Kernel {
        match noise {
            Noise::Normal { sd } => Kernel {
                uniforms: Vec::new(),
                shift: 0.0,
                sd: sd.max(0.0),
                floor: 0.0,
            },
            Noise::Triangular { radius, floor } => {
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

    /// Its variance.
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
    /// The law of a network and its noise. Units that interval bounds decide are linear; the others are
    /// independent of each other, and their laws (mass at 0 and a spline) are convolved: exactly where
    /// that is little work, by their characteristic functions where these fall soon, and on a grid else
    /// ([`super::grid::sum`]), so that the work is bounded. Mean and variance are of the exact law always.
    pub fn new(network: &Network, noise: Noise) -> Law {
        let kernel = Kernel::new(noise);
        let mut linear = Linear::new(network.offset, &network.terms, 1.0);
        let mut laws = Vec::new();
        for unit in &network.units {
            match decided(unit) {
                Decided::Off => {}
                Decided::On(more) => linear = linear.plus(more),
                Decided::Both(law) => laws.push(law),
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

    /// The law of a piecewise linear function of one linear form: what a single unit at any depth makes
    /// of its weights.
    pub fn of_ridge(ridge: &Ridge, noise: Noise) -> Law {
        let form = Linear::new(ridge.offset, &ridge.terms, 1.0);
        let law = form.measure(f64::NEG_INFINITY, f64::INFINITY);
        Law::of_measure(law.mapped(&ridge.segments), noise)
    }

    /// The law of a variable with this law and noise.
    pub fn of_measure(law: Measure, noise: Noise) -> Law {
        let kernel = Kernel::new(noise);
        let (mean, variance) = law.moments();
        let shape = match noise {
            Noise::Triangular { radius, .. } if radius > 0.0 => Shape::Triangular(law, radius),
            Noise::Normal { .. } | Noise::Triangular { .. } => Shape::smoothed(law, kernel.sd),
        };
        Law {
            shape,
            mean,
            variance: variance + kernel.variance(),
            floor: kernel.floor,
        }
    }

    /// The density at `y`; infinite where a law without noise has an atom.
    pub fn density(&self, y: f64) -> f64 {
        if self.floor > 0.0 {
            self.log_density(y).exp()
        } else {
            self.shape.density(y)
        }
    }

    /// The log density at `y`, with relative accuracy however far out; minus infinity outside the support.
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

    /// The probability of at most `y`, with absolute accuracy.
    pub fn cdf(&self, y: f64) -> f64 {
        // Sums of many pieces round.
        let main = self.shape.below(y).clamp(0.0, 1.0);
        if self.floor <= 0.0 || self.variance <= 0.0 {
            return main;
        }
        main + self.floor * (normal_below((y - self.mean) / self.variance.sqrt()) - main)
    }

    /// The probability between two places and an estimate of its error, as that of [`Law::density_with_error`].
    pub fn between(&self, low: f64, high: f64) -> (f64, f64) {
        let between = self.cdf(high) - self.cdf(low);
        (between.max(0.0), self.shape.accuracy() + ROUNDING)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance, noise included. The Normal that is mixed in as a floor has the same mean and variance.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The density at `y` and an estimate of its error: of the series what is cut off and aliased and
    /// rounding; of pieces rounding, all their terms being of one sign; of what was interpolated, made
    /// masses or held on a grid the size of that error, which is not proven.
    pub fn density_with_error(&self, y: f64) -> (f64, f64) {
        let density = self.density(y);
        (
            density,
            (1.0 - self.floor) * self.shape.error(y, density) + 8.0 * f64::EPSILON * density,
        )
    }

    /// How the law is held.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

/// The rounding error of a probability.
const ROUNDING: f64 = 256.0 * f64::EPSILON;

/// Terms of an exact convolution beyond which it is not done.
const MOST_WORK: f64 = 1e7;

/// The law of the sum of independent laws, uniforms and a Normal: exact pieces where these are few, else a
/// Fourier series where that is short, else a grid.
fn sum(mut laws: Vec<Measure>, linear: Linear, sd: f64) -> Shape {
    let start = Measure::point(linear.start);
    // One law after the other; the largest come last, where they are cheapest.
    laws.sort_by_key(|law| law.pieces.len());
    let degree: usize = laws.iter().map(|law| degree(law) + 1).sum();
    let work = work(&laws);
    let exact = laws.len() < 2 || (work <= MOST_WORK && 2 * degree <= MOST_DEGREE);
    if laws.len() > 1 && (sd > 0.0 || !exact) {
        let mut all = laws.clone();
        all.push(start.clone());
        let most = if exact { work.min(MOST_WORK) } else { MOST_WORK };
        if let Some(shape) = Shape::of_many(&all, &linear.widths, sd, most) {
            return shape;
        }
    }
    if exact {
        let base = laws.iter().fold(start, |sum, law| sum.convolved(law).flattened());
        return Shape::new(base, linear.widths, sd);
    }
    laws.push(start);
    Shape::smoothed(grid::sum(&laws, &linear.widths), sd)
}

/// The highest degree of the pieces of a law.
fn degree(law: &Measure) -> usize {
    law.pieces.iter().map(|piece| piece.degree()).max().unwrap_or(0)
}

/// About how many terms the exact convolution of all has.
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
    /// The function `relu(x)`, as segments.
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
