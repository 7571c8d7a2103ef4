//! Cholesky factors of large matrices, and solvers of triangular systems with many right-hand sides.
//!
//! Note [Blocks of a factor]. The factor is computed one block row at a time, in three steps. The diagonal block is factored, the rest of the row is
//! multiplied by the inverse of this factor, and a product is subtracted from the remaining matrix. Both solvers use the same blocks. All work of
//! cubic order therefore consists of matrix products that run on the pool. Multiplying by the inverse of a diagonal block is as accurate as
//! substitution, unless a block of [`BLOCK`] rows is itself ill-conditioned (Higham, Accuracy and Stability of Numerical Algorithms, section 8.2).

use crate::curvature::NotPositive;
use crate::matrix::Matrix;
use bnnc_kernels::matmul::dense::{ComputedPart, Product};
use bnnc_kernels::matmul::{Extents, Update};
use bnnc_kernels::pool::Pool;
use std::ops::Range;

/// The number of rows in a block of the factor.
const BLOCK: usize = 64;

/// The Cholesky factor of a positive definite matrix `P = U'U`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cholesky {
    /// The upper triangular matrix `U`.
    pub upper: Matrix,
    /// The inverses of the diagonal blocks of `U`.
    inverses: Vec<Matrix>,
}

/// A pivot counts as zero if it is at most this fraction of the diagonal element. For example, if the data determine only the sum of two weights, a
/// pivot that should be zero is rounded to one or two units in the last place.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Returns the range of rows or columns of each block.
fn blocks(size: usize) -> impl ExactSizeIterator<Item = Range<usize>> + DoubleEndedIterator {
    (0..size.div_ceil(BLOCK)).map(move |block| block * BLOCK..size.min((block + 1) * BLOCK))
}

/// A product of parts of matrices: `c -= a b` or `c = a b`. Each operand is a slice that begins at its first element, with the strides of
/// its rows and columns.
struct Step<'a> {
    sizes: [usize; 3],
    a: (&'a [f64], [usize; 2]),
    b: (&'a [f64], [usize; 2]),
    /// The stride between the rows of the result.
    line: usize,
    update: Update,
    part: ComputedPart,
}

impl Step<'_> {
    fn write(&self, c: &mut [f64], pool: &Pool) {
        let [m, n, k] = self.sizes;
        if m == 0 || n == 0 {
            return;
        }
        let strides = |[x, y]: [usize; 2]| [x as isize, y as isize];
        let product = Product {
            extents: Extents {
                m,
                n,
                k,
                a: strides(self.a.1),
                b: strides(self.b.1),
                c: [self.line as isize, 1],
            },
            a: self.a.0,
            b: self.b.0,
            update: self.update,
            part: self.part,
        };
        product.write(pool, c);
    }
}

impl Cholesky {
    /// Factors a symmetric matrix. Only the upper triangle of the matrix is used.
    ///
    /// # Errors
    /// Fails with the first pivot that is not larger than the rounding errors of its diagonal element.
    pub fn new(matrix: Matrix, pool: &Pool) -> Result<Cholesky, NotPositive> {
        let size = matrix.rows;
        let mut upper = matrix;
        let floors: Vec<f64> = (0..size).map(|at| ROUNDING * upper[(at, at)].abs()).collect();
        let mut inverses = Vec::new();
        for block in blocks(size) {
            factor_block(&mut upper, &block, &floors)?;
            let inverse = invert_block(&upper, &block);
            let (end, width) = (block.end, block.len());
            let rest = size - end;
            let panel = columns_of(&upper, block.clone(), end..size);
            Step {
                sizes: [width, rest, width],
                a: (&inverse.values, [1, width]),
                b: (&panel.values, [rest, 1]),
                line: size,
                update: Update::Store,
                part: ComputedPart::All,
            }
            .write(
                upper
                    .values
                    .get_mut(block.start * size + end..)
                    .unwrap_or_default(),
                pool,
            );
            let panel = columns_of(&upper, block.clone(), end..size);
            Step {
                sizes: [rest, rest, width],
                a: (&panel.values, [1, rest]),
                b: (&panel.values, [rest, 1]),
                line: size,
                update: Update::Subtract,
                part: ComputedPart::Upper,
            }
            .write(upper.values.get_mut(end * size + end..).unwrap_or_default(), pool);
            inverses.push(inverse);
        }
        (0..size).for_each(|row| upper.row_mut(row)[..row].fill(0.0));
        Ok(Cholesky { upper, inverses })
    }

    /// Returns the factorisation whose factor is `upper`.
    pub fn from_upper(upper: Matrix) -> Cholesky {
        let inverses = blocks(upper.rows)
            .map(|block| invert_block(&upper, &block))
            .collect();
        Cholesky { upper, inverses }
    }

    /// Returns the log determinant of `P`.
    pub fn log_determinant(&self) -> f64 {
        2.0 * self.upper.diagonal().iter().map(|pivot| pivot.ln()).sum::<f64>()
    }

    /// Replaces each row `j` by `j U^-1`. The dot product of two new rows is `j P^-1 k'` for the corresponding old rows `j` and `k`.
    pub fn forward(&self, rows: &mut Matrix, pool: &Pool) {
        let height = rows.rows;
        self.forward_within(rows, |_| height, pool);
    }

    /// Returns `U^-1`. It satisfies `P^-1 = U^-1 U^-1'`.
    pub fn inverse_root(&self, pool: &Pool) -> Matrix {
        let mut rows = Matrix::identity(self.upper.rows);
        self.forward_within(&mut rows, |block| block.end, pool);
        rows
    }

    /// Implements [`Cholesky::forward`] for rows that contain known zeros. In the columns up to the end of a block, only the first `height(block)`
    /// rows have nonzero elements.
    fn forward_within(&self, rows: &mut Matrix, height: impl Fn(&Range<usize>) -> usize, pool: &Pool) {
        let size = self.upper.rows;
        assert_eq!(rows.columns, size, "columns of a triangular system");
        for (block, inverse) in blocks(size).zip(&self.inverses) {
            let (height, width, end) = (height(&block), block.len(), block.end);
            let solved = solved_block(rows, (height, &block), (inverse, [width, 1]), pool);
            Step {
                sizes: [height, size - end, width],
                a: (&solved.values, [width, 1]),
                b: (
                    self.upper
                        .values
                        .get(block.start * size + end..)
                        .unwrap_or_default(),
                    [size, 1],
                ),
                line: size,
                update: Update::Subtract,
                part: ComputedPart::All,
            }
            .write(rows.values.get_mut(end..).unwrap_or_default(), pool);
        }
    }

    /// Replaces each row `z` by `z U^-1'`. If the rows are standard normal, the results have the covariance `P^-1`.
    pub fn backward(&self, rows: &mut Matrix, pool: &Pool) {
        let size = self.upper.rows;
        assert_eq!(rows.columns, size, "columns of a triangular system");
        for (block, inverse) in blocks(size).zip(&self.inverses).rev() {
            let (height, width) = (rows.rows, block.len());
            let solved = solved_block(rows, (height, &block), (inverse, [1, width]), pool);
            Step {
                sizes: [height, block.start, width],
                a: (&solved.values, [width, 1]),
                b: (&self.upper.values[block.start..], [1, size]),
                line: size,
                update: Update::Subtract,
                part: ComputedPart::All,
            }
            .write(&mut rows.values, pool);
        }
    }
}

/// Takes a block of columns in the first rows, and multiplies it by the inverse of a diagonal block. Writes the result to these columns, and returns
/// a copy of it.
fn solved_block(
    rows: &mut Matrix,
    (height, block): (usize, &Range<usize>),
    (inverse, strides): (&Matrix, [usize; 2]),
    pool: &Pool,
) -> Matrix {
    let width = block.len();
    let old = columns_of(rows, 0..height, block.clone());
    let mut solved = Matrix::zeros(height, width);
    let step = Step {
        sizes: [height, width, width],
        a: (&old.values, [width, 1]),
        b: (&inverse.values, strides),
        line: width,
        update: Update::Store,
        part: ComputedPart::All,
    };
    step.write(&mut solved.values, pool);
    for row in 0..height {
        rows.row_mut(row)[block.clone()].copy_from_slice(solved.row(row));
    }
    solved
}

/// Returns a copy of a part of a matrix.
fn columns_of(matrix: &Matrix, rows: Range<usize>, columns: Range<usize>) -> Matrix {
    let (height, width) = (rows.len(), columns.len());
    let values = rows.flat_map(|row| &matrix.row(row)[columns.clone()]);
    Matrix::new(height, width, values.copied().collect())
}

/// Factors a diagonal block in place. A pivot is treated as zero if it is at most its element of `floors`.
fn factor_block(upper: &mut Matrix, block: &Range<usize>, floors: &[f64]) -> Result<(), NotPositive> {
    let size = upper.columns;
    for pivot in block.clone() {
        let value = upper[(pivot, pivot)];
        if !(value > floors[pivot] && value.is_finite()) {
            return Err(NotPositive {
                element: Some(pivot),
                value: if value > 0.0 && value.is_finite() {
                    0.0
                } else {
                    value
                },
            });
        }
        let (head, tail) = upper.values.split_at_mut((pivot + 1) * size);
        let row = &mut head[pivot * size + pivot..pivot * size + block.end];
        let root = value.sqrt();
        row[0] = root;
        row[1..].iter_mut().for_each(|element| *element /= root);
        for (offset, factor) in row.iter().enumerate().skip(1) {
            let start = (offset - 1) * size + pivot + offset;
            let below = &mut tail[start..start + row.len() - offset];
            below
                .iter_mut()
                .zip(&row[offset..])
                .for_each(|(element, other)| *element -= factor * other);
        }
    }
    Ok(())
}

/// Returns the inverse of a diagonal block of a triangular matrix.
fn invert_block(upper: &Matrix, block: &Range<usize>) -> Matrix {
    let width = block.len();
    let mut inverse = Matrix::identity(width);
    // The rows of the inverse are computed from the last row to the first: row i is (unit row i - sum over k > i of u[i, k] row k) / u[i, i].
    for row in (0..width).rev() {
        let pivots = &upper.row(block.start + row)[block.clone()];
        let (head, tail) = inverse.values.split_at_mut((row + 1) * width);
        let target = &mut head[row * width..];
        for (factor, other) in pivots[row + 1..].iter().zip(tail.chunks_exact(width)) {
            target
                .iter_mut()
                .zip(other)
                .for_each(|(element, other)| *element -= factor * other);
        }
        target.iter_mut().for_each(|element| *element /= pivots[row]);
    }
    inverse
}
