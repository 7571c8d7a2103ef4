//! Distributions of piecewise linear functions of independent uniforms: the outputs of a network whose weights are uniform, and noisy observations
//! of the outputs.
//!
//! Distributions of sums of uniforms are box splines. A box spline is represented by exact pieces, by a Fourier series, or by both
//! ([`shape::Representation`]). The cheapest representation for the given widths is used. None of these representations loses digits to cancellation,
//! and tails keep their relative accuracy.

pub mod bernstein;
pub mod blend;
pub mod cell;
pub mod cells;
pub mod cumulant;
pub mod grid;
pub mod law;
pub mod measure;
pub mod normal;
pub mod quadrature;
pub mod series;
pub mod shape;
pub mod sigmoid;
pub mod simplex;
pub mod transform;
pub mod triangle;
pub mod twofold;
pub mod unit;
pub mod window;

pub use cells::{Cells, LocalAffine, NoCells, PiecewiseAffine};
pub use law::Law;
pub use sigmoid::{CUBIC_END_L2, mean_sigmoid, mean_sigmoid_cubic};
pub use transform::Segment;

/// `slope * w` with `w` uniform on `[lower, upper]`. The term is a constant if the slope is 0 or the interval is a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformTerm {
    /// The factor of the weight.
    pub slope: f64,
    /// The least weight.
    pub lower: f64,
    /// The largest weight.
    pub upper: f64,
}

/// `outgoing * relu(bias + sum terms)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The fixed weight of the unit in the sum.
    pub outgoing: f64,
    /// The fixed part of the unit's input.
    pub bias: f64,
    /// The uniform part of the unit's input.
    pub terms: Vec<UniformTerm>,
}

/// `f = offset + sum terms + sum units`, with all weights independent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The fixed part.
    pub offset: f64,
    /// The terms with the weights in which `f` is linear.
    pub terms: Vec<UniformTerm>,
    /// The units, each with weights of its own.
    pub units: Vec<Unit>,
}

impl Network {
    /// Returns the least and the largest value.
    pub fn support(&self) -> (f64, f64) {
        let range = |start: f64, terms: &[UniformTerm]| {
            let ends = terms
                .iter()
                .map(|term| (term.slope * term.lower, term.slope * term.upper));
            ends.fold((start, start), |(low, high), (from, to)| {
                (low + from.min(to), high + from.max(to))
            })
        };
        let units = self.units.iter().map(|unit| {
            let (low, high) = range(unit.bias, &unit.terms);
            (unit.outgoing * low.max(0.0), unit.outgoing * high.max(0.0))
        });
        units.fold(range(self.offset, &self.terms), |(low, high), (from, to)| {
            (low + from.min(to), high + from.max(to))
        })
    }
}

/// A piecewise linear function of `offset + sum terms` with all weights independent: a unit at any depth whose incoming weights are
/// uniform.
#[derive(Clone, Debug, PartialEq)]
pub struct Ridge {
    /// The fixed part of the linear form.
    pub offset: f64,
    /// The uniform part of the linear form.
    pub terms: Vec<UniformTerm>,
    /// The function, on segments that cover all values of the form and overlap only at their ends.
    pub segments: Vec<Segment>,
}

/// The noise of an observation. A negative or NaN spread counts as no noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservationNoise {
    /// A Normal around 0; exact.
    Normal {
        /// The standard deviation; 0 for no noise.
        sd: f64,
    },
    /// The density `(1 - |u| / radius) / radius`, mixed with a Normal so that no observation is impossible.
    Triangular {
        /// Half the width of the support.
        radius: f64,
        /// The weight, from 0 to below 1, of the Normal with the mean and variance of the whole distribution.
        floor: f64,
    },
}

#[cfg(test)]
mod tests;
