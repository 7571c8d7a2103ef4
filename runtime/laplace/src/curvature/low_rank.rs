//! The largest eigenpairs of a curvature that is only known by its products with vectors.
//!
//! Note [Thick restarts]. The search keeps an orthonormal basis, grows it by the residuals of the best Ritz vectors, and when it is full goes on
//! with the best half: a block Lanczos method with thick restarts (Wu and Simon 2000). One pass over the data multiplies as many vectors
//! as the block has rows. Each Ritz vector's residual bounds the error of its eigenvalue (Parlett, The Symmetric Eigenvalue Problem,
//! theorem 4.5.1), which is what the search stops by.

use super::NotPositive;
use crate::matrix::{Matrix, dot};
use crate::posterior::Spectrum;
use bnnc_kernels::pool::Pool;

/// The largest eigenpairs of a curvature; the rest is left to the prior.
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// Orthonormal eigenvectors, one in each row: `[rank, D]`.
    pub vectors: Matrix,
    /// Their eigenvalues, descending, all above zero.
    pub values: Vec<f64>,
    /// The largest norm of a residual over the largest eigenvalue, when the search stopped; not a number where a product was not finite, and
    /// then there is no posterior.
    pub residual: f64,
}

/// A search for eigenpairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// How many are wanted.
    pub rank: usize,
    /// Residuals that are small enough, relative to the largest eigenvalue.
    pub tolerance: f64,
    /// The most passes over the data.
    pub passes: usize,
}

impl LowRank {
    /// What is found where a product is not finite.
    fn unknown(elements: usize) -> LowRank {
        LowRank {
            vectors: Matrix::zeros(0, elements),
            values: Vec::new(),
            residual: f64::NAN,
        }
    }

    /// Rows `G` whose products `G'G` are this curvature: `[rank, D]`.
    pub fn rows(&self) -> Matrix {
        let mut rows = self.vectors.clone();
        for (row, value) in self.values.iter().enumerate() {
            let root = value.max(0.0).sqrt();
            rows.row_mut(row).iter_mut().for_each(|element| *element *= root);
        }
        rows
    }

    /// [`LowRank::rows`], if there is a posterior.
    pub(crate) fn finite_rows(&self) -> Result<Matrix, NotPositive> {
        match self.residual.is_nan() {
            false => Ok(self.rows()),
            true => Err(NotPositive {
                element: None,
                value: f64::NAN,
            }),
        }
    }

    /// The diagonal `[D]`.
    pub fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = vec![0.0; self.vectors.columns];
        super::add_squares(&mut diagonal, &self.rows(), 1.0);
        diagonal
    }
}

/// Blocks of rows `G` are given, one after the other, to what is passed; all of them in each call.
pub type Passes<'a, E> = &'a mut dyn FnMut(&mut dyn FnMut(&Matrix)) -> Result<(), E>;

impl Search {
    /// How many rows of noise the search starts from: a few more than wanted, so that the last pairs converge too.
    pub fn start_rows(&self, elements: usize) -> usize {
        self.rank
            .saturating_add((self.rank / 4).clamp(4, 16))
            .min(elements)
    }

    /// The eigenpairs of `G'G`, from standard normal noise [[`Search::start_rows`]`, D]`.
    ///
    /// # Errors
    /// Those of a pass.
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

    /// The largest eigenpairs of a symmetric matrix, given by its products with the rows of its argument `[.., D]`; those that are not above
    /// zero are left out.
    ///
    /// # Errors
    /// Those of a product.
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

/// How many blocks the basis may have.
const CAPACITY: usize = 4;

/// An orthonormal basis `[.., D]` and its products with the matrix.
struct Space {
    basis: Matrix,
    products: Matrix,
}

/// The best pairs within a space, by descending value.
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

    /// An orthonormal basis of what the rows add to the space: twice Gram and Schmidt, which is enough (Giraud et al. 2005).
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

    /// The eigenvectors of the matrix within the space, by descending eigenvalue: rows of coefficients. None where a product is not finite.
    fn coefficients(&self, pool: &Pool) -> Option<(Vec<f64>, Matrix)> {
        let mut projected = self.basis.product_transposed(&self.products, pool);
        // The products are symmetric but for rounding.
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

    /// Keeps the span of the best vectors.
    fn shrink(&mut self, count: usize, pool: &Pool) {
        if let Some((_, coefficients)) = self.coefficients(pool) {
            let coefficients = coefficients.rows_in(0..count.min(coefficients.rows));
            self.basis = coefficients.product(&self.basis, pool);
            self.products = coefficients.product(&self.products, pool);
        }
    }
}

/// Rows of length one that add less than this are taken for dependent.
const DEPENDENT: f64 = 1e-10;

fn length(row: &[f64]) -> f64 {
    dot(row, row).sqrt()
}

/// Gives a row the length one, unless it is zero.
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

    /// The largest residual of the pairs that are wanted, relative to the largest eigenvalue.
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
