//! The distributions of single ReLU units. The distribution of a unit consists of a mass at 0, and of that part of a spline that lies above 0.

use super::measure::{Measure, PointMass};
use super::shape::Representation;
use super::transform::Segment;
use super::twofold::Twofold;
use super::{Ridge, UniformTerm, Unit};

/// If a unit's input is a sum of at most this number of uniforms, the exact spline is used. With more uniforms, the spline is interpolated from a
/// series.
const MOST_EXACT: usize = 9;
/// The accuracy of the interpolation, relative to the density.
const ACCURACY: f64 = 1e-11;
/// An interpolated density is treated as 0 below `exp(-FAINT)` of its maximum.
const FAINT: f64 = 100.0;

/// The maximum number of steps in the search for the point beyond which a density is treated as 0.
const MOST_STEPS: i32 = 40;

/// A sum of uniforms, represented by the smallest value of the sum and the widths of the uniforms.
#[derive(Clone, Debug)]
pub struct UniformSum {
    /// The smallest value of the sum.
    pub start: Twofold,
    /// The widths of the uniforms. All of them are positive.
    pub widths: Vec<f64>,
}

impl UniformSum {
    /// Creates the sum `factor * (offset + sum terms)`.
    pub fn new(offset: f64, terms: &[UniformTerm], factor: f64) -> UniformSum {
        let mut start = Twofold::product(offset, factor);
        let mut widths = Vec::new();
        for term in terms {
            let low = Twofold::product(term.slope, term.lower);
            let high = Twofold::product(term.slope, term.upper);
            let width = (high - low).times(factor).value();
            start = start
                + if width < 0.0 {
                    high.times(factor)
                } else {
                    low.times(factor)
                };
            if width != 0.0 {
                widths.push(width.abs());
            }
        }
        UniformSum { start, widths }
    }

    /// Returns the sum of two independent sums.
    pub fn plus(mut self, other: UniformSum) -> UniformSum {
        self.start = self.start + other.start;
        self.widths.extend(other.widths);
        self
    }

    /// Returns the largest value of the sum.
    pub fn end(&self) -> f64 {
        self.widths
            .iter()
            .fold(self.start, |sum, &width| sum + Twofold::from(width))
            .value()
    }

    /// Returns the mean and the variance of the sum.
    pub fn moments(&self) -> (f64, f64) {
        let middle = self
            .widths
            .iter()
            .fold(self.start, |sum, width| sum + Twofold::from(0.5 * width));
        (
            middle.value(),
            self.widths.iter().map(|width| width * width / 12.0).sum(),
        )
    }

    /// Returns the distribution as pieces. The pieces are exact if there are few widths. Otherwise, the density is interpolated between `from`
    /// and `to`. The probability below `from` becomes a mass at `from`, and the probability above `to` becomes a mass at `to`.
    pub fn measure(&self, from: f64, to: f64) -> Measure {
        if self.widths.len() <= MOST_EXACT {
            return Measure::uniforms(self.start, &self.widths);
        }
        // The density is computed for a sum that is centred at 0, because far from 0 the positions would not have enough digits to tell the
        // pieces apart.
        let half = self
            .widths
            .iter()
            .fold(Twofold::default(), |sum, &width| sum + Twofold::from(0.5 * width));
        let middle = self.start + half;
        let near = |end: f64| (Twofold::from(end.clamp(f64::MIN, f64::MAX)) - middle).value();
        self.around(-half, near(from), near(to)).shifted(middle)
    }

    /// Interpolates the distribution of a sum that is centred at 0. `start` is its smallest value.
    fn around(&self, start: Twofold, from: f64, to: f64) -> Measure {
        let shape = Representation::new(Measure::point(start), self.widths.clone(), 0.0);
        let sd = self.moments().1.sqrt();
        let faint = shape.log_density(0.0) - FAINT;
        let from = from.max(edge(&shape, faint, -sd, start.value()));
        let to = to.min(edge(&shape, faint, sd, -start.value()));
        let mut measure = Measure::interpolated(|x| shape.near(x), from, to, ACCURACY);
        let outside = [(from, shape.below(from)), (to, 1.0 - shape.below(to))];
        let rest = 1.0 - outside[0].1 - outside[1].1;
        let mass = measure.mass();
        measure = measure.scaled(rest / mass);
        let atoms = outside.map(|(at, mass)| PointMass {
            at: Twofold::from(at),
            mass,
        });
        measure
            .atoms
            .extend(atoms.into_iter().filter(|atom| atom.mass > 1e-15));
        measure
    }
}

/// Returns the first point where the log density is at most `faint`. The search begins at 0, takes steps of length `step`, and stays inside the
/// support. Fifteen steps are enough for a Normal with the same variance, and the density of a sum of uniforms falls faster.
fn edge(shape: &Representation, faint: f64, step: f64, end: f64) -> f64 {
    let steps = (1..=MOST_STEPS).map(|count| f64::from(count) * step);
    let found = steps
        .into_iter()
        .find(|&x| (end - x) * step <= 0.0 || shape.log_density(x) <= faint);
    found.map_or(end, |x| if (end - x) * step > 0.0 { x } else { end })
}

/// The contribution of a unit. Its form depends on the interval bounds of the unit's input.
pub enum UnitContribution {
    /// The unit contributes 0, because its input is never positive or its outgoing weight is 0.
    Off,
    /// The unit is linear, because its input is never negative. The variant holds its contribution.
    On(UniformSum),
    /// The input may have both signs. The variant holds the distribution of the contribution.
    Both(Measure),
}

/// Returns the contribution of a unit to the output of the network.
pub fn decided(unit: &Unit) -> UnitContribution {
    let input = UniformSum::new(unit.bias, &unit.terms, 1.0);
    if unit.outgoing == 0.0 || input.end() <= 0.0 {
        return UnitContribution::Off;
    }
    if input.start.value() >= 0.0 {
        return UnitContribution::On(UniformSum::new(unit.bias, &unit.terms, unit.outgoing));
    }
    let law = input.measure(0.0, f64::INFINITY);
    let [off, on] = Ridge::relu();
    UnitContribution::Both(law.mapped(&[
        off,
        Segment {
            slope: unit.outgoing,
            ..on
        },
    ]))
}
