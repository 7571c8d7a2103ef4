//! Convolutions of distributions, and distributions of piecewise linear functions of a variable.

use super::bernstein::{Piece, binomials, interpolate, node};
use super::cumulant::Mass;
use super::measure::{Measure, PointMass};
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;
use super::window::merged;

/// The affine function `offset + slope x` on the interval `[from, to]`. Either end of the interval may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The left end of the interval.
    pub from: f64,
    /// The right end of the interval.
    pub to: f64,
    /// The value of the affine function at 0.
    pub offset: f64,
    /// The slope of the affine function.
    pub slope: f64,
}

impl Segment {
    /// Returns the value of the affine function at a position.
    fn image(&self, position: Twofold) -> Twofold {
        position.times(self.slope) + Twofold::from(self.offset)
    }

    /// Applies the affine function to the part of a piece that lies on the segment, and adds the result to `image`.
    fn push(&self, piece: &Piece, image: &mut Measure) {
        let low = Twofold::from(self.from.max(f64::MIN));
        let high = Twofold::from(self.to.min(f64::MAX));
        let start = if piece.start.order(low).is_lt() {
            low
        } else {
            piece.start
        };
        let end = if piece.end.order(high).is_gt() {
            high
        } else {
            piece.end
        };
        if (end - start).value() <= 0.0 {
            return;
        }
        let part = Piece::new(start, end, piece.restrict(&piece.coefficients, start, end));
        if self.slope == 0.0 {
            image.atoms.push(PointMass {
                at: Twofold::from(self.offset),
                mass: part.mass(),
            });
            return;
        }
        let mut coefficients: Vec<f64> = part.coefficients.iter().map(|c| c / self.slope.abs()).collect();
        let (mut from, mut to) = (self.image(start), self.image(end));
        if self.slope < 0.0 {
            (from, to) = (to, from);
            coefficients.reverse();
        }
        image.pieces.push(Piece::new(from, to, coefficients));
    }
}

impl Measure {
    /// Computes the distribution of a piecewise linear function of a variable with this distribution. The segments must cover the support,
    /// and overlap only at their ends.
    pub fn mapped(&self, segments: &[Segment]) -> Measure {
        let mut image = Measure {
            accuracy: self.accuracy,
            ..Measure::default()
        };
        for atom in &self.atoms {
            let at = atom.at.value();
            if let Some(segment) = segments
                .iter()
                .find(|segment| segment.from <= at && at <= segment.to)
            {
                image.atoms.push(PointMass {
                    at: segment.image(atom.at),
                    mass: atom.mass,
                });
            }
        }
        for segment in segments {
            for piece in &self.pieces {
                segment.push(piece, &mut image);
            }
        }
        image.gathered()
    }

    /// Sorts atoms and pieces, and merges atoms that are at the same position.
    pub fn gathered(self) -> Measure {
        let mut sorted = self.sorted();
        sorted.atoms.dedup_by(|right, left| {
            let same = right.at == left.at;
            if same {
                left.mass += right.mass;
            }
            same
        });
        sorted
    }

    /// Computes the distribution of the sum of two independent variables with these distributions.
    pub fn convolved(&self, other: &Measure) -> Measure {
        let mut sum = Measure {
            accuracy: self.accuracy + other.accuracy,
            ..Measure::default()
        };
        for atom in &self.atoms {
            let moved = other.clone().shifted(atom.at).scaled(atom.mass);
            sum.atoms.extend(moved.atoms);
            sum.pieces.extend(moved.pieces);
        }
        for atom in &other.atoms {
            let pieces = Measure {
                pieces: self.pieces.clone(),
                ..Measure::default()
            };
            sum.pieces
                .extend(pieces.shifted(atom.at).scaled(atom.mass).pieces);
        }
        for left in &self.pieces {
            for right in &other.pieces {
                sum.pieces.extend(convolution(left, right));
            }
        }
        sum.gathered()
    }

    /// Rewrites the density with pieces that do not overlap. The degree of the new pieces is the highest degree of the old pieces.
    pub fn flattened(&self) -> Measure {
        let knots = merged(
            self.pieces
                .iter()
                .flat_map(|piece| [piece.start, piece.end])
                .collect(),
        );
        let degree = self.pieces.iter().map(Piece::degree).max().unwrap_or(0);
        let mut pieces = Vec::new();
        let mut active: Vec<&Piece> = Vec::new();
        let mut coming = self.pieces.iter().peekable();
        for ends in knots.windows(2) {
            let middle = ends[0].midpoint(ends[1]);
            while let Some(piece) = coming.next_if(|piece| (middle - piece.start).value() > 0.0) {
                active.push(piece);
            }
            active.retain(|piece| (piece.end - middle).value() > 0.0);
            if active.is_empty() {
                continue;
            }
            let mut sums = vec![0.0; degree + 1];
            for piece in &active {
                let part = piece.restrict(&piece.coefficients, ends[0], ends[1]);
                let raised = super::bernstein::elevated(&part, degree);
                sums.iter_mut()
                    .zip(raised)
                    .for_each(|(sum, coefficient)| *sum += coefficient);
            }
            pieces.push(Piece::new(ends[0], ends[1], sums));
        }
        Measure {
            atoms: self.atoms.clone(),
            pieces,
            accuracy: self.accuracy,
        }
    }

    /// Discretises the distribution into point masses relative to `origin`, by a Gauss-Legendre rule on panels no longer than `length`. The rule
    /// has `extra` more nodes than the degree of the piece needs, or fewer on short pieces. The number of masses may be very
    /// large, so callers should check [`Measure::count_masses`] first.
    pub fn masses(&self, origin: Twofold, length: f64, extra: usize) -> Vec<Mass> {
        let atoms = self.atoms.iter().map(|atom| Mass {
            at: (atom.at - origin).value(),
            mass: atom.mass,
        });
        let pieces = self.pieces.iter().flat_map(|piece| {
            let (panels, nodes) = resolution(piece, length, extra);
            let start = (piece.start - origin).value();
            let rule = rule(nodes);
            (0..panels as usize).flat_map(move |panel| {
                rule.iter().map(move |node| {
                    let t = (panel as f64 + node.at) / panels;
                    let mass = node.weight * piece.width / panels * piece.at(t, 1.0 - t);
                    Mass {
                        at: start + t * piece.width,
                        mass,
                    }
                })
            })
        });
        atoms.chain(pieces).filter(|mass| mass.mass > 0.0).collect()
    }

    /// Returns an upper bound on the number of masses that [`Measure::masses`] returns.
    pub fn count_masses(&self, length: f64, extra: usize) -> f64 {
        let pieces = self.pieces.iter().map(|piece| {
            let (panels, nodes) = resolution(piece, length, extra);
            panels * nodes as f64
        });
        self.atoms.len() as f64 + pieces.sum::<f64>()
    }

    /// Interpolates a density between two positions by polynomial pieces. Panels are halved until the interpolation has the given relative
    /// accuracy. `near` takes a position, and returns a function that computes the density near it.
    pub fn interpolated<D: Fn(f64) -> f64>(
        near: impl Fn(f64) -> D,
        from: f64,
        to: f64,
        accuracy: f64,
    ) -> Measure {
        let mut pieces = Vec::new();
        let mut open = vec![(from, to, 14)];
        while let Some((from, to, left)) = open.pop() {
            let density = near(0.5 * (from + to));
            let at = |t: f64| density(from + t * (to - from));
            let values: Vec<f64> = (0..INTERPOLATION)
                .map(|index| at(node(index, INTERPOLATION)))
                .collect();
            let piece = Piece::new(Twofold::from(from), Twofold::from(to), interpolate(&values));
            let fits = [0.01, 0.3, 0.77, 0.99].iter().all(|&t| {
                let value = at(t);
                (piece.at(t, 1.0 - t) - value).abs() <= accuracy * value
            });
            if fits || left == 0 {
                pieces.push(piece);
            } else {
                let middle = 0.5 * (from + to);
                open.push((middle, to, left - 1));
                open.push((from, middle, left - 1));
            }
        }
        Measure {
            atoms: Vec::new(),
            pieces,
            accuracy: 10.0 * accuracy,
        }
        .sorted()
    }
}

/// Returns the number of panels into which a piece is divided, and the number of nodes on each panel. A panel is at most `length` long.
fn resolution(piece: &Piece, length: f64, extra: usize) -> (f64, usize) {
    let part = piece.width / length;
    let fewer = match part {
        part if part < 0.05 => 3,
        part if part < 0.3 => 6,
        _ => extra,
    };
    (
        part.ceil().max(1.0),
        nodes_for_degree(piece.degree()) + extra.min(fewer),
    )
}

/// The number of interpolation nodes on a panel.
const INTERPOLATION: usize = 14;

/// Computes the convolution of two pieces. The result has three pieces, and each of its coefficients is a sum of non-negative terms.
///
/// At each position of the result, the product is integrated over the interval where the two factors overlap. Each end of this interval is
/// either fixed or moves with the position. At a fixed fraction of the interval, both factors are therefore polynomials in the position. A
/// quadrature rule that is exact for these polynomials averages over the fractions.
fn convolution(left: &Piece, right: &Piece) -> Vec<Piece> {
    let corners = [
        left.start + right.start,
        left.start + right.end,
        left.end + right.start,
        left.end + right.end,
    ];
    let knots = merged(corners.to_vec());
    let larger = |a: Twofold, b: Twofold| if a.order(b).is_lt() { b } else { a };
    let smaller = |a: Twofold, b: Twofold| if a.order(b).is_lt() { a } else { b };
    let low = |y: Twofold| larger(left.start, y - right.end);
    let high = |y: Twofold| smaller(left.end, y - right.start);
    let degree = left.degree() + right.degree();
    let on = |ends: &[Twofold]| {
        let mut sums = vec![0.0; degree + 2];
        let (low, high) = ([low(ends[0]), low(ends[1])], [high(ends[0]), high(ends[1])]);
        let room = [
            (high[0] - low[0]).value().max(0.0),
            (high[1] - low[1]).value().max(0.0),
        ];
        for node in rule(nodes_for_degree(degree)) {
            let u = [
                low[0] + Twofold::from(room[0] * node.at),
                low[1] + Twofold::from(room[1] * node.at),
            ];
            let first = left.restrict(&left.coefficients, u[0], u[1]);
            let second = right.restrict(&right.coefficients, ends[0] - u[0], ends[1] - u[1]);
            let product = product(&product(&first, &second), &room);
            sums.iter_mut()
                .zip(product)
                .for_each(|(sum, term)| *sum += node.weight * term);
        }
        Piece::new(ends[0], ends[1], sums)
    };
    knots.windows(2).map(on).collect()
}

/// Multiplies two polynomials that are given by their Bernstein coefficients.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (m, n) = (a.len() - 1, b.len() - 1);
    let (rows, columns, all) = (binomials(m), binomials(n), binomials(m + n));
    let mut result = vec![0.0; m + n + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            result[i + j] += rows[i] * x * columns[j] * y;
        }
    }
    result
        .iter_mut()
        .zip(all)
        .for_each(|(coefficient, binomial)| *coefficient /= binomial);
    result
}
