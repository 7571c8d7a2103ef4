//! Distributions with triangular noise, computed as integrals of pieces times a triangle. Between the knots of the pieces and the knots
//! of the triangle, Gauss-Legendre rules are exact.

use super::bernstein::Piece;
use super::measure::Measure;
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;

impl Measure {
    /// Computes the density of the sum of this variable and independent triangular noise with the given radius.
    pub fn triangular_density(&self, position: Twofold, radius: f64) -> f64 {
        let kernel = |distance: f64| (1.0 - distance.abs() / radius).max(0.0) / radius;
        let atoms = self
            .atoms
            .iter()
            .map(|atom| atom.mass * kernel((position - atom.at).value()));
        atoms
            .chain(
                self.pieces
                    .iter()
                    .map(|piece| piece.against(position, radius, 1, kernel)),
            )
            .sum()
    }

    /// Computes the probability that the sum of this variable and independent triangular noise with the given radius is at most
    /// `position`.
    pub fn triangular_below(&self, position: Twofold, radius: f64) -> f64 {
        let kernel = |distance: f64| {
            let part = (1.0 - distance.abs() / radius).max(0.0);
            if distance < 0.0 {
                0.5 * part * part
            } else {
                1.0 - 0.5 * part * part
            }
        };
        let atoms = self
            .atoms
            .iter()
            .map(|atom| atom.mass * kernel((position - atom.at).value()));
        let pieces = self.pieces.iter().map(|piece| {
            let sure = position - Twofold::from(radius);
            let (below, _) = piece.local(sure);
            let whole = match below {
                below if below >= 1.0 => piece.mass(),
                below if below > 0.0 => piece.mass_below(sure),
                _ => 0.0,
            };
            whole + piece.against(position, radius, 2, kernel)
        });
        atoms.chain(pieces).sum()
    }
}

impl Piece {
    /// Integrates the piece times the function `of`. The argument of `of` is the distance to `position`. The integral covers distances
    /// up to `radius`. On each side of 0, the function must be a polynomial of the given degree.
    fn against(&self, position: Twofold, radius: f64, degree: usize, of: impl Fn(f64) -> f64) -> f64 {
        let distance = (position - self.start).value();
        if distance <= -radius || distance - self.width >= radius {
            return 0.0;
        }
        let rule = rule(nodes_for_degree(self.degree() + degree));
        let clamp = |x: f64| x.clamp(0.0, self.width);
        let between = |from: f64, to: f64| {
            if to <= from {
                return 0.0;
            }
            let term = |part: f64| {
                let at = from + (to - from) * part;
                self.at(at / self.width, (1.0 - at / self.width).max(0.0)) * of(distance - at)
            };
            (to - from) * rule.iter().map(|node| node.weight * term(node.at)).sum::<f64>()
        };
        let middle = clamp(distance);
        between(clamp(distance - radius), middle) + between(middle, clamp(distance + radius))
    }
}
