//! Matrix roots of the curvature of a row's log likelihood with respect to the row's outputs. Jacobians are multiplied by these roots.
//!
//! Note \[Two ways\]. Every `C` with `C' C = H` is a root. Therefore, a Cholesky factorisation with pivots is tried first. The factorisation takes
//! `K^3 / 3` operations, and ends early if `H` is singular. The curvature of the softmax is always singular. The matrix that remains after the last
//! pivot shows whether `H` has a negative eigenvalue. By the minimum property of Schur complements, the smallest eigenvalue of this remaining matrix
//! is at most that of `H`.
//! An eigendecomposition is needed only for those rows of the data whose matrix has a negative eigenvalue, to replace negative eigenvalues by zero.

use bnnc_base::dtype::Precision;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par, Spec};

/// The failure to compute the root of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootError {
    /// The index of the row that the matrix belongs to.
    pub row: usize,
    /// The reason, as the predicate of a sentence about the matrix: `is not finite`.
    pub reason: &'static str,
}

/// Buffers for the roots of symmetric matrices. The buffers are reused, so that memory is not allocated for each row.
pub struct Roots {
    size: usize,
    tolerance: f64,
    /// The largest magnitude of a diagonal element among all rows so far. If the class of a row is certain, the row's curvature consists only of
    /// rounding errors, which can be recognised only by comparison with other rows.
    largest: f64,
    /// The matrix that remains after the pivots so far. At first, it is the matrix itself.
    rest: Vec<f64>,
    vectors: Vec<f64>,
    eigenvalues: Vec<f64>,
    stack: MemBuffer,
}

impl Roots {
    /// Allocates buffers for roots of matrices `[size, size]` whose elements were computed in this precision. A negative eigenvalue is treated as a
    /// rounding error if its magnitude is at most 1e-10 (`f64`) or 1e-5 (`f32`) times the largest diagonal element of all rows so far.
    pub fn new(size: usize, precision: Precision) -> Roots {
        let tolerance = match precision {
            Precision::F32 => 1e-5,
            Precision::F64 => 1e-10,
        };
        // The size of the workspace is defined only for matrices that are not empty.
        let scratch =
            self_adjoint_evd_scratch::<f64>(size.max(1), ComputeEigenvectors::Yes, Par::Seq, Spec::default());
        Roots {
            size,
            tolerance,
            largest: 0.0,
            rest: vec![0.0; size * size],
            vectors: vec![0.0; size * size],
            eigenvalues: vec![0.0; size],
            stack: MemBuffer::new(scratch),
        }
    }

    /// Writes a root `C` with `C' C = H` for each matrix `H` in `curvature` `[rows, size, size]`. The roots have the shape `[rows, size, size]`, and
    /// their rows are the cotangents that multiply the Jacobian. Negative eigenvalues are replaced by zero. Returns the number of rows whose negative
    /// eigenvalues were larger than rounding errors.
    ///
    /// # Errors
    /// Fails if an element is not finite, or if eigenvalues could not be computed.
    pub fn cotangents(&mut self, curvature: &[f64], cotangents: &mut [f64]) -> Result<usize, RootError> {
        let square = self.size * self.size;
        if square == 0 {
            return Ok(0);
        }
        debug_assert_eq!(curvature.len(), cotangents.len());
        let diagonals = curvature
            .chunks_exact(square)
            .flat_map(|row| row.iter().step_by(self.size + 1));
        self.largest = diagonals.fold(self.largest, |largest, element| largest.max(element.abs()));
        let mut clipped = 0;
        let rows = curvature
            .chunks_exact(square)
            .zip(cotangents.chunks_exact_mut(square));
        for (row, (curvature, cotangents)) in rows.enumerate() {
            clipped += usize::from(self.one(row, curvature, cotangents)?);
        }
        Ok(clipped)
    }

    /// Writes the root of one matrix. Returns whether negative eigenvalues were replaced by zero.
    fn one(&mut self, row: usize, matrix: &[f64], root: &mut [f64]) -> Result<bool, RootError> {
        if !matrix.iter().all(|element| element.is_finite()) {
            return Err(RootError {
                row,
                reason: "is not finite",
            });
        }
        self.symmetrise(matrix);
        if self.by_pivots(root) {
            return Ok(false);
        }
        self.symmetrise(matrix);
        self.by_eigenvalues(root).ok_or(RootError {
            row,
            reason: "has eigenvalues that could not be computed",
        })
    }

    /// Copies a matrix, and replaces each element by the mean of itself and its mirror image in the other triangle. The two differ by rounding
    /// errors.
    fn symmetrise(&mut self, matrix: &[f64]) {
        let n = self.size;
        for i in 0..n {
            for j in 0..=i {
                let mean = 0.5 * matrix[i * n + j] + 0.5 * matrix[j * n + i];
                self.rest[i * n + j] = mean;
                self.rest[j * n + i] = mean;
            }
        }
    }

    /// Computes the root by a Cholesky factorisation, with the largest diagonal element as pivot in each step. Returns false if the remaining matrix
    /// may have a negative eigenvalue: see Note \[Two ways\].
    fn by_pivots(&mut self, root: &mut [f64]) -> bool {
        let n = self.size;
        root.fill(0.0);
        let scale = (0..n).fold(0.0f64, |largest, i| largest.max(self.rest[i * n + i].abs()));
        let negligible = n as f64 * f64::EPSILON * scale;
        for step in root.chunks_exact_mut(n) {
            let pivot = (1..n).fold(0, |best, i| {
                if self.rest[i * n + i] > self.rest[best * n + best] {
                    i
                } else {
                    best
                }
            });
            let value = self.rest[pivot * n + pivot];
            if value <= negligible {
                break;
            }
            let factor = 1.0 / value.sqrt();
            for (to, from) in step.iter_mut().zip(&self.rest[pivot * n..(pivot + 1) * n]) {
                *to = from * factor;
            }
            for (row, scale) in self.rest.chunks_exact_mut(n).zip(step.iter()) {
                row.iter_mut()
                    .zip(step.iter())
                    .for_each(|(element, other)| *element -= scale * other);
            }
            // The row and the column of the pivot are set to exactly zero. The pivot is then not chosen again, and rounding errors in its row and
            // column do not affect the remaining matrix.
            self.rest[pivot * n..(pivot + 1) * n].fill(0.0);
            (0..n).for_each(|i| self.rest[i * n + pivot] = 0.0);
        }
        // The smallest eigenvalue of the remaining matrix is at least `-n m`, where `m` is the largest magnitude of its elements.
        let bound = (self.tolerance * self.largest / n as f64).max(negligible);
        self.rest.iter().all(|element| element.abs() <= bound)
    }

    /// Writes the rows `sqrt(lambda) v'` for all eigenvalues `lambda`. Returns whether a negative eigenvalue was replaced by zero, or `None` if the
    /// eigenvalues could not be computed.
    fn by_eigenvalues(&mut self, root: &mut [f64]) -> Option<bool> {
        let n = self.size;
        self_adjoint_evd(
            MatRef::from_row_major_slice(&self.rest, n, n),
            DiagMut::from_slice_mut(&mut self.eigenvalues),
            Some(MatMut::from_column_major_slice_mut(&mut self.vectors, n, n)),
            Par::Seq,
            MemStack::new(&mut self.stack),
            Spec::default(),
        )
        .ok()?;
        let vectors = self.vectors.chunks_exact(n).zip(&self.eigenvalues);
        for (row, (vector, eigenvalue)) in root.chunks_exact_mut(n).zip(vectors) {
            let factor = eigenvalue.max(0.0).sqrt();
            row.iter_mut()
                .zip(vector)
                .for_each(|(to, from)| *to = factor * from);
        }
        Some(
            self.eigenvalues
                .iter()
                .any(|value| *value < -self.tolerance * self.largest),
        )
    }
}
