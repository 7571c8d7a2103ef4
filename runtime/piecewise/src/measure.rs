//! Distributions on the real line that consist of atoms and of piecewise polynomial densities.

use super::bernstein::{Piece, bernstein};
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;

/// A mass at one position.
#[derive(Clone, Copy, Debug)]
pub struct PointMass {
    /// The position of the mass.
    pub at: Twofold,
    /// The mass.
    pub mass: f64,
}

/// A measure that consists of atoms and pieces of a density. Pieces may overlap, and the density is their sum.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// The atoms, each with a position and a mass.
    pub atoms: Vec<PointMass>,
    /// The pieces of the density. After [`Measure::sorted`], the pieces are in the order of their left ends.
    pub pieces: Vec<Piece>,
    /// A bound on the relative error of pieces that were interpolated. The bound does not include rounding errors.
    pub accuracy: f64,
}

impl Measure {
    /// Creates a distribution with all mass at one position.
    pub fn point(at: Twofold) -> Measure {
        Measure {
            atoms: vec![PointMass { at, mass: 1.0 }],
            ..Measure::default()
        }
    }

    /// Creates a distribution with equal masses at the given positions. There must be at least one position.
    pub fn of_points(positions: &[f64]) -> Measure {
        let mass = 1.0 / positions.len().max(1) as f64;
        let atom = |at: &f64| PointMass {
            at: Twofold::from(*at),
            mass,
        };
        Measure {
            atoms: positions.iter().map(atom).collect(),
            ..Measure::default()
        }
    }

    /// Computes the distribution of a position plus independent uniforms on `[0, width]`. The result is the box spline of the
    /// widths, computed by averaging the density over a sliding window for each width.
    pub fn uniforms(start: Twofold, widths: &[f64]) -> Measure {
        widths
            .iter()
            .fold(Measure::point(start), |sum, &width| sum.plus_uniform(width))
    }

    /// Sorts the pieces by their left ends, and the atoms by their positions.
    pub fn sorted(mut self) -> Measure {
        self.pieces.sort_by(|a, b| a.start.order(b.start));
        self.atoms.sort_by(|a, b| a.at.order(b.at));
        self
    }

    /// Computes the density at a position. Atoms are ignored. At a jump, the result is the mean of the densities on both sides.
    pub fn density(&self, position: Twofold) -> f64 {
        self.pieces
            .iter()
            .map(|piece| piece.part(position) * piece.value(position))
            .sum()
    }

    /// Returns whether an atom is at a position.
    pub fn has_atom(&self, position: Twofold) -> bool {
        self.atoms.iter().any(|atom| atom.at == position)
    }

    /// Returns the mass at and below a position.
    pub fn below(&self, position: Twofold) -> f64 {
        let atoms = self
            .atoms
            .iter()
            .filter(|atom| (position - atom.at).value() >= 0.0)
            .map(|atom| atom.mass);
        let pieces = self.pieces.iter().map(|piece| {
            if (position - piece.end).value() >= 0.0 {
                piece.mass()
            } else if (position - piece.start).value() <= 0.0 {
                0.0
            } else {
                piece.mass_below(position)
            }
        });
        atoms.chain(pieces).sum()
    }

    /// Returns the mass above a position, without the position itself.
    pub fn above(&self, position: Twofold) -> f64 {
        let atoms = self
            .atoms
            .iter()
            .filter(|atom| (position - atom.at).value() < 0.0)
            .map(|atom| atom.mass);
        let pieces = self.pieces.iter().map(|piece| {
            let (t, rest) = piece.local(position);
            if t <= 0.0 {
                piece.mass()
            } else if rest <= 0.0 {
                0.0
            } else {
                bernstein(&piece.to_end(), t, rest)
            }
        });
        atoms.chain(pieces).sum()
    }

    /// Returns the total mass.
    pub fn mass(&self) -> f64 {
        let atoms: f64 = self.atoms.iter().map(|atom| atom.mass).sum();
        atoms + self.pieces.iter().map(Piece::mass).sum::<f64>()
    }

    /// Integrates the function `of` over the distribution. On every piece, the function must be a polynomial of at most the given
    /// degree.
    pub fn expectation(&self, degree: usize, of: impl Fn(f64) -> f64) -> f64 {
        let atoms: f64 = self
            .atoms
            .iter()
            .map(|atom| atom.mass * of(atom.at.value()))
            .sum();
        let pieces = self.pieces.iter().map(|piece| {
            let rule = rule(nodes_for_degree(piece.degree() + degree));
            let at = |t: f64| of(piece.start.value() + t * piece.width);
            piece.width
                * rule
                    .iter()
                    .map(|n| n.weight * piece.at(n.at, 1.0 - n.at) * at(n.at))
                    .sum::<f64>()
        });
        atoms + pieces.sum::<f64>()
    }

    /// Returns the mean and the variance of the distribution after normalising its mass to 1.
    pub fn moments(&self) -> (f64, f64) {
        let mass = self.mass();
        let mean = self.expectation(1, |x| x) / mass;
        (mean, self.expectation(2, |x| (x - mean) * (x - mean)) / mass)
    }

    /// Returns the two ends of the support.
    pub fn support(&self) -> (f64, f64) {
        let atoms = self.atoms.iter().map(|atom| (atom.at.value(), atom.at.value()));
        let pieces = self
            .pieces
            .iter()
            .map(|piece| (piece.start.value(), piece.end.value()));
        atoms
            .chain(pieces)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (from, to)| {
                (low.min(from), high.max(to))
            })
    }

    /// Shifts all atoms and pieces by a distance.
    pub fn shifted(mut self, by: Twofold) -> Measure {
        self.atoms.iter_mut().for_each(|atom| atom.at = atom.at + by);
        self.pieces.iter_mut().for_each(|piece| {
            piece.start = piece.start + by;
            piece.end = piece.end + by;
        });
        self
    }

    /// Multiplies all masses by a number.
    pub fn scaled(mut self, factor: f64) -> Measure {
        self.atoms.iter_mut().for_each(|atom| atom.mass *= factor);
        self.pieces
            .iter_mut()
            .flat_map(|piece| &mut piece.coefficients)
            .for_each(|c| *c *= factor);
        self
    }
}

impl Piece {
    /// Returns two numbers: the fraction of the piece to the left of a position, and the fraction to its right.
    pub fn local(&self, position: Twofold) -> (f64, f64) {
        (
            (position - self.start).value() / self.width,
            (self.end - position).value() / self.width,
        )
    }

    /// Returns 1 if the position is inside the piece, one half if it is at an end, and 0 if it is outside.
    fn part(&self, position: Twofold) -> f64 {
        let (t, rest) = self.local(position);
        match t.min(rest) {
            inside if inside > 0.0 => 1.0,
            0.0 => 0.5,
            _ => 0.0,
        }
    }
}
