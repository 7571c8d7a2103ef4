//! Posteriors with a diagonal precision.

use super::{Form, GaussianPosterior, Root};
use crate::curvature::{NotPositive, Prior};
use crate::matrix::Matrix;
use bnnc_kernels::pool::Pool;

/// A diagonal posterior. Its root `R` is the diagonal matrix of the standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonal {
    pub deviations: Vec<f64>,
}

impl Diagonal {
    pub fn posterior(
        curvature: &[f64],
        prior: &Prior,
        temperature: f64,
    ) -> Result<GaussianPosterior, NotPositive> {
        let pairs = curvature.iter().zip(&prior.precision);
        let precision: Vec<f64> = pairs
            .map(|(curvature, prior)| curvature / temperature + prior)
            .collect();
        NotPositive::check(&precision)?;
        let deviations = precision.iter().map(|precision| 1.0 / precision.sqrt()).collect();
        Ok(GaussianPosterior {
            form: Form::Diagonal(Diagonal { deviations }),
            log_determinant: precision.iter().map(|precision| precision.ln()).sum(),
            prior_log_determinant: prior.log_determinant_of_diagonal(),
        })
    }
}

impl Root for Diagonal {
    fn elements(&self) -> usize {
        self.deviations.len()
    }

    fn noise(&self) -> usize {
        self.deviations.len()
    }

    fn forward(&self, mut rows: Matrix, _: &Pool) -> Matrix {
        rows.scale_columns(&self.deviations);
        rows
    }

    fn backward(&self, noise: Matrix, pool: &Pool) -> Matrix {
        self.forward(noise, pool)
    }

    fn variances(&self, _: &Pool) -> Vec<f64> {
        self.deviations
            .iter()
            .map(|deviation| deviation * deviation)
            .collect()
    }
}
