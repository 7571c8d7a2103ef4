//! The precision of the prior of the weights.

use super::NotPositive;
use crate::matrix::Matrix;
use crate::posterior::Cholesky;
use bnnc_kernels::pool::Pool;
use std::f64::consts::TAU;

/// The precision of the prior: the negative second derivative of the log prior density.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// The diagonal of the precision, `[D]`.
    pub precision: Vec<f64>,
    /// The full precision matrix if the weights are dependent under the prior. Only posteriors of the form `Full` use this matrix; other forms use
    /// the diagonal.
    pub dense: Option<Matrix>,
}

impl Prior {
    /// Returns a prior that makes the weights independent, with these precisions.
    pub fn diagonal(precision: Vec<f64>) -> Prior {
        Prior {
            precision,
            dense: None,
        }
    }

    /// Returns a prior that makes the weights dependent, with this precision matrix.
    pub fn dense(matrix: Matrix) -> Prior {
        Prior {
            precision: matrix.diagonal(),
            dense: Some(matrix),
        }
    }

    /// Returns this prior with its precisions multiplied by `factors` `[D]`. A full matrix `P0` becomes `F P0 F`, where the diagonal matrix `F`
    /// holds the square roots of the factors.
    pub fn scaled(&self, factors: &[f64]) -> Prior {
        let roots: Vec<f64> = factors.iter().map(|factor| factor.sqrt()).collect();
        let precision = self
            .precision
            .iter()
            .zip(factors)
            .map(|(precision, factor)| precision * factor);
        let dense = self.dense.as_ref().map(|matrix| {
            let mut matrix = matrix.clone();
            matrix.scale_columns(&roots);
            for (row, root) in roots.iter().enumerate() {
                matrix.row_mut(row).iter_mut().for_each(|value| *value *= root);
            }
            matrix
        });
        Prior {
            precision: precision.collect(),
            dense,
        }
    }

    /// Returns the prior of some of the weights, conditional on the other weights.
    pub fn select(&self, indices: &[usize]) -> Prior {
        let dense = self.dense.as_ref().map(|matrix| {
            let columns = matrix.columns_at(indices);
            let rows = indices.iter().flat_map(|row| columns.row(*row).to_vec());
            Matrix::new(indices.len(), indices.len(), rows.collect())
        });
        Prior {
            precision: indices.iter().map(|index| self.precision[*index]).collect(),
            dense,
        }
    }

    /// Returns terms `[D]` whose sum is `(w - m)' P0 (w - m)`. `slope` is the gradient of the Normal log density, `-P0 (w - m)`. If the weights are
    /// independent, term `d` belongs to weight `d`.
    ///
    /// # Errors
    /// Fails if the prior is not positive definite.
    pub fn scatter(&self, slope: &[f64], pool: &Pool) -> Result<Vec<f64>, NotPositive> {
        let mut rooted = Matrix::from_row(slope);
        self.root(pool)?.forward(&mut rooted, pool);
        Ok(rooted.values.iter().map(|value| value * value).collect())
    }

    /// Returns the log density of a Normal distribution with this precision, `(log det P0 - D log(2 pi) - scatter) / 2`. `slope` is the gradient of
    /// the log density at the point.
    ///
    /// # Errors
    /// Fails if the prior is not positive definite.
    pub fn log_density_of_normal(&self, slope: &[f64], pool: &Pool) -> Result<f64, NotPositive> {
        let scatter: f64 = self.scatter(slope, pool)?.iter().sum();
        let normaliser = self.log_determinant(pool) - slope.len() as f64 * TAU.ln();
        Ok(0.5 * (normaliser - scatter))
    }

    /// Returns a map to coordinates that make the prior standard normal.
    ///
    /// # Errors
    /// Fails if the prior is not positive definite.
    pub(crate) fn root(&self, pool: &Pool) -> Result<PriorRoot, NotPositive> {
        match &self.dense {
            None => {
                NotPositive::check(&self.precision)?;
                Ok(PriorRoot::Diagonal(self.scales()))
            }
            Some(matrix) => Ok(PriorRoot::Dense(Cholesky::new(matrix.clone(), pool)?)),
        }
    }

    /// Returns the prior standard deviations `[D]` of independent weights.
    pub(crate) fn scales(&self) -> Vec<f64> {
        self.precision
            .iter()
            .map(|precision| 1.0 / precision.sqrt())
            .collect()
    }

    /// Returns the log determinant of the diagonal of the precision. The result is finite only if all precisions are positive.
    pub(crate) fn log_determinant_of_diagonal(&self) -> f64 {
        self.precision.iter().map(|precision| precision.ln()).sum()
    }

    /// Returns the log determinant of the precision. The result is not finite if the prior is not positive definite.
    pub(crate) fn log_determinant(&self, pool: &Pool) -> f64 {
        match &self.dense {
            None => self.log_determinant_of_diagonal(),
            Some(matrix) => {
                Cholesky::new(matrix.clone(), pool).map_or(f64::NAN, |factor| factor.log_determinant())
            }
        }
    }
}

/// A map to coordinates that make the prior standard normal.
pub(crate) enum PriorRoot {
    /// The standard deviations of independent weights.
    Diagonal(Vec<f64>),
    /// The Cholesky factor of a full precision matrix.
    Dense(Cholesky),
}

impl PriorRoot {
    /// Replaces each row `j` by the product `j R`, where `R R'` is the covariance of the prior.
    pub(crate) fn forward(&self, rows: &mut Matrix, pool: &Pool) {
        match self {
            PriorRoot::Diagonal(scales) => rows.scale_columns(scales),
            PriorRoot::Dense(factor) => factor.forward(rows, pool),
        }
    }
}
