//! Polynomials on an interval in Bernstein form. If the coefficients are not negative, every step here is a sum of non-negative terms, and
//! hence stable.

use super::twofold::Twofold;
use std::sync::OnceLock;

/// The highest degree of a piece.
pub const MOST_DEGREE: usize = 48;

/// A polynomial on `[start, end]`.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The left end.
    pub start: Twofold,
    /// The right end, above `start`.
    pub end: Twofold,
    /// `end - start`.
    pub width: f64,
    /// Bernstein coefficients, one more than the degree.
    pub coefficients: Vec<f64>,
}

impl Piece {
    /// Creates the polynomial with these coefficients on `[start, end]`.
    pub fn new(start: Twofold, end: Twofold, coefficients: Vec<f64>) -> Piece {
        Piece {
            start,
            end,
            width: (end - start).value(),
            coefficients,
        }
    }

    /// Returns the degree of the Bernstein form.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Evaluates the polynomial at the fraction `t` of the interval. `rest` is `1 - t`, passed separately so that neither end loses digits.
    pub fn at(&self, t: f64, rest: f64) -> f64 {
        bernstein(&self.coefficients, t, rest)
    }

    /// Evaluates the polynomial at a position.
    pub fn value(&self, position: Twofold) -> f64 {
        let t = ((position - self.start).value() / self.width).clamp(0.0, 1.0);
        let rest = ((self.end - position).value() / self.width).clamp(0.0, 1.0);
        self.at(t, rest)
    }

    /// Integrates over the whole interval.
    pub fn mass(&self) -> f64 {
        self.width * self.coefficients.iter().sum::<f64>() / self.coefficients.len() as f64
    }

    /// Integrates from the left end to a position inside.
    pub fn mass_below(&self, position: Twofold) -> f64 {
        let t = ((position - self.start).value() / self.width).clamp(0.0, 1.0);
        let rest = ((self.end - position).value() / self.width).clamp(0.0, 1.0);
        bernstein(&self.from_start(), t, rest)
    }

    /// Returns the Bernstein coefficients of the integral from the left end, one degree higher.
    pub fn from_start(&self) -> Vec<f64> {
        let scale = self.width / self.coefficients.len() as f64;
        let sums = self.coefficients.iter().scan(0.0, |sum, coefficient| {
            *sum += coefficient * scale;
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    }

    /// Returns the Bernstein coefficients of the integral to the right end, one degree higher.
    pub fn to_end(&self) -> Vec<f64> {
        let mut mirrored = self.clone();
        mirrored.coefficients.reverse();
        let mut sums = mirrored.from_start();
        sums.reverse();
        sums
    }

    /// Restricts a polynomial, given by its `coefficients` over this interval, to `[from, to]`, which must be inside the interval. Uses de
    /// Casteljau's algorithm twice. Returns the coefficients over `[from, to]`.
    pub fn restrict(&self, coefficients: &[f64], from: Twofold, to: Twofold) -> Vec<f64> {
        let mut kept = coefficients.to_vec();
        let right = (to - self.start).value();
        let beyond = (self.end - to).value();
        if beyond > 0.0 {
            keep_left(&mut kept, (right / self.width).min(1.0), beyond / self.width);
        }
        let left = (from - self.start).value();
        if left > 0.0 {
            keep_right(&mut kept, (left / right).min(1.0), (to - from).value() / right);
        }
        kept
    }
}

/// Evaluates the polynomial with these Bernstein coefficients on `[0, 1]` at `t`, where `rest = 1 - t`.
pub fn bernstein(coefficients: &[f64], t: f64, rest: f64) -> f64 {
    let degree = coefficients.len() - 1;
    let binomials = binomials(degree);
    let terms = coefficients.iter().zip(binomials);
    if t <= rest {
        let ratio = t / rest;
        terms.rev().fold(0.0, |sum, (c, b)| sum * ratio + c * b) * rest.powi(degree as i32)
    } else {
        let ratio = rest / t;
        terms.fold(0.0, |sum, (c, b)| sum * ratio + c * b) * t.powi(degree as i32)
    }
}

/// Returns the binomial coefficients of a degree up to [`MOST_DEGREE`].
pub fn binomials(degree: usize) -> &'static [f64] {
    static ROWS: OnceLock<Vec<Vec<f64>>> = OnceLock::new();
    let rows = ROWS.get_or_init(|| {
        let mut rows = vec![vec![1.0]];
        for degree in 1..=MOST_DEGREE {
            let before: &Vec<f64> = &rows[degree - 1];
            let inner = before.windows(2).map(|pair| pair[0] + pair[1]);
            let row = std::iter::once(1.0)
                .chain(inner)
                .chain(std::iter::once(1.0))
                .collect();
            rows.push(row);
        }
        rows
    });
    &rows[degree]
}

/// Replaces the coefficients by those over `[0, t]`.
fn keep_left(coefficients: &mut [f64], t: f64, rest: f64) {
    for level in 1..coefficients.len() {
        for index in (level..coefficients.len()).rev() {
            coefficients[index] = rest * coefficients[index - 1] + t * coefficients[index];
        }
    }
}

/// Replaces the coefficients by those over `[t, 1]`.
fn keep_right(coefficients: &mut [f64], t: f64, rest: f64) {
    for level in 1..coefficients.len() {
        for index in 0..coefficients.len() - level {
            coefficients[index] = rest * coefficients[index] + t * coefficients[index + 1];
        }
    }
}

/// Returns the coefficients of the same polynomial in a higher degree.
pub fn elevated(coefficients: &[f64], degree: usize) -> Vec<f64> {
    let mut raised = coefficients.to_vec();
    while raised.len() <= degree {
        let n = raised.len() as f64;
        let last = raised[raised.len() - 1];
        raised.push(last);
        for index in (1..raised.len() - 1).rev() {
            let part = index as f64 / n;
            raised[index] = part * raised[index - 1] + (1.0 - part) * raised[index];
        }
    }
    raised
}

/// Returns the Bernstein coefficients of the polynomial with these values at the `values.len()` Chebyshev nodes ([`node`]).
pub fn interpolate(values: &[f64]) -> Vec<f64> {
    let count = values.len();
    let nodes: Vec<f64> = (0..count).map(|index| node(index, count)).collect();
    let mut divided = values.to_vec();
    for level in 1..count {
        for index in (level..count).rev() {
            divided[index] = (divided[index] - divided[index - 1]) / (nodes[index] - nodes[index - level]);
        }
    }
    let mut result = vec![divided[count - 1]];
    for index in (0..count - 1).rev() {
        result = times_linear(&result, -nodes[index], 1.0 - nodes[index]);
        result
            .iter_mut()
            .for_each(|coefficient| *coefficient += divided[index]);
    }
    result
}

/// Multiplies by the linear function with the values `at_zero` and `at_one` at the ends.
fn times_linear(coefficients: &[f64], at_zero: f64, at_one: f64) -> Vec<f64> {
    let degree = coefficients.len();
    let below = |index: usize| if index == 0 { 0.0 } else { coefficients[index - 1] };
    let here = |index: usize| coefficients.get(index).copied().unwrap_or(0.0);
    (0..=degree)
        .map(|index| {
            let part = index as f64 / degree as f64;
            part * below(index) * at_one + (1.0 - part) * here(index) * at_zero
        })
        .collect()
}

/// Returns the Chebyshev node `index` of `count` in `(0, 1)`, in ascending order.
pub fn node(index: usize, count: usize) -> f64 {
    let angle = std::f64::consts::PI * (index as f64 + 0.5) / count as f64;
    let half = (0.5 * angle).sin();
    half * half
}
