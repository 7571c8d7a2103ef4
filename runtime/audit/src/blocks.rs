//! Variance inflation factors of a posterior precision in which most coefficients belong to levels.
//!
//! A row uses only one level of an index input, so the precision has one small block per level. The remaining coefficients form a border. The blocks
//! are eliminated one by one (Schur complement), so that the work is proportional to the number of levels.

use super::inflation::{Matrix, inverse};
use super::orthogonal::dot;

/// The coefficients of one level.
pub(super) struct Block {
    /// The precision of the coefficients of the level.
    pub own: Matrix,
    /// The precision between a coefficient of the level and each coefficient of the border.
    pub border: Matrix,
}

/// A posterior precision.
pub(super) struct Blocks {
    pub levels: Vec<Block>,
    /// The precision of the coefficients that do not belong to a level.
    pub rest: Matrix,
}

impl Blocks {
    /// Returns a precision of zero, with `levels` blocks of `size` coefficients and `rest` further coefficients.
    pub(super) fn zero(levels: usize, size: usize, rest: usize) -> Blocks {
        let block = || Block {
            own: vec![vec![0.0; size]; size],
            border: vec![vec![0.0; rest]; size],
        };
        Blocks {
            levels: (0..levels).map(|_| block()).collect(),
            rest: vec![vec![0.0; rest]; rest],
        }
    }

    /// Returns the variance inflation factors of the coefficients of each level, and those of the other coefficients. Returns `None` if the precision is
    /// not positive definite.
    pub(super) fn factors(&self) -> Option<(Matrix, Vec<f64>)> {
        let mut schur = self.rest.clone();
        let mut inverses = Vec::new();
        for block in &self.levels {
            let own = inverse(&block.own)?;
            let weights = product(&own, &block.border);
            for (row, border) in weights.iter().zip(&block.border) {
                for (of_row, value) in schur.iter_mut().zip(border) {
                    let pairs = of_row.iter_mut().zip(row);
                    pairs.for_each(|(to, weight)| *to -= value * weight);
                }
            }
            inverses.push((own, weights));
        }
        let rest = inverse(&schur)?;
        let of_level = |(block, (own, weights)): (&Block, &(Matrix, Matrix))| -> Vec<f64> {
            let spread = product(weights, &rest);
            let variance = |at: usize| own[at][at] + dot(&spread[at], &weights[at]);
            (0..own.len())
                .map(|at| block.own[at][at] * variance(at))
                .collect()
        };
        let levels = self.levels.iter().zip(&inverses).map(of_level).collect();
        let of_rest = (0..rest.len()).map(|at| self.rest[at][at] * rest[at][at]);
        Some((levels, of_rest.collect()))
    }
}

/// Returns the product of two matrices.
fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let width = right.first().map_or(0, Vec::len);
    let of_row = |row: &Vec<f64>| {
        let mut sums = vec![0.0; width];
        for (factor, values) in row.iter().zip(right) {
            sums.iter_mut()
                .zip(values)
                .for_each(|(sum, value)| *sum += factor * value);
        }
        sums
    };
    left.iter().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean `m` and effects of `J` levels with `n` rows each, unit noise, prior precisions `p` of the mean and `q` of the effects. The mean given the
    /// effects has the precision `J n + p`. After integration over the effects, it is `p + J n q / (n + q)`.
    #[test]
    fn a_mean_and_effects_of_levels_have_the_factors_of_the_closed_form() {
        let (levels, n, p, q) = (5, 30.0, 0.01, 0.04);
        let mut found = Blocks::zero(levels, 1, 1);
        for block in &mut found.levels {
            block.own[0][0] = n + q;
            block.border[0][0] = n;
        }
        found.rest[0][0] = 5.0 * n + p;
        let (of_levels, of_rest) = found.factors().unwrap();
        let marginal: f64 = p + 5.0 * n * q / (n + q);
        let expected = (5.0 * n + p) / marginal;
        assert!((of_rest[0] / expected - 1.0).abs() < 1e-9);
        // The variance of an effect is its variance given the mean, plus the contribution of the mean.
        let variance = 1.0 / (n + q) + (n / (n + q)).powi(2) / marginal;
        assert!((of_levels[3][0] / (variance * (n + q)) - 1.0).abs() < 1e-9);
    }
}
