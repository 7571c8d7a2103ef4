//! The laws of single ReLU units: mass at 0 and what is left of a spline.

use super::measure::{Measure, PointMass};
use super::shape::Shape;
use super::transform::Segment;
use super::twofold::Twofold;
use super::{Ridge, Term, Unit};

/// Uniforms that an exact spline of a unit's input may have; more are interpolated from their series.
const MOST_EXACT: usize = 9;
/// The accuracy of interpolation, relative to the density.
const ACCURACY: f64 = 1e-11;
/// `-log` of the part of its largest value below which an interpolated density is taken as 0.
const FAINT: f64 = 100.0;

/// Steps to where a density is faint, at most.
const MOST_STEPS: i32 = 40;

/// A sum of uniforms: where it starts, and the widths above that.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The least value.
    pub start: Twofold,
    /// Positive widths.
    pub widths: Vec<f64>,
}

impl Linear {
    /// `offset + sum terms`, all times `factor`.
    pub fn new(offset: f64, terms: &[Term], factor: f64) -> Linear {
        let mut start = Twofold::product(offset, factor);
        let mut widths = Vec::new();
        for term in terms {
            let (low, high) = (
                Twofold::product(term.slope, term.lower),
                Twofold::product(term.slope, term.upper),
            );
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
        Linear { start, widths }
    }

    /// The sum of two independent ones.
    pub fn plus(mut self, other: Linear) -> Linear {
        self.start = self.start + other.start;
        self.widths.extend(other.widths);
        self
    }

    /// The largest value.
    pub fn end(&self) -> f64 {
        self.widths
            .iter()
            .fold(self.start, |sum, &width| sum + Twofold::from(width))
            .value()
    }

    /// Mean and variance.
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

    /// The law as pieces, exact for few widths. For more it is interpolated between `from` and `to`,
    /// and what is outside is mass at the nearer of them.
    pub fn measure(&self, from: f64, to: f64) -> Measure {
        if self.widths.len() <= MOST_EXACT {
            return Measure::uniforms(self.start, &self.widths);
        }
        // Around 0: far from there the digits of a position could not tell its pieces apart.
        let half = self
            .widths
            .iter()
            .fold(Twofold::default(), |sum, &width| sum + Twofold::from(0.5 * width));
        let middle = self.start + half;
        let near = |end: f64| (Twofold::from(end.clamp(f64::MIN, f64::MAX)) - middle).value();
        self.around(-half, near(from), near(to)).shifted(middle)
    }

    /// The interpolated law of the sum from `start` on, whose middle is 0.
    fn around(&self, start: Twofold, from: f64, to: f64) -> Measure {
        let shape = Shape::new(Measure::point(start), self.widths.clone(), 0.0);
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

/// Where the density gets faint from 0 on in steps of `step`, inside the support. A sum of uniforms falls
/// faster than the Normal of its variance, which is faint after 15 steps.
fn edge(shape: &Shape, faint: f64, step: f64, end: f64) -> f64 {
    let steps = (1..=MOST_STEPS).map(|count| f64::from(count) * step);
    let found = steps
        .into_iter()
        .find(|&x| (end - x) * step <= 0.0 || shape.log_density(x) <= faint);
    found.map_or(end, |x| if (end - x) * step > 0.0 { x } else { end })
}

/// A unit that its interval bounds do not decide.
pub enum Decided {
    /// Its input is never positive.
    Off,
    /// Its input is never negative: it is linear.
    On(Linear),
    /// Neither: the law of its contribution.
    Both(Measure),
}

/// Returns the contribution of a unit to the sum.
pub fn decided(unit: &Unit) -> Decided {
    let input = Linear::new(unit.bias, &unit.terms, 1.0);
    if unit.outgoing == 0.0 || input.end() <= 0.0 {
        return Decided::Off;
    }
    if input.start.value() >= 0.0 {
        return Decided::On(Linear::new(unit.bias, &unit.terms, unit.outgoing));
    }
    let law = input.measure(0.0, f64::INFINITY);
    let [off, on] = Ridge::relu();
    Decided::Both(law.mapped(&[
        off,
        Segment {
            slope: unit.outgoing,
            ..on
        },
    ]))
}
