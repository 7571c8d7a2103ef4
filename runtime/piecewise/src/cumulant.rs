//! Cumulant functions and exponentially tilted characteristic functions of sums of independent variables.
//!
//! Tilting by `theta` multiplies a density by `exp(theta x - K(theta))`, where `K` is the cumulant function. If `K'(theta) = y`, the tilted
//! distribution has the mean `y`. A point `y` far out in a tail thus becomes the mean of the tilted distribution. If the tilted density is computed
//! with a small absolute error, the density at `y` has a small relative error (Daniels, "Saddlepoint approximations in statistics", 1954, equation
//! 2.5).

use super::twofold::Twofold;

/// One point mass of a discretised distribution.
#[derive(Clone, Copy, Debug)]
pub struct Mass {
    /// The position of the mass.
    pub at: f64,
    /// The mass. It is positive.
    pub mass: f64,
}

/// A sum of independent variables: uniforms, a Normal, and discretised distributions.
#[derive(Clone, Debug, Default)]
pub struct Summands {
    /// The half-widths of the uniforms. Each uniform is centred at 0.
    pub halves: Vec<f64>,
    /// The standard deviation of the Normal. The Normal has the mean 0.
    pub sd: f64,
    /// The discretised distributions. The point masses are the nodes of a quadrature rule, or atoms.
    pub masses: Vec<Vec<Mass>>,
}

/// The cumulant function `K` and its first two derivatives at one `theta`.
#[derive(Clone, Copy, Debug)]
pub struct Cumulant {
    /// `K(theta)` minus `theta` times an end of the support of the uniforms: the right end if `theta` is positive, and the left end otherwise.
    pub bounded: f64,
    /// `K'(theta)`, the mean of the tilted distribution.
    pub mean: f64,
    /// `K''(theta)`, the variance of the tilted distribution.
    pub variance: f64,
}

impl Summands {
    /// Returns half of the width of the interval in which the sum of all uniforms lies.
    pub fn half_width(&self) -> f64 {
        self.halves
            .iter()
            .fold(Twofold::default(), |sum, &half| sum + Twofold::from(half))
            .value()
    }

    /// Computes the cumulant function at `theta`.
    pub fn cumulant(&self, theta: f64) -> Cumulant {
        let (mean, variance) = self.slopes(theta);
        let bounded = self.bounded(theta);
        Cumulant {
            bounded,
            mean,
            variance,
        }
    }

    /// Computes `K(theta)` minus `|theta|` times the sum of all half-widths.
    pub fn bounded(&self, theta: f64) -> f64 {
        let mut sum = 0.5 * (self.sd * theta) * (self.sd * theta);
        // Each factor is in (0, 1]. To save logarithms, several factors are multiplied before the logarithm is taken.
        let mut product = 1.0;
        for &half in &self.halves {
            product *= uniform_factor((half * theta).abs());
            if product < 1e-200 {
                sum += product.ln();
                product = 1.0;
            }
        }
        sum + product.ln()
            + self
                .masses
                .iter()
                .map(|masses| tilted(masses, theta).0)
                .sum::<f64>()
    }

    /// Computes `K'(theta)` and `K''(theta)`.
    pub fn slopes(&self, theta: f64) -> (f64, f64) {
        let square = self.sd * self.sd;
        let (mut mean, mut variance) = (square * theta, square);
        for &half in &self.halves {
            let (first, second) = uniform_slopes((half * theta).abs());
            mean += half * first.copysign(theta);
            variance += half * half * second;
        }
        for masses in &self.masses {
            let (_, first, second) = tilted(masses, theta);
            mean += first;
            variance += second;
        }
        (mean, variance)
    }

    /// Returns a `theta` that brings `K'(theta)` near `mean`, so that the tilted distribution is centred there. Returns `None` if `mean` is outside
    /// the support.
    pub fn saddle(&self, mean: f64) -> Option<f64> {
        let (at_rest, variance) = self.slopes(0.0);
        let mut theta = (mean - at_rest) / variance;
        let (mut low, mut high) = if theta < 0.0 {
            (f64::NEG_INFINITY, 0.0)
        } else {
            (0.0, f64::INFINITY)
        };
        if !theta.is_finite() {
            return None;
        }
        for _ in 0..200 {
            let (here, variance) = self.slopes(theta);
            let gap = mean - here;
            if gap * gap <= 1e-4 * variance {
                return Some(theta);
            }
            if gap > 0.0 {
                low = theta;
            } else {
                high = theta;
            }
            theta += gap / variance;
            if theta <= low || theta >= high || !theta.is_finite() {
                theta = between(low, high);
            }
            if theta.abs() > 1e300 {
                return None;
            }
        }
        Some(theta)
    }

    /// Returns two numbers for each uniform. The first number is the half-width `h` of the uniform. The second number is an upper bound, valid for
    /// every `t`, on `|theta + i t| h` times the modulus of the uniform's factor in the tilted characteristic function.
    /// [`Summands::envelope`] uses these numbers at many `t`.
    pub fn tops(&self, theta: f64) -> Vec<(f64, f64)> {
        let top = |a: f64| if a < 1e-9 { 1.0 } else { a / a.tanh() };
        self.halves
            .iter()
            .map(|&half| (half, top((half * theta).abs())))
            .collect()
    }

    /// Returns an upper bound on the modulus of the tilted characteristic function at `t` and beyond, which decreases with `t`. Also returns how
    /// many factors of this bound decrease as `1 / t`.
    pub fn envelope(&self, theta: f64, tops: &[(f64, f64)], t: f64) -> (f64, usize) {
        let mut product = (-0.5 * (self.sd * t) * (self.sd * t)).exp();
        let mut falling = 0;
        let square = theta * theta + t * t;
        for (half, top) in tops {
            let bound = top * top / (half * half * square);
            if bound < 1.0 {
                product *= bound.sqrt();
                falling += 1;
            }
        }
        (product, falling)
    }

    /// Returns a distance from the mean in the direction of `sign`. Beyond it, the density tilted by `theta` is below about `exp(-cut)` of its
    /// maximum. The distance is computed from Chernoff's bound with a few exponents.
    pub fn reach(&self, theta: f64, here: &Cumulant, sign: f64, cut: f64) -> f64 {
        let sd = here.variance.sqrt();
        [3.0, 6.0, 10.0]
            .into_iter()
            .map(|size| {
                let step = size / sd;
                let beyond = self.bounded(theta + sign * step);
                let change = (theta + sign * step).abs() - theta.abs();
                let growth = beyond - here.bounded + change * self.half_width() - sign * step * here.mean;
                (growth + cut) / step
            })
            .fold(f64::INFINITY, f64::min)
    }
}

/// Returns a number strictly between two bounds. One of the bounds may be infinite.
fn between(low: f64, high: f64) -> f64 {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => 0.5 * (low + high),
        (true, false) => 2.0 * low + f64::MIN_POSITIVE,
        (false, true) => 2.0 * high - f64::MIN_POSITIVE,
        (false, false) => 0.0,
    }
}

/// Computes `exp(-a) sinh a / a` for `a >= 0`.
fn uniform_factor(a: f64) -> f64 {
    if a < 1e-6 {
        return 1.0 - a * (1.0 - 2.0 / 3.0 * a);
    }
    -(-2.0 * a).exp_m1() / (2.0 * a)
}

/// Computes the first two derivatives of `log(sinh a / a)` for `a >= 0`. The derivatives are `coth a - 1 / a` and `1 / a^2 - 1 / sinh^2 a`.
fn uniform_slopes(a: f64) -> (f64, f64) {
    if a < 0.15 {
        let s = a * a;
        let mean =
            a * (1.0 / 3.0 - s * (1.0 / 45.0 - s * (2.0 / 945.0 - s * (1.0 / 4725.0 - s * 2.0 / 93_555.0))));
        let variance =
            1.0 / 3.0 - s * (1.0 / 15.0 - s * (2.0 / 189.0 - s * (1.0 / 675.0 - s * 2.0 / 10_395.0)));
        return (mean, variance);
    }
    let decay = (-2.0 * a).exp();
    let tangent = (1.0 + decay) / (1.0 - decay);
    let sine = 4.0 * decay / ((1.0 - decay) * (1.0 - decay));
    (tangent - 1.0 / a, 1.0 / (a * a) - sine)
}

/// Computes the log moment generating function of point masses at `theta`, and the mean and the variance of the tilted point masses.
fn tilted(masses: &[Mass], theta: f64) -> (f64, f64, f64) {
    let top = masses
        .iter()
        .map(|mass| theta * mass.at)
        .fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut first) = (0.0, 0.0);
    for mass in masses {
        let weight = mass.mass * (theta * mass.at - top).exp();
        sum += weight;
        first += weight * mass.at;
    }
    let mean = first / sum;
    let spread =
        |mass: &Mass| mass.mass * (theta * mass.at - top).exp() * (mass.at - mean) * (mass.at - mean);
    (top + sum.ln(), mean, masses.iter().map(spread).sum::<f64>() / sum)
}
