//! The curvature of the log likelihood with respect to the weights, in one of several forms, summed over blocks of rows.
//!
//! For each row of the data, the curvature of the row's log likelihood has a root, by which the Jacobian of the outputs is multiplied. The
//! matrix `G` stacks
//! these products, so each row of the data contributes as many rows to `G` as its root has. The curvature is `G'G`. If `T` is the temperature
//! and `P0` is the precision of the prior, the posterior has the precision `P = G'G / T + P0`.

mod gram;
mod kronecker;
mod low_rank;
mod memory;
mod prior;

use crate::matrix::Matrix;
use crate::posterior::GaussianPosterior;
use bnnc_base::number::rounded;
use bnnc_kernels::pool::Pool;
pub use gram::{Gram, add_squares};
pub use kronecker::KroneckerBlock;
pub use low_rank::{EigenpairSearch, LowRank, Passes};
pub use memory::{Bytes, bytes};
pub use prior::Prior;
pub(crate) use prior::PriorRoot;
use std::fmt;
use std::sync::Arc;

/// The curvature of a log likelihood in one of several forms. The curvature is the negative second derivative of the log likelihood, or an
/// approximation of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Curvature {
    /// The full symmetric matrix `[D, D]`. The matrix is the sum of a [`Gram`], or it is computed from products with unit vectors and then made
    /// symmetric by [`Matrix::symmetrise`].
    Full(Matrix),
    /// Only the diagonal of the curvature, `[D]`: see [`add_squares`].
    Diagonal(Vec<f64>),
    /// A block-diagonal matrix whose blocks are Kronecker products. The curvature is zero for weights that are not in any block.
    Kronecker {
        /// The diagonal blocks. They do not overlap.
        blocks: Vec<KroneckerBlock>,
        /// The number of weights `D`.
        elements: usize,
    },
    /// The largest eigenvalues of the curvature with their eigenvectors: see [`EigenpairSearch`].
    LowRank(LowRank),
    /// The matrix `G` itself, `[M, D]`: see [`Matrix::append`]. The posterior shares the memory of this matrix.
    Functional(Arc<Matrix>),
}

/// The error for a precision matrix that is not positive definite, so that the posterior does not exist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotPositive {
    /// The index of the weight whose precision is not positive. `None` if no single weight causes the error.
    pub element: Option<usize>,
    /// The pivot, precision or eigenvalue that is not positive, or NaN.
    pub value: f64,
}

impl fmt::Display for NotPositive {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            Some(element) if self.value.is_nan() => {
                write!(to, "the precision at weight {element} is not a number")
            }
            None if self.value.is_nan() => write!(to, "an eigenvalue of the precision is not a number"),
            Some(element) => write!(
                to,
                "the precision at weight {element} is {}, but must be above zero",
                rounded(self.value, 4)
            ),
            None => write!(
                to,
                "the precision has an eigenvalue of {}, but eigenvalues must be above zero",
                rounded(self.value, 4)
            ),
        }
    }
}

impl std::error::Error for NotPositive {}

impl NotPositive {
    /// Returns an error if a value is not positive or not finite. The error contains the first such value.
    pub(crate) fn check(values: &[f64]) -> Result<(), NotPositive> {
        match values
            .iter()
            .position(|value| !(*value > 0.0 && value.is_finite()))
        {
            None => Ok(()),
            Some(at) => Err(NotPositive {
                element: Some(at),
                value: values[at],
            }),
        }
    }
}

impl Curvature {
    /// Returns the number of weights `D`.
    pub fn elements(&self) -> usize {
        match self {
            Curvature::Full(matrix) => matrix.columns,
            Curvature::Functional(rows) => rows.columns,
            Curvature::Diagonal(values) => values.len(),
            Curvature::Kronecker { elements, .. } => *elements,
            Curvature::LowRank(pairs) => pairs.vectors.columns,
        }
    }

    /// Returns the Gaussian posterior with the precision `curvature / temperature + prior`.
    ///
    /// # Errors
    /// Fails if the precision is not positive definite. In the forms `LowRank` and `Functional`, the precision of the prior must be positive
    /// definite.
    pub fn posterior(
        &self,
        prior: &Prior,
        temperature: f64,
        pool: &Pool,
    ) -> Result<GaussianPosterior, NotPositive> {
        GaussianPosterior::new(self, prior, temperature, pool)
    }
}
