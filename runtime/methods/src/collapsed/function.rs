//! The location of one output of one row, near one iterate, as a function of the integrated weights.
//! The weights are uniform on a box.
//!
//! The function is affine between kinks, so only the kinks that cross the box affect its form.
//! Across a kink, the gradient of the function changes by a multiple of the gradient of the kink.
//! If no two kinks share a weight, the function is a sum of independent parts, one for each kink.
//! The slopes on both sides of every kink then determine the function. Two evaluations give these
//! slopes: one near the middle of the box, and one on the other side of all kinks.

use crate::collapsed::boxes::Boxes;
use crate::collapsed::local::LocationBlock;
use crate::collapsed::moves::span;
use bnnc_base::dtype::Precision;
use bnnc_piecewise::measure::Measure;
use bnnc_piecewise::{Law, Network, ObservationNoise, UniformTerm, Unit};

/// The function around one iterate.
#[derive(Clone, Debug, PartialEq)]
pub enum LocationFunction {
    /// Two evaluations determine the function: it is a sum of independent parts.
    Network(Network),
    /// Two evaluations do not determine the function, so its pieces must be computed.
    Pieces,
}

/// The distribution of a location over the box.
#[derive(Clone, Debug)]
pub enum LocationDist {
    /// The distribution of a sum of independent parts.
    Network(Network),
    /// The distribution of any other piecewise affine function, computed from its pieces.
    Pieces(Measure),
    /// Draws of the location, used if the function has too many pieces.
    Drawn(Vec<f64>),
}

impl LocationDist {
    /// Returns the distribution of the sum of the location and noise.
    pub fn law(&self, noise: ObservationNoise) -> Law {
        match self {
            LocationDist::Network(network) => Law::new(network, noise),
            LocationDist::Pieces(measure) => Law::of_measure(measure.clone(), noise),
            LocationDist::Drawn(draws) => Law::of_measure(Measure::of_points(draws), noise),
        }
    }

    /// Returns the smallest and the largest value of the location.
    pub fn support(&self) -> (f64, f64) {
        match self {
            LocationDist::Network(network) => network.support(),
            LocationDist::Pieces(measure) => measure.support(),
            LocationDist::Drawn(draws) => Measure::of_points(draws).support(),
        }
    }
}

/// Selects one output of one row, an iterate, and the integrated weights.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// The box of the weights that may be integrated over.
    pub boxes: &'a Boxes,
    /// The weights that are integrated over, as indices into the box.
    pub places: &'a [usize],
    /// The row, by its index within the block.
    pub row: usize,
    /// The index of the output.
    pub output: usize,
    /// The largest rounding error of a slope, as a fraction of the largest slope.
    pub tolerance: f64,
}

/// Returns the tolerance for rounding errors of slopes, as a fraction of the largest slope.
pub fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F64 => 1e-9,
        Precision::F32 => 1e-4,
    }
}

/// A kink whose value is zero somewhere inside the box.
struct Crossed<'a> {
    /// The index of the kink among all kinks.
    number: usize,
    value: f64,
    slope: &'a [f64],
}

impl Spot<'_> {
    /// Returns the affine function whose value and slopes equal those of the block at one point. `at`
    /// returns the coordinate of this point for each weight of the box.
    pub fn affine(&self, block: &LocationBlock, at: impl Fn(usize) -> f64) -> Network {
        let outputs = block.location.len() / block.rows.max(1);
        let slope = block.slope_of(self.row, self.output);
        let places = || self.places.iter().copied().filter(|place| slope[*place] != 0.0);
        let value = block.location[self.row * outputs + self.output];
        Network {
            offset: places().fold(value, |offset, place| offset - slope[place] * at(place)),
            terms: places().map(|place| self.term(place, slope[place])).collect(),
            units: Vec::new(),
        }
    }

    fn term(&self, place: usize, slope: f64) -> UniformTerm {
        let column = &self.boxes.columns[place];
        UniformTerm {
            slope,
            lower: column.lower,
            upper: column.upper,
        }
    }

    /// Returns whether some kink crosses the box. `base` is the evaluation at the base of the box.
    pub fn crosses(&self, base: &LocationBlock) -> bool {
        base.kinks_of(self.row)
            .any(|(value, slope)| self.is_crossed(value, slope))
    }

    fn is_crossed(&self, value: f64, slope: &[f64]) -> bool {
        let (low, high) = span(self.boxes, self.places, value, slope);
        low < 0.0 && high > 0.0
    }

    /// Computes the function from two evaluations: one at the base of the box, and one on the other side of
    /// the kinks. If some kinks depend on other kinks, two evaluations determine the function only
    /// if no kink crosses the box.
    pub fn function(
        &self,
        base: &LocationBlock,
        across: &LocationBlock,
        is_nested: bool,
    ) -> LocationFunction {
        let at_base = |place: usize| self.boxes.columns[place].base();
        let all = base.kinks_of(self.row).enumerate();
        let crossed: Vec<Crossed<'_>> = all
            .filter(|(_, (value, slope))| self.is_crossed(*value, slope))
            .map(|(number, (value, slope))| Crossed { number, value, slope })
            .collect();
        let affine = self.affine(base, at_base);
        if crossed.is_empty() {
            return LocationFunction::Network(affine);
        }
        match is_nested {
            true => LocationFunction::Pieces,
            false => self.apart(affine, self.different(crossed), (base, across)),
        }
    }

    /// If several kinks lie on the same hyperplane, keeps only one of them.
    fn different<'b>(&self, crossed: Vec<Crossed<'b>>) -> Vec<Crossed<'b>> {
        let mut kept: Vec<Crossed<'b>> = Vec::new();
        for kink in crossed {
            if !kept.iter().any(|known| self.is_same(known, &kink)) {
                kept.push(kink);
            }
        }
        kept
    }

    fn is_same(&self, one: &Crossed<'_>, other: &Crossed<'_>) -> bool {
        let size = |kink: &Crossed<'_>| -> f64 {
            let squares = self.places.iter().map(|place| kink.slope[*place].powi(2));
            squares.sum::<f64>().sqrt()
        };
        let (a, b) = (size(one), size(other));
        let differ = |sign: f64| {
            let far = |x: f64, y: f64| (x / a - sign * y / b).abs() > self.tolerance;
            let slopes = self.places.iter().any(|at| far(one.slope[*at], other.slope[*at]));
            slopes || far(one.value, other.value)
        };
        !differ(1.0) || !differ(-1.0)
    }

    /// Splits the function into independent parts if no two kinks share a weight.
    fn apart(
        &self,
        affine: Network,
        crossed: Vec<Crossed<'_>>,
        blocks: (&LocationBlock, &LocationBlock),
    ) -> LocationFunction {
        let slopes = [blocks.0, blocks.1].map(|block| block.slope_of(self.row, self.output));
        let beyond: Vec<f64> = blocks.1.kinks_of(self.row).map(|(value, _)| value).collect();
        let mut owned = vec![false; self.boxes.columns.len()];
        let mut network = Network {
            terms: Vec::new(),
            ..affine
        };
        for kink in &crossed {
            let own: Vec<usize> = self
                .places
                .iter()
                .copied()
                .filter(|at| kink.slope[*at] != 0.0)
                .collect();
            if own.iter().any(|at| std::mem::replace(&mut owned[*at], true)) {
                return LocationFunction::Pieces;
            }
            // The second evaluation may be on the same side of the kink as the first. The slopes on
            // the other side are then unknown.
            if beyond
                .get(kink.number)
                .is_none_or(|value| value * kink.value > 0.0)
            {
                return LocationFunction::Pieces;
            }
            let largest = own.iter().flat_map(|at| slopes.map(|slope| slope[*at].abs()));
            let least = self.tolerance * largest.fold(0.0, f64::max);
            let (below, above) = match kink.value > 0.0 {
                true => (slopes[1], slopes[0]),
                false => (slopes[0], slopes[1]),
            };
            let is_flat = |slope: &[f64]| own.iter().all(|at| slope[*at].abs() <= least);
            let (sign, slope) = match (is_flat(below), is_flat(above)) {
                (true, true) => continue,
                (true, false) => (1.0, above),
                (false, true) => (-1.0, below),
                (false, false) => return LocationFunction::Pieces,
            };
            let Some(outgoing) = outgoing(&own, kink.slope, slope, sign, least) else {
                return LocationFunction::Pieces;
            };
            network.units.push(self.unit(&own, kink, (sign, outgoing)));
            // The affine function and the unit both include the contribution of these weights at
            // the base. It is therefore subtracted once.
            let active = (sign * kink.value).max(0.0);
            network.offset -= outgoing * active;
        }
        self.rest(&mut network, &owned, slopes[0]);
        LocationFunction::Network(network)
    }

    fn unit(&self, own: &[usize], kink: &Crossed<'_>, (sign, outgoing): (f64, f64)) -> Unit {
        let at_base = |at: &usize| kink.slope[*at] * self.boxes.columns[*at].base();
        Unit {
            outgoing,
            bias: sign * (kink.value - own.iter().map(at_base).sum::<f64>()),
            terms: own
                .iter()
                .map(|at| self.term(*at, sign * kink.slope[*at]))
                .collect(),
        }
    }

    /// Adds the terms of the weights that do not affect any crossed kink. The offset of the network
    /// is the value at the base.
    fn rest(&self, network: &mut Network, owned: &[bool], slope: &[f64]) {
        for &at in self.places {
            let moved = slope[at] * self.boxes.columns[at].base();
            if owned[at] {
                // The contribution of these weights at the base is already subtracted from the
                // affine function.
                network.offset += moved;
            } else if slope[at] != 0.0 {
                network.terms.push(self.term(at, slope[at]));
            }
        }
    }
}

/// Returns the outgoing weight of a unit. A unit is flat on one side of its kink. Its outgoing
/// weight is a quotient: the slope of the function on the other side, divided by the slope of the
/// kink. Returns `None` if the two slopes, as vectors, are not parallel.
fn outgoing(own: &[usize], kink: &[f64], slope: &[f64], sign: f64, least: f64) -> Option<f64> {
    let square: f64 = own.iter().map(|at| kink[*at].powi(2)).sum();
    let along: f64 = own.iter().map(|at| sign * kink[*at] * slope[*at]).sum();
    let outgoing = along / square;
    let is_multiple = |at: &usize| (slope[*at] - outgoing * sign * kink[*at]).abs() <= 10.0 * least;
    own.iter().all(is_multiple).then_some(outgoing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed::boxes::BoxedWeight;
    use crate::collapsed::moves::{Sets, across, to_base};

    /// Returns a box of four weights. The ranges of the weights have different widths.
    fn boxes() -> Boxes {
        let ends = [(-1.0, 1.0), (-0.5, 2.0), (-2.0, 1.0), (0.0, 3.0)];
        let column = |(at, (lower, upper)): (usize, &(f64, f64))| BoxedWeight {
            number: at as u32,
            site: 0,
            element: at,
            lower: *lower,
            upper: *upper,
        };
        Boxes {
            columns: ends.iter().enumerate().map(column).collect(),
            values: vec![0.3, 0.1, -0.4, 2.0],
            iterates: 1,
        }
    }

    /// The result of a program for one row at one point: the value, the slope of the value, and the
    /// kinks with their slopes.
    type Said = (f64, [f64; 4], Vec<(f64, [f64; 4])>);
    type At = fn(&[f64]) -> Said;

    fn block(at: At, point: &[f64]) -> LocationBlock {
        let (value, slope, kinks) = at(point);
        LocationBlock {
            rows: 1,
            selected: 4,
            location: vec![value],
            slope: slope.to_vec(),
            kinks: kinks.iter().map(|(value, _)| *value).collect(),
            kink_slope: kinks.iter().flat_map(|(_, slope)| *slope).collect(),
            ..LocationBlock::default()
        }
    }

    fn function(at: At) -> LocationFunction {
        let boxes = boxes();
        let places: Vec<usize> = (0..4).collect();
        let sets = Sets::all(&boxes);
        let moved = |moves: Vec<f64>| -> Vec<f64> {
            moves
                .iter()
                .zip(boxes.at(0))
                .map(|(by, value)| value + by)
                .collect()
        };
        let base = block(at, &moved(to_base(&boxes, 0, &sets, 1)));
        let other = block(at, &moved(across(&boxes, 0, &sets, &base)));
        let tolerance = tolerance(Precision::F64);
        let spot = Spot {
            boxes: &boxes,
            places: &places,
            row: 0,
            output: 0,
            tolerance,
        };
        spot.function(&base, &other, false)
    }

    fn value(network: &Network, point: &[f64]) -> f64 {
        let sum = |terms: &[UniformTerm]| -> f64 {
            let weight = |term: &UniformTerm| {
                let boxes = boxes();
                let at = boxes.columns.iter().position(|column| column.lower == term.lower);
                at.map_or(f64::NAN, |at| term.slope * point[at])
            };
            terms.iter().map(weight).sum()
        };
        let units = network
            .units
            .iter()
            .map(|unit| unit.outgoing * (unit.bias + sum(&unit.terms)).max(0.0));
        network.offset + sum(&network.terms) + units.sum::<f64>()
    }

    const CORNERS: [[f64; 4]; 5] = [
        [-1.0, -0.5, -2.0, 0.0],
        [1.0, 2.0, 1.0, 3.0],
        [0.9, -0.5, -1.5, 1.0],
        [-0.9, 1.5, 0.7, 2.0],
        [0.1, 0.2, 0.0, 0.5],
    ];

    /// The function `1 + 2 relu(w0 - w1 / 2 + 0.1) - relu(-w2) + 0.3 w3`. One of its kinks is
    /// listed twice.
    fn apart(w: &[f64]) -> Said {
        let (one, two) = (w[0] - 0.5 * w[1] + 0.1, -w[2]);
        let (a, b) = (f64::from(one > 0.0), f64::from(two > 0.0));
        let value = 1.0 + 2.0 * one.max(0.0) - two.max(0.0) + 0.3 * w[3];
        let kinks = vec![
            (one, [1.0, -0.5, 0.0, 0.0]),
            (w[2], [0.0, 0.0, 1.0, 0.0]),
            (-3.0 * one, [-3.0, 1.5, 0.0, 0.0]),
            // This kink does not cross the box.
            (w[3] + 1.0, [0.0, 0.0, 0.0, 1.0]),
        ];
        (value, [2.0 * a, -a, b, 0.3], kinks)
    }

    #[test]
    fn kinks_with_weights_of_their_own_are_units() {
        let LocationFunction::Network(network) = function(apart) else {
            unreachable!("the kinks share no weights")
        };
        assert_eq!((network.units.len(), network.terms.len()), (2, 1));
        for point in CORNERS {
            let (want, got) = (apart(&point).0, value(&network, &point));
            assert!((want - got).abs() < 1e-12, "{got} is not {want}");
        }
    }

    /// If the function is not flat on either side of a kink, the kink does not belong to a unit.
    /// Two kinks that share a weight do not belong to units either.
    #[test]
    fn kinks_that_are_not_units_are_pieces() {
        let leaky: At = |w| {
            let slope = if w[0] > 0.0 { 1.0 } else { 0.1 };
            (
                slope * w[0],
                [slope, 0.0, 0.0, 0.0],
                vec![(w[0], [1.0, 0.0, 0.0, 0.0])],
            )
        };
        assert_eq!(function(leaky), LocationFunction::Pieces);
        let shared: At = |w| {
            let (one, two) = (w[0] + w[1], w[0] - w[1]);
            let (a, b) = (f64::from(one > 0.0), f64::from(two > 0.0));
            let kinks = vec![(one, [1.0, 1.0, 0.0, 0.0]), (two, [1.0, -1.0, 0.0, 0.0])];
            (one.max(0.0) + two.max(0.0), [a + b, a - b, 0.0, 0.0], kinks)
        };
        assert_eq!(function(shared), LocationFunction::Pieces);
    }

    /// A kink is ignored if the slope of the function does not change there.
    #[test]
    fn a_kink_that_bends_nothing_is_ignored() {
        let straight: At = |w| (2.0, [0.0; 4], vec![(w[0], [1.0, 0.0, 0.0, 0.0])]);
        let flat = Network {
            offset: 2.0,
            terms: Vec::new(),
            units: Vec::new(),
        };
        assert_eq!(function(straight), LocationFunction::Network(flat));
    }
}
