//! Polynomials on an interval in Bernstein form. If the coefficients are not negative, every result here is a sum of non-negative terms, so
//! its relative rounding error stays small.

use super::twofold::Twofold;
use std::sync::OnceLock;

/// The highest degree that a piece can have.
pub const MOST_DEGREE: usize = 48;

/// A polynomial on the interval `[start, end]`.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The left end of the interval.
    pub start: Twofold,
    /// The right end of the interval. It is larger than `start`.
    pub end: Twofold,
    /// The width of the interval, `end - start`.
    pub width: f64,
    /// The Bernstein coefficients. Their number is one more than the degree.
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

    /// Returns the degree of the polynomial.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Evaluates the polynomial at the fraction `t` of the interval. `rest` must be `1 - t`. It is a separate argument, because computing
    /// `1 - t` near the end of the interval would lose digits.
    pub fn at(&self, t: f64, rest: f64) -> f64 {
        bernstein(&self.coefficients, t, rest)
    }

    /// Evaluates the polynomial at a position inside the interval.
    pub fn value(&self, position: Twofold) -> f64 {
        let t = ((position - self.start).value() / self.width).clamp(0.0, 1.0);
        let rest = ((self.end - position).value() / self.width).clamp(0.0, 1.0);
        self.at(t, rest)
    }

    /// Returns the integral of the polynomial over the whole interval.
    pub fn mass(&self) -> f64 {
        self.width * self.coefficients.iter().sum::<f64>() / self.coefficients.len() as f64
    }

    /// Returns the integral of the polynomial from the left end to a position inside the interval.
    pub fn mass_below(&self, position: Twofold) -> f64 {
        let t = ((position - self.start).value() / self.width).clamp(0.0, 1.0);
        let rest = ((self.end - position).value() / self.width).clamp(0.0, 1.0);
        bernstein(&self.from_start(), t, rest)
    }

    /// Returns the integral from the left end to a position, as a function of the position. The result holds the Bernstein coefficients of
    /// this function, a polynomial whose degree is one higher.
    pub fn from_start(&self) -> Vec<f64> {
        let scale = self.width / self.coefficients.len() as f64;
        let sums = self.coefficients.iter().scan(0.0, |sum, coefficient| {
            *sum += coefficient * scale;
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    }

    /// Returns the integral from a position to the right end, as a function of the position. The result holds the Bernstein coefficients of
    /// this function, a polynomial whose degree is one higher.
    pub fn to_end(&self) -> Vec<f64> {
        let mut mirrored = self.clone();
        mirrored.coefficients.reverse();
        let mut sums = mirrored.from_start();
        sums.reverse();
        sums
    }

    /// Restricts a polynomial to `[from, to]`, a part of the interval on which it has the Bernstein coefficients `coefficients`. Returns
    /// its coefficients on `[from, to]`. Uses de Casteljau's algorithm twice.
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

/// Evaluates a polynomial at `t`, given its Bernstein coefficients on `[0, 1]`. `rest` must be `1 - t`.
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

/// Returns the binomial coefficients for a degree of at most [`MOST_DEGREE`].
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

/// Replaces the Bernstein coefficients on `[0, 1]` by the coefficients of the same polynomial on `[0, t]`.
fn keep_left(coefficients: &mut [f64], t: f64, rest: f64) {
    for level in 1..coefficients.len() {
        for index in (level..coefficients.len()).rev() {
            coefficients[index] = rest * coefficients[index - 1] + t * coefficients[index];
        }
    }
}

/// Replaces the Bernstein coefficients on `[0, 1]` by the coefficients of the same polynomial on `[t, 1]`.
fn keep_right(coefficients: &mut [f64], t: f64, rest: f64) {
    for level in 1..coefficients.len() {
        for index in 0..coefficients.len() - level {
            coefficients[index] = rest * coefficients[index] + t * coefficients[index + 1];
        }
    }
}

/// Raises the degree: returns the coefficients of the same polynomial in the Bernstein basis of a higher degree.
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

/// Returns the Bernstein coefficients of the polynomial that interpolates `values` at the Chebyshev nodes ([`node`]). There are as many
/// nodes as values.
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

/// Multiplies a polynomial by the linear function that has the values `at_zero` and `at_one` at the ends of the interval.
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

/// Returns the node with the given index among `count` Chebyshev nodes in `(0, 1)`, which are in increasing order.
pub fn node(index: usize, count: usize) -> f64 {
    let angle = std::f64::consts::PI * (index as f64 + 0.5) / count as f64;
    let half = (0.5 * angle).sin();
    half * half
}
