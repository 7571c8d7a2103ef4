//! Distributions with Normal noise, computed as integrals of pieces times a Normal kernel.
//!
//! All terms are non-negative, and the largest exponent is subtracted from all exponents. Densities therefore have a small relative error even far
//! out in the tails.

use super::bernstein::Piece;
use super::measure::Measure;
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;
use bnnc_math::special::erfc;
use std::f64::consts::SQRT_2;

/// The logarithm of `sqrt(2 pi)`.
pub const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// Computes `P(Z <= x)` for a standard Normal variable `Z`. The relative error is small in the lower tail.
pub fn normal_below(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// Computes the log density of `Normal(0, sd)` at `x`.
pub fn normal_log_density(x: f64, sd: f64) -> f64 {
    let scaled = x / sd;
    -0.5 * scaled * scaled - sd.ln() - LOG_ROOT_TWO_PI
}

impl Measure {
    /// Computes the log density of the sum of this variable and an independent `Normal(0, sd)`. `sd` must be positive.
    pub fn smoothed_log_density(&self, position: Twofold, sd: f64) -> f64 {
        let top = self.nearest(position, sd);
        let atoms = self.atoms.iter().map(|atom| {
            let scaled = (position - atom.at).value() / sd;
            atom.mass * (-0.5 * scaled * scaled - top).exp()
        });
        let pieces = self.pieces.iter().map(|piece| {
            let (left, right) = ((position - piece.start).value(), (piece.end - position).value());
            let mut sum = 0.0;
            if right > 0.0 {
                sum += Ray {
                    near: (-left).max(0.0),
                    room: right.min(piece.width),
                    forward: true,
                    sd,
                    top,
                }
                .integral(piece);
            }
            if left > 0.0 {
                sum += Ray {
                    near: (-right).max(0.0),
                    room: left.min(piece.width),
                    forward: false,
                    sd,
                    top,
                }
                .integral(piece);
            }
            sum
        });
        let sum: f64 = atoms.chain(pieces).sum();
        sum.ln() + top - sd.ln() - LOG_ROOT_TWO_PI
    }

    /// Returns the largest exponent among all atoms and pieces. The exponent of an atom or a piece is the exponent of the kernel at its nearest
    /// point, plus the logarithm of its mass. Without the mass, an atom or a piece that is near but has a tiny mass would determine the scale.
    fn nearest(&self, position: Twofold, sd: f64) -> f64 {
        let exponent = |distance: f64, mass: f64| {
            let scaled = distance / sd;
            (mass > 0.0).then(|| -0.5 * scaled * scaled + mass.max(LEAST).ln())
        };
        let atoms = self
            .atoms
            .iter()
            .map(|atom| exponent((position - atom.at).value(), atom.mass));
        let pieces = self.pieces.iter().map(|piece| {
            let (left, right) = ((position - piece.start).value(), (piece.end - position).value());
            exponent((-left).max(-right).max(0.0), piece.mass())
        });
        atoms.chain(pieces).flatten().fold(f64::MIN, f64::max)
    }

    /// Computes the probability that the sum of this variable and an independent `Normal(0, sd)` is at most `position`.
    pub fn smoothed_below(&self, position: Twofold, sd: f64) -> f64 {
        let atoms = self
            .atoms
            .iter()
            .map(|atom| atom.mass * normal_below((position - atom.at).value() / sd));
        let pieces = self.pieces.iter().map(|piece| {
            let (left, right) = ((position - piece.start).value(), (piece.end - position).value());
            if left < -REACH * sd {
                0.0
            } else if -right > REACH * sd {
                piece.mass()
            } else {
                piece.smoothed_below(left, right, sd)
            }
        });
        atoms.chain(pieces).sum()
    }
}

/// Smaller masses are replaced by this value before their logarithm is taken, so that exponentials of the results stay finite.
const LEAST: f64 = 1e-280;
/// Beyond this number of standard deviations, the mass of a Normal variable is treated as zero, because it is below the resolution of `f64`.
const REACH: f64 = 9.0;

impl Piece {
    /// Computes the contribution of the piece to `Measure::smoothed_below`. Where the kernel's probability is 0 up to rounding, the piece
    /// contributes nothing. Where it is 1, the mass of the piece is added. Everywhere else, the piece is integrated in panels of one and a half
    /// standard deviations.
    fn smoothed_below(&self, left: f64, right: f64, sd: f64) -> f64 {
        let from = (left - REACH * sd).max(0.0);
        let to = (left + REACH * sd).min(self.width);
        let whole = if from > 0.0 {
            self.mass_below(self.start + Twofold::from(from))
        } else {
            0.0
        };
        let panels = ((to - from) / (1.5 * sd)).ceil().max(1.0);
        let length = (to - from) / panels;
        let rule = rule(self.degree() / 2 + 12);
        let mut sum = 0.0;
        for panel in 0..panels as usize {
            for node in rule {
                let at = from + length * (panel as f64 + node.at);
                let t = at / self.width;
                let gap = if t < 0.5 {
                    left - at
                } else {
                    (self.width - at) - right
                };
                sum += node.weight * self.at(t, 1.0 - t) * normal_below(gap / sd);
            }
        }
        whole + length * sum
    }
}

/// The part of a piece on one side of the kernel's centre. The kernel decreases with the distance from this centre.
struct Ray {
    near: f64,
    room: f64,
    forward: bool,
    sd: f64,
    top: f64,
}

impl Ray {
    /// Integrates the piece times `exp(-distance^2 / (2 sd^2) - top)` along the ray.
    fn integral(&self, piece: &Piece) -> f64 {
        let (near, sd) = (self.near / self.sd, self.sd);
        let drop = 42.0 + 4.0 * piece.degree() as f64;
        let start = -0.5 * near * near - self.top;
        if start < -drop {
            return 0.0;
        }
        let full = 2.0 * drop / (near + (near * near + 2.0 * drop).sqrt());
        let length = full.min(self.room / sd);
        let fall = length * (near + 0.5 * length);
        let panels = (fall / 12.0).ceil().max(1.0);
        let extra = match fall / panels {
            fall if fall < 0.1 => 4,
            fall if fall < 1.0 => 6,
            fall if fall < 3.0 => 8,
            _ => 13,
        };
        let rule = rule(nodes_for_degree(piece.degree()) + extra);
        let panel = length / panels;
        let origin = self.origin(piece);
        let mut sum = 0.0;
        for index in 0..panels as usize {
            for node in rule {
                let s = panel * (index as f64 + node.at);
                let value = self.value(piece, origin, s * sd);
                sum += node.weight * value * (start - s * (near + 0.5 * s)).exp();
            }
        }
        sum * panel * sd
    }

    /// Returns the distance between the start of the ray and the end of the piece at which the ray leaves it.
    fn origin(&self, piece: &Piece) -> f64 {
        piece.width - self.room
    }

    /// Evaluates the piece at the distance `along` on the ray.
    fn value(&self, piece: &Piece, origin: f64, along: f64) -> f64 {
        let behind = (origin + along) / piece.width;
        let ahead = ((self.room - along) / piece.width).max(0.0);
        if self.forward {
            piece.at(behind, ahead)
        } else {
            piece.at(ahead, behind)
        }
    }
}
