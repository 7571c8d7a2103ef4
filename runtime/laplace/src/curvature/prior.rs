//! The precision of the prior.

use super::NotPositive;
use crate::matrix::Matrix;
use crate::posterior::Cholesky;
use bnnc_kernels::pool::Pool;
use std::f64::consts::TAU;

/// The precision of the prior: minus the second derivative of its log density.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Its diagonal `[D]`.
    pub precision: Vec<f64>,
    /// The whole matrix, where elements depend on each other. Only full posteriors use it; other forms take the diagonal.
    pub dense: Option<Matrix>,
}

impl Prior {
    /// Independent elements of these precisions.
    pub fn diagonal(precision: Vec<f64>) -> Prior {
        Prior {
            precision,
            dense: None,
        }
    }

    /// Elements that depend on each other.
    pub fn dense(matrix: Matrix) -> Prior {
        Prior {
            precision: matrix.diagonal(),
            dense: Some(matrix),
        }
    }

    /// The prior with factors `[D]` on the precisions of elements: the matrix `P0` becomes `F P0 F` with the roots of the factors in `F`.
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

    /// The prior of some of the weights, given the others.
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

    /// Numbers `[D]` with the sum `(w - m)' P0 (w - m)`, from the slope `-P0 (w - m)` of a Normal log density; of independent elements, those of
    /// each element.
    ///
    /// # Errors
    /// Where the prior is not positive definite.
    pub fn scatter(&self, slope: &[f64], pool: &Pool) -> Result<Vec<f64>, NotPositive> {
        let mut rooted = Matrix::from_row(slope);
        self.root(pool)?.forward(&mut rooted, pool);
        Ok(rooted.values.iter().map(|value| value * value).collect())
    }

    /// The log density of a Normal distribution with this precision, where that has this slope: `(log det P0 - D log(2 pi) - scatter) / 2`.
    ///
    /// # Errors
    /// Where the prior is not positive definite.
    pub fn log_density_of_normal(&self, slope: &[f64], pool: &Pool) -> Result<f64, NotPositive> {
        let scatter: f64 = self.scatter(slope, pool)?.iter().sum();
        let normaliser = self.log_determinant(pool) - slope.len() as f64 * TAU.ln();
        Ok(0.5 * (normaliser - scatter))
    }

    /// Its whitening.
    ///
    /// # Errors
    /// Where the prior is not positive definite.
    pub(crate) fn root(&self, pool: &Pool) -> Result<PriorRoot, NotPositive> {
        match &self.dense {
            None => {
                NotPositive::check(&self.precision)?;
                Ok(PriorRoot::Diagonal(self.scales()))
            }
            Some(matrix) => Ok(PriorRoot::Dense(Cholesky::new(matrix.clone(), pool)?)),
        }
    }

    /// The standard deviations `[D]` of independent elements.
    pub(crate) fn scales(&self) -> Vec<f64> {
        self.precision
            .iter()
            .map(|precision| 1.0 / precision.sqrt())
            .collect()
    }

    /// The log determinant of the diagonal; not finite where that is not positive.
    pub(crate) fn log_determinant_of_diagonal(&self) -> f64 {
        self.precision.iter().map(|precision| precision.ln()).sum()
    }

    /// The log determinant; not finite where the prior is not positive definite.
    pub(crate) fn log_determinant(&self, pool: &Pool) -> f64 {
        match &self.dense {
            None => self.log_determinant_of_diagonal(),
            Some(matrix) => {
                Cholesky::new(matrix.clone(), pool).map_or(f64::NAN, |factor| factor.log_determinant())
            }
        }
    }
}

/// A map to coordinates in which the prior is standard.
pub(crate) enum PriorRoot {
    /// Standard deviations.
    Diagonal(Vec<f64>),
    /// A factor of the precision.
    Dense(Cholesky),
}

impl PriorRoot {
    /// Rows `j` become `j R` with `R R'` the covariance of the prior.
    pub(crate) fn forward(&self, rows: &mut Matrix, pool: &Pool) {
        match self {
            PriorRoot::Diagonal(scales) => rows.scale_columns(scales),
            PriorRoot::Dense(factor) => factor.forward(rows, pool),
        }
    }
}
