//! Distributions of piecewise linear functions of independent uniform variables, such as the outputs of a network whose weights are uniform. Noise
//! can be added to the outputs.
//!
//! Distributions of sums of uniforms are box splines. A box spline is represented by exact pieces, by a Fourier series, or by both
//! ([`shape::Representation`]). The representation that is cheapest for the given widths is chosen. All of them avoid cancellation, so that
//! densities have a small relative error even in the tails.

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

/// The term `slope * w`, where the weight `w` is uniform on `[lower, upper]`. If the slope is 0 or the interval is a single point, the term is a
/// constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformTerm {
    /// The factor of the weight.
    pub slope: f64,
    /// The smallest value of the weight.
    pub lower: f64,
    /// The largest value of the weight.
    pub upper: f64,
}

/// A ReLU unit that contributes `outgoing * relu(bias + sum terms)` to the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The weight of the unit in the output. This weight is fixed.
    pub outgoing: f64,
    /// The part of the unit's input that is fixed.
    pub bias: f64,
    /// The part of the unit's input that depends on uniform weights.
    pub terms: Vec<UniformTerm>,
}

/// A network with the output `f = offset + sum terms + sum units`. All weights are independent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The part of the output that is fixed.
    pub offset: f64,
    /// The terms with those weights that enter the output linearly.
    pub terms: Vec<UniformTerm>,
    /// The ReLU units. Each weight belongs to at most one unit.
    pub units: Vec<Unit>,
}

impl Network {
    /// Returns the smallest and the largest value of the output.
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

/// A piecewise linear function of `offset + sum terms`, where all weights are independent. An example is a unit at any depth, as a function of its
/// incoming weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Ridge {
    /// The part of the linear form that is fixed.
    pub offset: f64,
    /// The part of the linear form that depends on uniform weights.
    pub terms: Vec<UniformTerm>,
    /// The segments of the function. The segments cover all values of the linear form, and overlap only at their ends.
    pub segments: Vec<Segment>,
}

/// The noise of an observation. If the spread is negative or NaN, the observation does not have
/// noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservationNoise {
    /// Normal noise with the mean 0.
    Normal {
        /// The standard deviation. With 0, the observation does not have noise.
        sd: f64,
    },
    /// Triangular noise with the density `(1 - |u| / radius) / radius`. The distribution of the observation is mixed with a Normal, so that every
    /// observation is possible.
    Triangular {
        /// The half-width of the support of the triangular density.
        radius: f64,
        /// The weight of the Normal in the mixture, from 0 to below 1. The Normal has the mean and the variance of the whole distribution.
        floor: f64,
    },
}

#[cfg(test)]
mod tests;
