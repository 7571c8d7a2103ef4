//! Metrics: linear maps to coordinates that make a posterior approximately round, and their estimation.
//!
//! Note \[Whitening\]. A metric is stored as a matrix `L`, where `L L'` is the inverse mass matrix, an estimate of the posterior covariance. Momenta
//! are stored as `p = L' (momentum)`. For every metric, a fresh `p` is therefore standard normal. The kinetic energy is `|p|^2 / 2`, and the U-turn
//! criterion uses plain dot products. Gradients are stored as `L' gradient`. `L` is only used to move a position (`position += step L p`) and to
//! whiten a new gradient.

use crate::vector::{add_scaled, dot, product};
use serde::{Deserialize, Serialize};

/// A metric: see Note \[Whitening\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Whitening {
    /// `L` is the identity.
    Unit,
    /// `L` is diagonal and holds standard deviations.
    Diagonal(Vec<f64>),
    /// `L` is lower triangular, row-major, `[d * d]`. The elements above the diagonal are not used.
    Dense(Vec<f64>),
}

impl Whitening {
    /// Returns whether the metric applies to vectors of this dimension.
    pub fn fits(&self, dimension: usize) -> bool {
        match self {
            Whitening::Unit => true,
            Whitening::Diagonal(scale) => scale.len() == dimension,
            Whitening::Dense(factor) => dimension.checked_mul(dimension) == Some(factor.len()),
        }
    }

    /// Returns `L L'`. A diagonal metric returns only the diagonal. The identity returns an empty vector.
    pub fn inverse_metric(&self) -> Vec<f64> {
        match self {
            Whitening::Unit => Vec::new(),
            Whitening::Diagonal(scale) => scale.iter().map(|scale| scale * scale).collect(),
            Whitening::Dense(factor) => {
                let dimension = factor.len().isqrt();
                let row = |at: usize| &factor[at * dimension..][..=at];
                let element = |at: usize| {
                    let (one, other) = (at / dimension, at % dimension);
                    let shared = one.min(other);
                    dot(&row(one)[..=shared], &row(other)[..=shared])
                };
                (0..factor.len()).map(element).collect()
            }
        }
    }

    /// Writes `from + step L momentum`.
    pub fn drift(&self, out: &mut [f64], from: &[f64], step: f64, momentum: &[f64]) {
        match self {
            Whitening::Unit => crate::vector::sum_scaled(out, from, step, momentum),
            Whitening::Diagonal(scale) => {
                for (((out, from), scale), momentum) in out.iter_mut().zip(from).zip(scale).zip(momentum) {
                    *out = from + step * (scale * momentum);
                }
            }
            Whitening::Dense(factor) => {
                let rows = factor.chunks_exact(from.len().max(1));
                for (at, ((out, from), row)) in out.iter_mut().zip(from).zip(rows).enumerate() {
                    *out = from + step * dot(&row[..=at], &momentum[..=at]);
                }
            }
        }
    }

    /// Writes `L' gradient`.
    pub fn pull(&self, out: &mut [f64], gradient: &[f64]) {
        match self {
            Whitening::Unit => out.copy_from_slice(gradient),
            Whitening::Diagonal(scale) => product(out, scale, gradient),
            Whitening::Dense(factor) => {
                out.fill(0.0);
                let rows = factor.chunks_exact(gradient.len().max(1));
                for (at, (row, slope)) in rows.zip(gradient).enumerate() {
                    add_scaled(&mut out[..=at], *slope, &row[..=at]);
                }
            }
        }
    }

    /// Applies the inverse of [`Whitening::pull`], in place.
    pub fn unpull(&self, gradient: &mut [f64]) {
        match self {
            Whitening::Unit => {}
            Whitening::Diagonal(scale) => {
                for (slope, scale) in gradient.iter_mut().zip(scale) {
                    *slope /= scale;
                }
            }
            Whitening::Dense(factor) => {
                let dimension = gradient.len();
                for at in (0..dimension).rev() {
                    let row = &factor[at * dimension..][..=at];
                    gradient[at] /= row[at];
                    let solved = gradient[at];
                    add_scaled(&mut gradient[..at], -solved, &row[..at]);
                }
            }
        }
    }
}

/// The mean and the squared deviations of positions. The positions are added one by one (Welford 1962).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningMoments {
    count: u64,
    mean: Vec<f64>,
    /// The sum of squared deviations of each element. If `dense` is true, the sum of the products of deviations for each pair of elements, as a
    /// row-major lower triangle.
    spread: Vec<f64>,
    dense: bool,
    deviation: Vec<f64>,
}

impl RunningMoments {
    /// Creates moments without any positions.
    pub fn new(dimension: usize, dense: bool) -> RunningMoments {
        RunningMoments {
            count: 0,
            mean: vec![0.0; dimension],
            spread: vec![0.0; if dense { dimension * dimension } else { dimension }],
            dense,
            deviation: vec![0.0; dimension],
        }
    }

    /// Returns the dimension of the positions.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// Returns the number of positions that were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether the moments belong to a chain with this number of dimensions.
    pub fn fits(&self, dimension: usize) -> bool {
        let spread = if self.dense {
            dimension.checked_mul(dimension)
        } else {
            Some(dimension)
        };
        self.mean.len() == dimension && self.deviation.len() == dimension && spread == Some(self.spread.len())
    }

    /// Removes all positions.
    pub fn clear(&mut self) {
        self.count = 0;
        self.mean.fill(0.0);
        self.spread.fill(0.0);
    }

    /// Adds a position.
    pub fn add(&mut self, position: &[f64]) {
        self.count += 1;
        let weight = 1.0 / self.count as f64;
        for ((deviation, mean), value) in self.deviation.iter_mut().zip(&mut self.mean).zip(position) {
            *deviation = value - *mean;
            *mean += weight * *deviation;
        }
        let shrunk = 1.0 - weight;
        if self.dense {
            let dimension = position.len().max(1);
            for (at, row) in self.spread.chunks_exact_mut(dimension).enumerate() {
                add_scaled(
                    &mut row[..=at],
                    shrunk * self.deviation[at],
                    &self.deviation[..=at],
                );
            }
        } else {
            for (spread, deviation) in self.spread.iter_mut().zip(&self.deviation) {
                *spread += shrunk * deviation * deviation;
            }
        }
    }

    /// Returns the variance of one element of the positions.
    pub fn variance(&self, at: usize) -> f64 {
        let sum = if self.dense {
            self.spread[at * self.mean.len() + at]
        } else {
            self.spread[at]
        };
        sum / (self.count.max(2) - 1) as f64
    }

    /// Writes the metric for these moments. Variances (or covariances) are shrunk towards 0.001, as if there were five additional positions with
    /// this variance (Stan, `var_adaptation` and `covar_adaptation`). If the moments do not give a valid metric, the old metric is kept.
    pub fn estimate(&self, whitening: &mut Whitening) {
        if self.count < 2 {
            return;
        }
        let count = self.count as f64;
        let factor = count / ((count + 5.0) * (count - 1.0));
        let added = 1e-3 * 5.0 / (count + 5.0);
        match whitening {
            Whitening::Unit => {}
            Whitening::Diagonal(scale) => {
                for (at, scale) in scale.iter_mut().enumerate() {
                    let variance = factor * self.spread[at] + added;
                    if variance.is_finite() {
                        *scale = variance.sqrt();
                    }
                }
            }
            Whitening::Dense(lower) => {
                let dimension = self.mean.len();
                let mut covariance: Vec<f64> = self.spread.iter().map(|sum| factor * sum).collect();
                for at in 0..dimension {
                    covariance[at * dimension + at] += added;
                }
                if cholesky(&mut covariance, dimension) {
                    lower.copy_from_slice(&covariance);
                }
            }
        }
    }
}

impl RunningMoments {
    /// Reduces all correlations by the fraction `share`, and writes the Cholesky factor of the resulting covariance. If the matrix is not positive
    /// definite, `factor` keeps its old values. The moments must be dense and must include at least two positions.
    pub fn correlate(&self, factor: &mut [f64], share: f64) {
        let (dimension, degrees) = (self.mean.len(), (self.count - 1) as f64);
        let kept = (1.0 - share) / degrees;
        let mut covariance: Vec<f64> = self.spread.iter().map(|sum| sum * kept).collect();
        for at in 0..dimension {
            covariance[at * dimension + at] = self.variance(at);
        }
        if cholesky(&mut covariance, dimension) {
            factor.copy_from_slice(&covariance);
        }
    }

    /// Returns the fraction by which to shrink all correlations so that the expected error is smallest. It is the sum of the variances of the
    /// correlations, divided by the sum of the squared correlations, and at most 1. The variance of a correlation `r` is
    /// `(1 - r^2)^2 / (n - 1)` for `n` normal draws (Schaefer and Strimmer 2005, Statistical Applications in Genetics and Molecular Biology 4(1),
    /// 32). The moments must be dense and must include at least two positions.
    pub fn noise(&self) -> f64 {
        let (dimension, degrees) = (self.mean.len(), (self.count - 1) as f64);
        let (mut variances, mut squares) = (0.0, 0.0);
        for i in 1..dimension {
            let row = &self.spread[i * dimension..][..=i];
            for (j, product) in row[..i].iter().enumerate() {
                let square = product * product / (row[i] * self.spread[j * dimension + j]);
                // The correlation with a constant quantity is not defined.
                if square.is_finite() {
                    variances += (1.0 - square).powi(2) / degrees;
                    squares += square;
                }
            }
        }
        (variances / squares).min(1.0)
    }
}

/// Replaces the lower triangle of a symmetric matrix by its Cholesky factor. Returns false if the matrix is not positive definite.
pub fn cholesky(matrix: &mut [f64], dimension: usize) -> bool {
    for row in 0..dimension {
        let (above, below) = matrix.split_at_mut(row * dimension);
        for column in 0..row {
            let known = &above[column * dimension..][..=column];
            let rest = below[column] - dot(&known[..column], &below[..column]);
            below[column] = rest / known[column];
        }
        let pivot = below[row] - dot(&below[..row], &below[..row]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        below[row] = pivot.sqrt();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor `L = [[2, 0, 0], [1, 3, 0], [-1, 0.5, 1]]`, and its product `L L'`.
    const FACTOR: [f64; 9] = [2.0, 0.0, 0.0, 1.0, 3.0, 0.0, -1.0, 0.5, 1.0];
    const PRODUCT: [f64; 9] = [4.0, 2.0, -2.0, 2.0, 10.0, 0.5, -2.0, 0.5, 2.25];

    #[test]
    fn cholesky_finds_the_factor_of_a_product() {
        let mut matrix = PRODUCT;
        assert!(cholesky(&mut matrix, 3));
        for row in 0..3 {
            for column in 0..=row {
                assert!((matrix[row * 3 + column] - FACTOR[row * 3 + column]).abs() < 1e-14);
            }
        }
        assert!(!cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2));
        assert!(!cholesky(&mut [f64::NAN], 1));
    }

    #[test]
    fn maps_agree_with_the_matrix() {
        let whitening = Whitening::Dense(FACTOR.to_vec());
        let mut out = [0.0; 3];
        whitening.drift(&mut out, &[10.0, 20.0, 30.0], 2.0, &[1.0, -1.0, 3.0]);
        assert_eq!(out, [14.0, 16.0, 33.0]);
        assert_eq!(whitening.inverse_metric(), PRODUCT);
        assert_eq!(Whitening::Diagonal(vec![2.0, 0.5]).inverse_metric(), [4.0, 0.25]);
        assert!(Whitening::Unit.inverse_metric().is_empty());
        whitening.pull(&mut out, &[1.0, -1.0, 3.0]);
        assert_eq!(out, [-2.0, -1.5, 3.0]);
        whitening.unpull(&mut out);
        for (got, want) in out.iter().zip([1.0, -1.0, 3.0]) {
            assert!((got - want).abs() < 1e-14);
        }
        let whitening = Whitening::Diagonal(vec![2.0, 4.0]);
        let mut out = [0.0; 2];
        whitening.drift(&mut out, &[1.0, 1.0], 0.5, &[1.0, -1.0]);
        assert_eq!(out, [2.0, -1.0]);
        whitening.pull(&mut out, &[1.0, -1.0]);
        assert_eq!(out, [2.0, -4.0]);
        whitening.unpull(&mut out);
        assert_eq!(out, [1.0, -1.0]);
    }

    /// For the positions (1, 2), (3, 1) and (5, 6), the correlation is `4 / sqrt(28)`, so its square is 4 / 7. The noise is `(3 / 7)^2 / 2` divided
    /// by 4 / 7, which is 9 / 56.
    #[test]
    fn correlations_are_shrunk_in_proportion_to_their_noise() {
        let mut moments = RunningMoments::new(2, true);
        [[1.0, 2.0], [3.0, 1.0], [5.0, 6.0]]
            .iter()
            .for_each(|row| moments.add(row));
        assert!((moments.noise() - 9.0 / 56.0).abs() < 1e-14);
        let mut factor = [0.0; 4];
        moments.correlate(&mut factor, 0.25);
        let product = [
            factor[0] * factor[0],
            factor[0] * factor[2],
            factor[2] * factor[2] + factor[3] * factor[3],
        ];
        for (found, wanted) in product.iter().zip([4.0, 3.0, 7.0]) {
            assert!((found - wanted).abs() < 1e-14, "{product:?}");
        }
        // Two constant quantities do not have a correlation that could be shrunk.
        let mut moments = RunningMoments::new(2, true);
        [[1.0, 2.0], [1.0, 1.0], [1.0, 6.0]]
            .iter()
            .for_each(|row| moments.add(row));
        assert_eq!(moments.noise(), 1.0);
    }

    /// For the positions (1, 2), (3, 1) and (5, 6), the variances are 4 and 7 and the covariance is 4. The estimate averages over eight positions:
    /// these three, and five positions with the variance towards which the estimate shrinks.
    #[test]
    fn estimates_are_regularised_moments() {
        let rows = [[1.0, 2.0], [3.0, 1.0], [5.0, 6.0]];
        for dense in [false, true] {
            let mut moments = RunningMoments::new(2, dense);
            rows.iter().for_each(|row| moments.add(row));
            assert!((moments.variance(0) - 4.0).abs() < 1e-12);
            assert!((moments.variance(1) - 7.0).abs() < 1e-12);
            let want = |value: f64, added: f64| 3.0 / 8.0 * value + added * 1e-3 * 5.0 / 8.0;
            let mut whitening = if dense {
                Whitening::Dense(vec![0.0; 4])
            } else {
                Whitening::Diagonal(vec![0.0; 2])
            };
            moments.estimate(&mut whitening);
            match whitening {
                Whitening::Dense(lower) => {
                    assert!((lower[0] * lower[0] - want(4.0, 1.0)).abs() < 1e-12);
                    assert!((lower[0] * lower[2] - want(4.0, 0.0)).abs() < 1e-12);
                    assert!((lower[2] * lower[2] + lower[3] * lower[3] - want(7.0, 1.0)).abs() < 1e-12);
                }
                Whitening::Diagonal(scale) => {
                    assert!((scale[0] * scale[0] - want(4.0, 1.0)).abs() < 1e-12);
                    assert!((scale[1] * scale[1] - want(7.0, 1.0)).abs() < 1e-12);
                }
                Whitening::Unit => unreachable!("not made here"),
            }
        }
    }
}
