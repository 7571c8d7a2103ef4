//! Posteriors with a full precision matrix.

use super::{Cholesky, Form, GaussianPosterior, Root};
use crate::curvature::{NotPositive, Prior};
use crate::matrix::{Matrix, dot};
use bnnc_kernels::pool::Pool;

/// A posterior with the precision `P = U'U` and the root `R = U^-1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Full {
    pub factor: Cholesky,
}

impl Full {
    pub fn posterior(
        curvature: &Matrix,
        prior: &Prior,
        temperature: f64,
        pool: &Pool,
    ) -> Result<GaussianPosterior, NotPositive> {
        let mut precision = curvature.clone();
        if temperature != 1.0 {
            precision
                .values
                .iter_mut()
                .for_each(|value| *value /= temperature);
        }
        match &prior.dense {
            None => precision.add_diagonal(&prior.precision),
            Some(dense) => {
                let values = precision.values.iter_mut().zip(&dense.values);
                values.for_each(|(value, prior)| *value += prior);
            }
        }
        let factor = Cholesky::new(precision, pool)?;
        Ok(GaussianPosterior {
            log_determinant: factor.log_determinant(),
            prior_log_determinant: prior.log_determinant(pool),
            form: Form::Full(Full { factor }),
        })
    }
}

impl Root for Full {
    fn elements(&self) -> usize {
        self.factor.upper.rows
    }

    fn noise(&self) -> usize {
        self.factor.upper.rows
    }

    fn forward(&self, mut rows: Matrix, pool: &Pool) -> Matrix {
        self.factor.forward(&mut rows, pool);
        rows
    }

    fn backward(&self, mut noise: Matrix, pool: &Pool) -> Matrix {
        self.factor.backward(&mut noise, pool);
        noise
    }

    fn variances(&self, pool: &Pool) -> Vec<f64> {
        let root = self.factor.inverse_root(pool);
        root.each_row().map(|row| dot(row, row)).collect()
    }
}
