//! Posteriors whose precision is the prior precision plus the outer products of a few rows.
//!
//! Note [A root by residuals]. Let `A = G P0^-1/2` and `B = (T I + A A')^-1 A`. By Woodbury's identity, the covariance is
//! `P0^-1/2 (I - A' B) P0^-1/2`. The difference `I - A' B` loses digits if the data determine the weights well. The code therefore uses the sum
//! `S S' + T B' B` with `S = I - A' B`. The sum equals `I - A' B`, because `A S = T B` implies `S S + T B' B = S S + B' A S = (S + A' B) S = S`. A
//! draw with this root is a draw from the prior, corrected by its residuals (Matheron's rule).

use super::{Cholesky, Form, GaussianPosterior, Root};
use crate::curvature::{NotPositive, Prior};
use crate::matrix::{Matrix, blocks, dot};
use bnnc_kernels::pool::Pool;
use std::sync::Arc;

/// A posterior in Woodbury form. The root `R` of this posterior consists of the `D` columns of `P0^-1/2 S` and the `M` columns of
/// `T^1/2 P0^-1/2 B'`.
#[derive(Clone, Debug, PartialEq)]
pub struct Woodbury {
    /// The prior standard deviations of the weights, `[D]`.
    pub scales: Vec<f64>,
    /// The matrix `G` `[M, D]`. It is shared with the curvature. Where the matrix `A` is needed, it is computed by scaling `G`.
    pub rows: Arc<Matrix>,
    /// The Cholesky factor of `T I + A A'`.
    pub factor: Cholesky,
    pub temperature: f64,
}

impl Woodbury {
    /// Returns the posterior for the matrix `G` `[M, D]`.
    pub fn posterior(
        rows: Arc<Matrix>,
        prior: &Prior,
        temperature: f64,
        pool: &Pool,
    ) -> Result<GaussianPosterior, NotPositive> {
        NotPositive::check(&prior.precision)?;
        let scales = prior.scales();
        let mut kernel = rows.scaled_outer(&scales, pool);
        kernel.add_diagonal(&vec![temperature; rows.rows]);
        let factor = match Cholesky::new(kernel, pool) {
            Ok(factor) => factor,
            // The pivot belongs to a row of `G`, not to a weight.
            Err(fault) => {
                return Err(NotPositive {
                    element: None,
                    ..fault
                });
            }
        };
        let gain = factor.log_determinant() - rows.rows as f64 * temperature.ln();
        let prior_log_determinant = prior.log_determinant_of_diagonal();
        Ok(GaussianPosterior {
            log_determinant: prior_log_determinant + gain,
            prior_log_determinant,
            form: Form::Woodbury(Woodbury {
                scales,
                rows,
                factor,
                temperature,
            }),
        })
    }

    /// Maps each row `x` to `x A'`.
    fn products(&self, mut rows: Matrix, pool: &Pool) -> Matrix {
        rows.scale_columns(&self.scales);
        rows.product_transposed(&self.rows, pool)
    }

    /// Maps each row `x` to `x B'`.
    fn weights(&self, rows: Matrix, pool: &Pool) -> Matrix {
        let mut weights = self.products(rows, pool);
        self.solve(&mut weights, pool);
        weights
    }

    /// Maps each row `w` to `w A`.
    fn fitted(&self, weights: &Matrix, pool: &Pool) -> Matrix {
        let mut fitted = weights.product(&self.rows, pool);
        fitted.scale_columns(&self.scales);
        fitted
    }

    /// Replaces each row `x` by `x (T I + A A')^-1`.
    fn solve(&self, rows: &mut Matrix, pool: &Pool) {
        self.factor.forward(rows, pool);
        self.factor.backward(rows, pool);
    }
}

impl Root for Woodbury {
    fn elements(&self) -> usize {
        self.scales.len()
    }

    fn noise(&self) -> usize {
        self.scales.len() + self.rows.rows
    }

    fn forward(&self, mut rows: Matrix, pool: &Pool) -> Matrix {
        rows.scale_columns(&self.scales);
        let weights = self.weights(rows.clone(), pool);
        let fitted = self.fitted(&weights, pool);
        let root = self.temperature.sqrt();
        let mut values = Vec::with_capacity(rows.rows * self.noise());
        for row in 0..rows.rows {
            let residuals = rows.row(row).iter().zip(fitted.row(row)).map(|(x, y)| x - y);
            values.extend(residuals);
            values.extend(weights.row(row).iter().map(|weight| root * weight));
        }
        Matrix::new(rows.rows, self.noise(), values)
    }

    fn backward(&self, noise: Matrix, pool: &Pool) -> Matrix {
        let elements = self.elements();
        let root = self.temperature.sqrt();
        let prior = noise.each_row().flat_map(|row| &row[..elements]).copied();
        let mut prior = Matrix::new(noise.rows, elements, prior.collect());
        let mut weights = self.products(prior.clone(), pool);
        for row in 0..noise.rows {
            let pairs = weights.row_mut(row).iter_mut().zip(&noise.row(row)[elements..]);
            pairs.for_each(|(weight, noise)| *weight = root * noise - *weight);
        }
        self.solve(&mut weights, pool);
        let correction = self.fitted(&weights, pool);
        prior
            .values
            .iter_mut()
            .zip(&correction.values)
            .for_each(|(x, y)| *x += y);
        prior.scale_columns(&self.scales);
        prior
    }

    fn variances(&self, pool: &Pool) -> Vec<f64> {
        let (mut trace, mut gains) = (0.0, Vec::with_capacity(self.elements()));
        for range in blocks(self.elements()) {
            let mut part = self.rows.columns_in(range.clone());
            part.scale_columns(&self.scales[range]);
            trace += dot(&part.values, &part.values);
            let mut columns = part.transposed();
            self.factor.forward(&mut columns, pool);
            gains.extend(columns.each_row().map(|column| dot(column, column)));
        }
        // A lower bound on the eigenvalues of S.
        let least = self.temperature / (self.temperature + trace);
        let pairs = self.scales.iter().zip(gains);
        pairs
            .map(|(scale, gain)| scale * scale * (1.0 - gain).max(least))
            .collect()
    }
}
