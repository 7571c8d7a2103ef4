//! The Gaussian posterior of the weights. It gives variances, draws, determinants, and covariances of functions of the weights.
//!
//! Note [Roots of covariances]. Each form has a matrix `R` with `R R' = P^-1`, implemented as two maps: from rows `j` to `j R`, and from rows of
//! noise `z` to `z R'`. All other results are computed with these maps. Covariances of functions are products of rows `j R`, so they are never
//! indefinite. Draws are `z R'`. The product `P^-1 v` is computed by applying both maps, one after the other.

mod arrays;
mod cholesky;
mod diagonal;
mod full;
mod kronecker;
mod spectrum;
mod whitened;
mod woodbury;

use crate::curvature::{Curvature, NotPositive, Prior};
use crate::matrix::{Matrix, dot};
pub use arrays::{Malformed, PosteriorArray};
use bnnc_kernels::pool::Pool;
pub use cholesky::Cholesky;
pub use spectrum::Spectrum;
use std::sync::Arc;
pub use whitened::whitened;

/// A Gaussian distribution of the `D` weights, centred at a maximum and defined by its precision `P`.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianPosterior {
    form: Form,
    log_determinant: f64,
    /// The log determinant of the prior precision. If the form cannot represent the prior exactly, this is the log determinant of the precision that
    /// it represents.
    prior_log_determinant: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Full(full::Full),
    Diagonal(diagonal::Diagonal),
    Kronecker(kronecker::Kronecker),
    /// The implementation of both `LowRank` and `Functional`.
    Woodbury(woodbury::Woodbury),
}

/// A matrix `R` with `R R' = P^-1`: see Note \[Roots of covariances\].
trait Root {
    /// Returns the number of rows of `R`. It equals the number of weights.
    fn elements(&self) -> usize;

    /// Returns the number of columns of `R`. It equals the number of standard normal numbers in a
    /// draw.
    fn noise(&self) -> usize;

    /// Maps each row `j` of `[.., elements]` to `j R` `[.., noise]`.
    fn forward(&self, rows: Matrix, pool: &Pool) -> Matrix;

    /// Maps each row `z` of `[.., noise]` to `z R'` `[.., elements]`.
    fn backward(&self, noise: Matrix, pool: &Pool) -> Matrix;

    /// Returns, for each row of `R`, the sum of its squared elements, which is the variance of a weight.
    fn variances(&self, pool: &Pool) -> Vec<f64>;
}

impl GaussianPosterior {
    /// Implements [`Curvature::posterior`].
    pub(crate) fn new(
        curvature: &Curvature,
        prior: &Prior,
        temperature: f64,
        pool: &Pool,
    ) -> Result<GaussianPosterior, NotPositive> {
        assert_eq!(prior.precision.len(), curvature.elements(), "elements of a prior");
        if let Some((gram, prior)) = whole(curvature, prior, pool) {
            return full::Full::posterior(&gram, &prior, temperature, pool);
        }
        match curvature {
            Curvature::Full(matrix) => full::Full::posterior(matrix, prior, temperature, pool),
            Curvature::Diagonal(values) => diagonal::Diagonal::posterior(values, prior, temperature),
            Curvature::Kronecker { blocks, .. } => {
                kronecker::Kronecker::posterior(blocks, prior, temperature, pool)
            }
            Curvature::LowRank(pairs) => {
                woodbury::Woodbury::posterior(Arc::new(pairs.finite_rows()?), prior, temperature, pool)
            }
            Curvature::Functional(rows) => {
                woodbury::Woodbury::posterior(rows.clone(), prior, temperature, pool)
            }
        }
    }

    fn root(&self) -> &dyn Root {
        match &self.form {
            Form::Full(form) => form,
            Form::Diagonal(form) => form,
            Form::Kronecker(form) => form,
            Form::Woodbury(form) => form,
        }
    }

    /// Returns the number of weights `D`.
    pub fn elements(&self) -> usize {
        self.root().elements()
    }

    /// Returns the number of standard normal numbers that a draw needs. This is `D`, except for `LowRank` and `Functional`, which usually need `D`
    /// plus the number of eigenvalues or rows.
    pub fn noise(&self) -> usize {
        self.root().noise()
    }

    /// Returns the covariance `J_n P^-1 J_n'` of the outputs of each row `n`, `[rows, columns, columns]`. `jacobian` holds the Jacobians of all rows,
    /// `[rows * columns, D]`.
    pub fn covariance(&self, jacobian: &Matrix, columns: usize, pool: &Pool) -> Vec<f64> {
        let rooted = self.root().forward(jacobian.clone(), pool);
        products_within(&rooted, columns)
    }

    /// Returns the joint covariance `J P^-1 J'` `[M, M]` for all rows of a Jacobian `[M, D]`.
    pub fn joint(&self, jacobian: &Matrix, pool: &Pool) -> Matrix {
        self.root().forward(jacobian.clone(), pool).outer(pool)
    }

    /// Returns `P^-1 v` for each row `v` of `vectors` `[.., D]`.
    pub fn solve(&self, vectors: &Matrix, pool: &Pool) -> Matrix {
        let rooted = self.root().forward(vectors.clone(), pool);
        self.root().backward(rooted, pool)
    }

    /// Returns the covariance `P^-1` `[D, D]` of the weights.
    pub fn inverse(&self, pool: &Pool) -> Matrix {
        let rooted = self.root().forward(Matrix::identity(self.elements()), pool);
        self.root().backward(rooted, pool)
    }

    /// Returns the variances `[D]` of the weights. They are the diagonal of `P^-1`.
    pub fn variances(&self, pool: &Pool) -> Vec<f64> {
        self.root().variances(pool)
    }

    /// Maps standard normal numbers to deviations `[draws, D]` from the maximum. The deviations have the covariance `P^-1`. `noise` has
    /// [`GaussianPosterior::noise`] numbers for each draw.
    pub fn draws(&self, noise: &Matrix, pool: &Pool) -> Matrix {
        self.root().backward(noise.clone(), pool)
    }

    /// Returns the log determinant of `P`.
    pub fn log_determinant(&self) -> f64 {
        self.log_determinant
    }

    /// Returns the log determinant of `P` minus the log determinant of the prior precision. Returns `None` if the prior is not positive definite.
    ///
    /// Some forms represent a prior only approximately. If the weights are dependent under the prior, only `Full` is exact. If the prior varies
    /// within a block, `Kronecker` is not exact. In these cases, the result uses the prior precision that the form represents, so that it is zero
    /// without data.
    pub fn log_determinant_ratio(&self) -> Option<f64> {
        let ratio = self.log_determinant - self.prior_log_determinant;
        ratio.is_finite().then_some(ratio)
    }
}

/// A block of a Kronecker-factored posterior, in the rotated coordinates of its eigenbasis.
#[derive(Clone, Debug, PartialEq)]
pub struct RotatedBlock<'a> {
    /// The eigenvectors of the first factor, one in each row, `[p, p]`. In the order of the elements, the index of this factor varies slowest.
    pub first: &'a Matrix,
    /// The eigenvectors of the second factor, one in each row, `[q, q]`.
    pub second: &'a Matrix,
    /// The posterior variances of the rotated coordinates, `[p, q]`.
    pub variances: Vec<f64>,
}

impl GaussianPosterior {
    /// Returns the blocks of a Kronecker-factored posterior in the order of the weights. Returns `None` for other forms, and if some weights are not
    /// in any block.
    pub fn rotated(&self) -> Option<Vec<RotatedBlock<'_>>> {
        let Form::Kronecker(kronecker) = &self.form else {
            return None;
        };
        let blocks = kronecker.blocks.iter();
        let in_blocks: usize = blocks.clone().map(kronecker::EigenBlock::elements).sum();
        (in_blocks == self.elements()).then(|| blocks.map(kronecker::EigenBlock::rotated).collect())
    }
}

/// If the form `Functional` has at least as many functions as weights, returns the full curvature and prior instead. In this case, the full matrix is
/// smaller and better conditioned than the matrix of products of functions.
fn whole(curvature: &Curvature, prior: &Prior, pool: &Pool) -> Option<(Matrix, Prior)> {
    match curvature {
        Curvature::Functional(rows) if rows.rows >= rows.columns => {
            let mut gram = Matrix::zeros(rows.columns, rows.columns);
            gram.add_gram(rows, 1.0, pool);
            Some((gram, Prior::diagonal(prior.precision.clone())))
        }
        Curvature::Full(_)
        | Curvature::Diagonal(_)
        | Curvature::Kronecker { .. }
        | Curvature::LowRank(_)
        | Curvature::Functional(_) => None,
    }
}

/// Divides the rows into groups of `columns` rows. Returns the dot products of all pairs of rows within each group, `[groups, columns, columns]`.
fn products_within(rows: &Matrix, columns: usize) -> Vec<f64> {
    let mut products = vec![0.0; rows.rows * columns];
    for at in 0..rows.rows {
        let (group, i) = (at / columns, at % columns);
        for j in 0..=i {
            let product = dot(rows.row(at), rows.row(group * columns + j));
            let start = group * columns * columns;
            products[start + i * columns + j] = product;
            products[start + j * columns + i] = product;
        }
    }
    products
}
