//! Distributions that are represented by Fourier series of their tilted densities.
//!
//! Inside an interval of length `P` outside which it is negligible, a density equals a Fourier series with period `P`. The coefficients of
//! the series are the values of the characteristic function at multiples of `2 pi / P`. If the density has compact support, the series is exact.
//! Otherwise, the interval is chosen by Chernoff's bound such that the aliasing error is below the rounding error. The error of truncating the series
//! is bounded by the envelope of the characteristic function.

use super::cumulant::Summands;
use std::f64::consts::PI;

/// The maximum number of terms of a series.
pub const MOST_TERMS: usize = 1 << 18;
/// A density is regarded as negligible where it is below `exp(-CUT)` of its maximum.
const CUT: f64 = 40.0;
/// The sines and cosines of successive terms are computed by rotation. After this number of terms, they are computed directly again.
const FRESH: usize = 64;

/// The Fourier series of a density that is tilted by `theta`. The origin of the series is the mean of the tilted distribution.
#[derive(Clone, Debug)]
pub struct Series {
    /// The mean of the tilted distribution. It is the origin of the series.
    pub centre: f64,
    /// The density is negligible below `centre - below` and above `centre + above`.
    pub below: f64,
    /// The density is negligible above `centre + above`.
    pub above: f64,
    /// The logarithm of the normalising constant of the tilt, `log E exp(theta (x - centre))`.
    pub log_scale: f64,
    /// The parameter of the exponential tilt.
    pub theta: f64,
    /// A bound on the sum of the terms that were left out, relative to `1 / period`.
    pub truncation: f64,
    /// The number of factors that are multiplied for each coefficient.
    factors: usize,
    /// The period of the series, `below + above`.
    period: f64,
    /// The coefficients from index 1 on, as pairs of real and imaginary part.
    coefficients: Vec<(f64, f64)>,
}

/// The size of a series: its period, its range and its number of terms.
struct Plan {
    period: f64,
    below: f64,
    above: f64,
    terms: usize,
    truncation: f64,
}

impl Series {
    /// Computes the series of the density of the sum, tilted by `theta`. Returns `None` if the series needs more than [`MOST_TERMS`] terms.
    pub fn new(summands: &Summands, theta: f64) -> Option<Series> {
        let plan = plan(summands, theta)?;
        let here = summands.cumulant(theta);
        let coefficients = transform(summands, theta, here.mean, 2.0 * PI / plan.period, plan.terms);
        let half = summands.half_width();
        let log_scale = here.bounded + theta.abs() * (half - here.mean * theta.signum());
        Some(Series {
            centre: here.mean,
            below: plan.below,
            above: plan.above,
            log_scale,
            theta,
            truncation: plan.truncation,
            factors: summands.halves.len() + summands.masses.len(),
            period: plan.period,
            coefficients,
        })
    }

    /// Returns the number of terms and the period of the series without a tilt, without computing the series.
    pub fn size_needed(summands: &Summands) -> Option<(usize, f64)> {
        plan(summands, 0.0).map(|plan| (plan.terms, plan.period))
    }

    /// Returns a length over which the tilted density is smooth: a twelfth of the period of the series.
    pub fn spread(&self) -> f64 {
        self.period / 12.0
    }

    /// Returns the period of the series.
    pub fn period(&self) -> f64 {
        self.period
    }

    /// Computes the tilted density at `centre + x`.
    pub fn density(&self, x: f64) -> f64 {
        if x < -self.below || x > self.above {
            return 0.0;
        }
        let mut sum = 0.0;
        self.rotate(x, |_, (re, im), (cos, sin)| sum += re * cos + im * sin);
        (1.0 + 2.0 * sum) / self.period
    }

    /// Computes the mass of the tilted distribution below `centre + x`.
    pub fn mass_below(&self, x: f64) -> f64 {
        if x <= -self.below {
            return 0.0;
        }
        if x >= self.above {
            return 1.0;
        }
        ((x + self.below) / self.period + (self.primitive(x) - self.primitive(-self.below)) / PI)
            .clamp(0.0, 1.0)
    }

    /// Computes, up to a constant, the periodic part of the density's integral.
    fn primitive(&self, x: f64) -> f64 {
        let mut sum = 0.0;
        self.rotate(x, |k, (re, im), (cos, sin)| {
            sum += (re * sin - im * cos) / k as f64
        });
        sum
    }

    /// Computes the logarithm of the original density, without the tilt, at `centre + x`.
    pub fn log_density(&self, x: f64) -> f64 {
        self.log_scale - self.theta * x + self.density(x).ln()
    }

    /// Returns a bound on the error of the tilted density. The bound includes truncation, aliasing and rounding errors.
    pub fn error(&self) -> f64 {
        let sizes: f64 = self.coefficients.iter().map(|(re, im)| re.abs() + im.abs()).sum();
        (self.truncation + (-CUT).exp() + f64::EPSILON * (8.0 + (16.0 + 2.0 * self.factors as f64) * sizes))
            / self.period
    }

    /// Calls `visit` for every term of the series, with the cosine and the sine of the term's angle at `x`.
    fn rotate(&self, x: f64, mut visit: impl FnMut(usize, (f64, f64), (f64, f64))) {
        let step = 2.0 * PI / self.period * x;
        let (turn_sin, turn_cos) = step.sin_cos();
        for (block, coefficients) in self.coefficients.chunks(FRESH).enumerate() {
            let (mut sin, mut cos) = (step * (block * FRESH + 1) as f64).sin_cos();
            for (index, &coefficient) in coefficients.iter().enumerate() {
                visit(block * FRESH + index + 1, coefficient, (cos, sin));
                (cos, sin) = (cos * turn_cos - sin * turn_sin, sin * turn_cos + cos * turn_sin);
            }
        }
    }
}

/// Returns the period, the range and the number of terms of a series with the tilt `theta`. Returns `None` if there are too many terms.
fn plan(summands: &Summands, theta: f64) -> Option<Plan> {
    let here = summands.cumulant(theta);
    if here.variance <= 0.0 || !here.variance.is_finite() {
        return None;
    }
    let below = summands.reach(theta, &here, -1.0, CUT);
    let above = summands.reach(theta, &here, 1.0, CUT);
    let (below, above) = match summands.support() {
        Some((low, high)) => (below.min(here.mean - low), above.min(high - here.mean)),
        None => (below, above),
    };
    let period = below + above;
    let tops = summands.tops(theta);
    let left_out = |terms: usize| {
        let (envelope, falling) = summands.envelope(theta, &tops, 2.0 * PI / period * terms as f64);
        let decay = if summands.sd > 0.0 {
            falling.max(2)
        } else {
            falling
        };
        if decay < 2 {
            1.0
        } else {
            2.0 * envelope * terms as f64 / (decay - 1) as f64
        }
    };
    let mut high = 4;
    while left_out(high) > 1e-16 {
        high *= 2;
        if high > MOST_TERMS {
            return None;
        }
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if left_out(middle) > 1e-16 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Plan {
        period,
        below,
        above,
        terms: high,
        truncation: left_out(high),
    })
}

impl Summands {
    /// Returns the two ends of the sum's support, if the support is bounded and known.
    fn support(&self) -> Option<(f64, f64)> {
        (self.sd == 0.0 && self.masses.is_empty()).then(|| {
            let half = self.half_width();
            (-half, half)
        })
    }
}

/// Computes the tilted characteristic function of the sum minus `centre`, at `terms` multiples of `step`.
fn transform(summands: &Summands, theta: f64, centre: f64, step: f64, terms: usize) -> Vec<(f64, f64)> {
    let square = summands.sd * summands.sd;
    let drift = theta * square - centre;
    let mut values: Vec<(f64, f64)> = (1..=terms)
        .map(|k| {
            let t = step * k as f64;
            let (sin, cos) = (t * drift).sin_cos();
            let size = (-0.5 * square * t * t).exp();
            (size * cos, size * sin)
        })
        .collect();
    for &half in &summands.halves {
        times_uniform(&mut values, half * theta, half * step);
    }
    for masses in &summands.masses {
        let mut factor = vec![(0.0, 0.0); terms];
        let top = masses
            .iter()
            .map(|mass| theta * mass.at)
            .fold(f64::NEG_INFINITY, f64::max);
        let weight = |mass: &super::cumulant::Mass| mass.mass * (theta * mass.at - top).exp();
        let total: f64 = masses.iter().map(weight).sum();
        for mass in masses {
            let part = weight(mass) / total;
            turn(&mut factor, step * mass.at, |value, (cos, sin)| {
                value.0 += part * cos;
                value.1 += part * sin;
            });
        }
        values
            .iter_mut()
            .zip(factor)
            .for_each(|(value, factor)| *value = times(*value, factor));
    }
    values
}

/// Calls `visit` for every value, with the cosine and the sine of `angle` times the index of the value.
fn turn(values: &mut [(f64, f64)], angle: f64, mut visit: impl FnMut(&mut (f64, f64), (f64, f64))) {
    let (turn_sin, turn_cos) = angle.sin_cos();
    for (block, values) in values.chunks_mut(FRESH).enumerate() {
        let (mut sin, mut cos) = (angle * (block * FRESH + 1) as f64).sin_cos();
        for value in values {
            visit(value, (cos, sin));
            (cos, sin) = (cos * turn_cos - sin * turn_sin, sin * turn_cos + cos * turn_sin);
        }
    }
}

/// Multiplies every value by `[sinh(a + i b) / (a + i b)] / [sinh a / a]`, where `b` is `angle` times the index of the value.
fn times_uniform(values: &mut [(f64, f64)], a: f64, angle: f64) {
    let mut k = 0.0;
    if a.abs() < 1e-8 {
        turn(values, angle, |value, (_, sin)| {
            k += 1.0;
            let factor = if k * angle < 1e-8 { 1.0 } else { sin / (k * angle) };
            *value = (value.0 * factor, value.1 * factor);
        });
        return;
    }
    let cotangent = 1.0 / a.tanh();
    turn(values, angle, |value, (cos, sin)| {
        k += 1.0;
        let b = k * angle;
        let scale = a / (a * a + b * b);
        let top = (cos, cotangent * sin);
        let factor = (scale * (top.0 * a + top.1 * b), scale * (top.1 * a - top.0 * b));
        *value = times(*value, factor);
    });
}

/// Multiplies two complex numbers.
fn times(x: (f64, f64), y: (f64, f64)) -> (f64, f64) {
    (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0)
}
