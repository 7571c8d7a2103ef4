//! The largest eigenvalues and eigenvectors of a curvature. The curvature is only available through products
//! with vectors.
//!
//! Note [Thick restarts]. The search is a block Lanczos method with thick restarts (Wu and Simon 2000). The search keeps an orthonormal basis, and
//! extends the basis by the residuals of the best Ritz vectors. When the basis is full, the search restarts with the best half of the basis. Each
//! pass over the data multiplies the curvature by a block of vectors. The norm of a Ritz vector's residual bounds the error of its eigenvalue
//! (Parlett, The Symmetric Eigenvalue Problem, theorem 4.5.1). The search ends when these norms are small enough.

use super::NotPositive;
use crate::matrix::{Matrix, dot};
use crate::posterior::Spectrum;
use bnnc_kernels::pool::Pool;

/// The largest eigenvalues of a curvature, with their eigenvectors. In all directions orthogonal to these vectors, the posterior equals the prior.
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// The orthonormal eigenvectors, one in each row, `[rank, D]`.
    pub vectors: Matrix,
    /// The eigenvalues in descending order. All of them are positive.
    pub values: Vec<f64>,
    /// The largest norm of a residual at the end of the search, divided by the largest eigenvalue. NaN if a product was not finite; the posterior
    /// then does not exist.
    pub residual: f64,
}

/// The settings of a search for eigenvalues and eigenvectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EigenpairSearch {
    /// The number of eigenvalues to find.
    pub rank: usize,
    /// The search ends when the largest residual, divided by the largest eigenvalue, is at most this number.
    pub tolerance: f64,
    /// The maximum number of passes over the data.
    pub passes: usize,
}

impl LowRank {
    /// Returns the result that stands for a product that is not finite.
    fn unknown(elements: usize) -> LowRank {
        LowRank {
            vectors: Matrix::zeros(0, elements),
            values: Vec::new(),
            residual: f64::NAN,
        }
    }

    /// Returns rows `G` `[rank, D]` such that `G'G` is this curvature.
    pub fn rows(&self) -> Matrix {
        let mut rows = self.vectors.clone();
        for (row, value) in self.values.iter().enumerate() {
            let root = value.max(0.0).sqrt();
            rows.row_mut(row).iter_mut().for_each(|element| *element *= root);
        }
        rows
    }

    /// Returns [`LowRank::rows`]. Returns an error if a product was not finite.
    pub(crate) fn finite_rows(&self) -> Result<Matrix, NotPositive> {
        match self.residual.is_nan() {
            false => Ok(self.rows()),
            true => Err(NotPositive {
                element: None,
                value: f64::NAN,
            }),
        }
    }
}

/// A function that makes passes over the data. Each call makes one pass: it passes all rows of `G`, in blocks, to its argument.
pub type Passes<'a, E> = &'a mut dyn FnMut(&mut dyn FnMut(&Matrix)) -> Result<(), E>;

impl EigenpairSearch {
    /// Returns the number of rows of noise at the start of the search. It is slightly larger than the rank, because otherwise the smallest wanted
    /// eigenvalue would converge slowly.
    pub fn start_rows(&self, elements: usize) -> usize {
        self.rank
            .saturating_add((self.rank / 4).clamp(4, 16))
            .min(elements)
    }

    /// Returns the largest eigenvalues and eigenvectors of `G'G`. `start` holds standard normal noise, with [`EigenpairSearch::start_rows`] rows and
    /// `D` columns.
    ///
    /// # Errors
    /// Fails if a pass fails.
    pub fn of_rows<E>(&self, start: Matrix, passes: Passes<'_, E>, pool: &Pool) -> Result<LowRank, E> {
        let mut apply = |vectors: &Matrix| {
            let mut sum = Matrix::zeros(vectors.rows, vectors.columns);
            passes(&mut |block| {
                sum.add_product(&vectors.product_transposed(block, pool), block, pool);
            })?;
            Ok(sum)
        };
        self.of_operator(start, &mut apply, pool)
    }

    /// Returns the largest eigenvalues and eigenvectors of a symmetric matrix. Eigenvalues that are not positive are left out. `apply` multiplies
    /// each row of its argument `[.., D]` by the matrix.
    ///
    /// # Errors
    /// Fails if `apply` fails.
    pub fn of_operator<E>(
        &self,
        start: Matrix,
        apply: &mut dyn FnMut(&Matrix) -> Result<Matrix, E>,
        pool: &Pool,
    ) -> Result<LowRank, E> {
        let width = start.rows;
        let mut space = Space::new(start.columns);
        let mut candidates = start;
        let mut best = Ritz::none(space.basis.columns);
        for _ in 0..self.passes.max(1) {
            let grown = space.complement(candidates, pool);
            if grown.rows == 0 {
                break;
            }
            space.append(&grown, &apply(&grown)?);
            match space.ritz(width, pool) {
                Some(ritz) => best = ritz,
                None => return Ok(LowRank::unknown(space.basis.columns)),
            }
            if best.residual(self.rank) <= self.tolerance {
                break;
            }
            candidates = best.residuals.clone();
            if space.basis.rows + width > CAPACITY * width {
                space.shrink(CAPACITY / 2 * width, pool);
            }
        }
        Ok(best.pairs(self.rank))
    }
}

/// The number of blocks in a full basis. When the basis is full, the search restarts.
const CAPACITY: usize = 4;

/// An orthonormal basis `[.., D]`, and the products of the basis vectors with the matrix.
struct Space {
    basis: Matrix,
    products: Matrix,
}

/// The best Ritz values and Ritz vectors in a space, by descending Ritz value.
struct Ritz {
    values: Vec<f64>,
    vectors: Matrix,
    residuals: Matrix,
    norms: Vec<f64>,
}

impl Space {
    fn new(elements: usize) -> Space {
        let empty = Matrix::zeros(0, elements);
        Space {
            basis: empty.clone(),
            products: empty,
        }
    }

    fn append(&mut self, basis: &Matrix, products: &Matrix) {
        self.basis.append(basis);
        self.products.append(products);
    }

    /// Removes from the rows their components inside the space, and returns an orthonormal basis of the rest. Two passes of the Gram-Schmidt method
    /// give enough accuracy (Giraud et al. 2005).
    fn complement(&self, rows: Matrix, pool: &Pool) -> Matrix {
        let once = self.orthonormal(rows, pool);
        self.orthonormal(once, pool)
    }

    fn orthonormal(&self, mut rows: Matrix, pool: &Pool) -> Matrix {
        (0..rows.rows).for_each(|row| normalise(rows.row_mut(row)));
        let within = rows
            .product_transposed(&self.basis, pool)
            .product(&self.basis, pool);
        rows.values
            .iter_mut()
            .zip(&within.values)
            .for_each(|(x, y)| *x -= y);
        let mut grown = Matrix::zeros(0, rows.columns);
        for row in 0..rows.rows {
            let row = rows.row_mut(row);
            for basis in grown.each_row() {
                let share = dot(row, basis);
                row.iter_mut().zip(basis).for_each(|(x, y)| *x -= share * y);
            }
            if length(row) > DEPENDENT && self.basis.rows + grown.rows < row.len() {
                normalise(row);
                grown.append(&Matrix::from_row(row));
            }
        }
        grown
    }

    /// Restricts the matrix to the space. Returns its eigenvalues in descending order, and its eigenvectors as rows of coefficients in the basis.
    /// Returns `None` if a product is not finite.
    fn coefficients(&self, pool: &Pool) -> Option<(Vec<f64>, Matrix)> {
        let mut projected = self.basis.product_transposed(&self.products, pool);
        // The matrix of products is symmetric up to rounding errors.
        projected.mirror_upper();
        let Spectrum { mut values, vectors } = Spectrum::new(&projected).ok()?;
        values.reverse();
        let rows = vectors.values.chunks_exact(vectors.columns.max(1)).rev();
        let reversed = rows.flatten().copied().collect();
        Some((values, Matrix::new(vectors.rows, vectors.columns, reversed)))
    }

    fn ritz(&self, count: usize, pool: &Pool) -> Option<Ritz> {
        let (mut values, coefficients) = self.coefficients(pool)?;
        let coefficients = coefficients.rows_in(0..count.min(coefficients.rows));
        values.truncate(coefficients.rows);
        let vectors = coefficients.product(&self.basis, pool);
        let mut residuals = coefficients.product(&self.products, pool);
        for (row, value) in values.iter().enumerate() {
            let pairs = residuals.row_mut(row).iter_mut().zip(vectors.row(row));
            pairs.for_each(|(product, vector)| *product -= value * vector);
        }
        let norms = residuals.each_row().map(length).collect();
        Some(Ritz {
            values,
            vectors,
            residuals,
            norms,
        })
    }

    /// Reduces the space to the span of the `count` best Ritz vectors.
    fn shrink(&mut self, count: usize, pool: &Pool) {
        if let Some((_, coefficients)) = self.coefficients(pool) {
            let coefficients = coefficients.rows_in(0..count.min(coefficients.rows));
            self.basis = coefficients.product(&self.basis, pool);
            self.products = coefficients.product(&self.products, pool);
        }
    }
}

/// A row of length one is regarded as inside the space if its component orthogonal to the space is shorter than this.
const DEPENDENT: f64 = 1e-10;

fn length(row: &[f64]) -> f64 {
    dot(row, row).sqrt()
}

/// Scales a row to length one. A zero row stays zero.
fn normalise(row: &mut [f64]) {
    let length = length(row);
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value /= length);
    }
}

impl Ritz {
    fn none(elements: usize) -> Ritz {
        let empty = Matrix::zeros(0, elements);
        Ritz {
            values: Vec::new(),
            vectors: empty.clone(),
            residuals: empty,
            norms: Vec::new(),
        }
    }

    /// Returns the largest norm among the residuals of the first `rank` Ritz vectors, divided by the largest eigenvalue.
    fn residual(&self, rank: usize) -> f64 {
        let greatest = self.values.first().map_or(0.0, |value| value.abs());
        let norms = self.norms.iter().take(rank);
        let largest = norms.fold(0.0f64, |largest, norm| largest.max(*norm));
        if largest == 0.0 { 0.0 } else { largest / greatest }
    }

    fn pairs(self, rank: usize) -> LowRank {
        let residual = self.residual(rank);
        let floor =
            self.values.first().map_or(0.0, |value| value.abs()) * f64::EPSILON * self.vectors.columns as f64;
        let kept = self
            .values
            .iter()
            .take(rank)
            .take_while(|value| **value > floor)
            .count();
        LowRank {
            vectors: self.vectors.rows_in(0..kept),
            values: self.values[..kept].to_vec(),
            residual,
        }
    }
}
