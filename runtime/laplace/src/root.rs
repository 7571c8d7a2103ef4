//! Roots of the curvature of a row's likelihood with respect to its outputs. Jacobians are multiplied by these roots.
//!
//! Note \[Two ways\]. Every `C` with `C' C = H` is a root, so a Cholesky factorisation with pivots is tried first: it takes `K^3 / 3` operations and
//! ends early if `H` is singular, as the curvature of the softmax always is. The remaining matrix shows whether `H` has a negative eigenvalue: by the
//! minimum property of Schur complements, the smallest eigenvalue of the remaining matrix is at most that of `H`. Only rows with a negative
//! eigenvalue need an eigendecomposition, whose negative eigenvalues are replaced by zero.

use bnnc_base::dtype::Precision;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{MatMut, MatRef, Par, Spec};

/// The reason why a matrix does not have a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootError {
    /// An element of the matrix of this row is infinite or not a number.
    NotFinite {
        /// The row.
        row: usize,
    },
    /// The eigenvalues of the matrix of this row were not found.
    NoConvergence {
        /// The row.
        row: usize,
    },
}

impl RootError {
    /// Returns the same failure for another row.
    pub(crate) fn in_row(self, row: usize) -> RootError {
        match self {
            RootError::NotFinite { .. } => RootError::NotFinite { row },
            RootError::NoConvergence { .. } => RootError::NoConvergence { row },
        }
    }
}

impl std::fmt::Display for RootError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RootError::NotFinite { row } => write!(f, "the matrix of row {row} is not finite"),
            RootError::NoConvergence { row } => {
                write!(f, "the eigenvalues of the matrix of row {row} were not found")
            }
        }
    }
}

impl std::error::Error for RootError {}

/// Buffers for roots of symmetric matrices of one size, so that nothing is allocated per row.
pub struct Roots {
    size: usize,
    tolerance: f64,
    /// The largest magnitude of a diagonal element so far. If the classes of a row are certain, its curvature consists of rounding errors, which can
    /// only be recognised by comparison with other rows.
    largest: f64,
    /// The matrix, and later the remaining matrix.
    rest: Vec<f64>,
    vectors: Vec<f64>,
    eigenvalues: Vec<f64>,
    stack: MemBuffer,
}

impl Roots {
    /// Allocates buffers for roots of matrices `[size, size]` whose elements were computed in this precision. Negative eigenvalues up to 1e-10
    /// (`f64`) or 1e-5 (`f32`) times the largest magnitude of a diagonal element in all rows so far count as rounding errors.
    pub fn new(size: usize, precision: Precision) -> Roots {
        let tolerance = match precision {
            Precision::F32 => 1e-5,
            Precision::F64 => 1e-10,
        };
        // The workspace size is defined only for matrices with elements.
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

    /// Writes `C` `[rows, size, size]` with `C' C = H` for each `H` of `curvature` `[rows, size, size]`. The rows of `C` are the cotangents that
    /// multiply the Jacobian. Negative eigenvalues are replaced by zero. Returns the number of rows whose negative eigenvalues were more than
    /// rounding errors.
    ///
    /// # Errors
    /// An element is not finite, or eigenvalues were not found.
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

    /// Writes the root of one matrix; returns whether negative eigenvalues were replaced.
    fn one(&mut self, row: usize, matrix: &[f64], root: &mut [f64]) -> Result<bool, RootError> {
        if !matrix.iter().all(|element| element.is_finite()) {
            return Err(RootError::NotFinite { row });
        }
        self.symmetrise(matrix);
        if self.by_pivots(root) {
            return Ok(false);
        }
        self.symmetrise(matrix);
        self.by_eigenvalues(root).ok_or(RootError::NoConvergence { row })
    }

    /// Copies a matrix as the mean of its two triangles, which differ by rounding errors.
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

    /// Factors by Cholesky with the largest diagonal element as pivot; returns false if the remaining matrix may have a negative eigenvalue. See
    /// Note \[Two ways\].
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
            // Set to exactly zero, so that the pivot is not chosen again and its rounding errors do not count in the remaining matrix.
            self.rest[pivot * n..(pivot + 1) * n].fill(0.0);
            (0..n).for_each(|i| self.rest[i * n + pivot] = 0.0);
        }
        // The smallest eigenvalue of the remaining matrix is at least minus `n` times its largest element.
        let bound = (self.tolerance * self.largest / n as f64).max(negligible);
        self.rest.iter().all(|element| element.abs() <= bound)
    }

    /// Writes rows `sqrt(lambda) v'`; returns whether an eigenvalue was clipped, and `None` if the eigenvalues were not found.
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
