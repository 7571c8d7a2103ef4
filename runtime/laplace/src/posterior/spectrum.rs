//! Eigendecompositions of symmetric matrices.

use crate::curvature::NotPositive;
use crate::matrix::Matrix;
use faer::{MatRef, Side};

/// The eigenvalues and eigenvectors of a symmetric matrix, in ascending order of the eigenvalues.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The eigenvalues in ascending order.
    pub values: Vec<f64>,
    /// The eigenvectors, one in each row.
    pub vectors: Matrix,
}

impl Spectrum {
    /// Computes the eigenvalues and eigenvectors of a symmetric matrix. Only the lower triangle of the matrix is used.
    ///
    /// # Errors
    /// Fails if an element of the matrix is not finite.
    pub fn new(matrix: &Matrix) -> Result<Spectrum, NotPositive> {
        let size = matrix.rows;
        check_finite(matrix)?;
        let pairs = MatRef::from_row_major_slice(&matrix.values, size, size)
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| NOT_A_NUMBER)?;
        let values = (0..size).map(|at| pairs.S()[at]).collect();
        // The capacity is reserved explicitly, because a flattened iterator does not know its length.
        let mut vectors = Vec::with_capacity(size * size);
        vectors.extend(pairs.U().col_iter().flat_map(|vector| vector.iter()));
        Ok(Spectrum {
            values,
            vectors: Matrix::new(size, size, vectors),
        })
    }

    /// Computes the eigenvalues and eigenvectors of a matrix that is positive semidefinite up to rounding errors. Eigenvalues as small as
    /// rounding errors are replaced by zero, so that no eigenvalue is negative.
    ///
    /// # Errors
    /// Fails in the same cases as [`Spectrum::new`].
    pub fn of_semidefinite(matrix: &Matrix) -> Result<Spectrum, NotPositive> {
        let mut spectrum = Spectrum::new(matrix)?;
        without_rounding(&mut spectrum.values);
        Ok(spectrum)
    }
}

/// Replaces eigenvalues that are as small as rounding errors by zero. The eigenvalues must belong to a semidefinite matrix, and must be
/// in ascending order.
fn without_rounding(values: &mut [f64]) {
    let greatest = values.last().copied().unwrap_or(0.0);
    let floor = greatest * f64::EPSILON * values.len() as f64;
    let below = values.partition_point(|value| *value <= floor);
    values[..below].fill(0.0);
}

/// Returns the eigenvalues that [`Spectrum::of_semidefinite`] would return, but does not compute the eigenvectors.
///
/// # Errors
/// Fails in the same cases as [`Spectrum::new`].
pub fn eigenvalues_of_semidefinite(matrix: &Matrix) -> Result<Vec<f64>, NotPositive> {
    let mut values = eigenvalues(matrix)?;
    without_rounding(&mut values);
    Ok(values)
}

/// Returns the eigenvalues of a symmetric matrix in ascending order.
///
/// # Errors
/// Fails in the same cases as [`Spectrum::new`].
pub fn eigenvalues(matrix: &Matrix) -> Result<Vec<f64>, NotPositive> {
    check_finite(matrix)?;
    MatRef::from_row_major_slice(&matrix.values, matrix.rows, matrix.rows)
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| NOT_A_NUMBER)
}

const NOT_A_NUMBER: NotPositive = NotPositive {
    element: None,
    value: f64::NAN,
};

fn check_finite(matrix: &Matrix) -> Result<(), NotPositive> {
    match matrix.values.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(NOT_A_NUMBER),
    }
}
