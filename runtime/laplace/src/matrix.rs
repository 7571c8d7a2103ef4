//! Dense row-major matrices of `f64` numbers.

use bnnc_kernels::matmul::dense::{ComputedPart, Product};
use bnnc_kernels::matmul::{Extents, Update};
use bnnc_kernels::pool::Pool;
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut, Range};

/// A dense row-major matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The elements, one row after the other.
    pub values: Vec<f64>,
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.row(row)[column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.row_mut(row)[column]
    }
}

impl Matrix {
    /// Returns a matrix with these elements. They are given one row after the other.
    ///
    /// # Panics
    /// Panics if the number of elements is not `rows * columns`.
    pub fn new(rows: usize, columns: usize, values: Vec<f64>) -> Matrix {
        assert_eq!(
            values.len(),
            rows * columns,
            "elements of a {rows} x {columns} matrix"
        );
        Matrix {
            rows,
            columns,
            values,
        }
    }

    /// Returns a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix::new(rows, columns, vec![0.0; rows * columns])
    }

    /// Returns the identity matrix.
    pub fn identity(size: usize) -> Matrix {
        Matrix::from_diagonal(&vec![1.0; size])
    }

    /// Returns a diagonal matrix with this diagonal.
    pub fn from_diagonal(diagonal: &[f64]) -> Matrix {
        let mut matrix = Matrix::zeros(diagonal.len(), diagonal.len());
        matrix.add_diagonal(diagonal);
        matrix
    }

    /// Returns the rows of the identity matrix of this size with these indices.
    pub fn units(rows: &[usize], size: usize) -> Matrix {
        let mut units = Matrix::zeros(rows.len(), size);
        for (at, row) in rows.iter().enumerate() {
            units[(at, *row)] = 1.0;
        }
        units
    }

    /// Returns a matrix that consists of one row.
    pub fn from_row(row: &[f64]) -> Matrix {
        Matrix::new(1, row.len(), row.to_vec())
    }

    /// Returns the row with this index.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Returns the row with this index as a mutable slice.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Iterates over all rows. Returns the right number of rows even if the matrix does not have columns.
    pub fn each_row(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        (0..self.rows).map(|row| self.row(row))
    }

    /// Returns the diagonal of the matrix.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows.min(self.columns))
            .map(|at| self[(at, at)])
            .collect()
    }

    /// Adds numbers to the diagonal of the matrix.
    pub fn add_diagonal(&mut self, diagonal: &[f64]) {
        (0..diagonal.len()).for_each(|at| self[(at, at)] += diagonal[at]);
    }

    /// Returns a copy of adjacent rows.
    pub fn rows_in(&self, range: Range<usize>) -> Matrix {
        let values = &self.values[range.start * self.columns..range.end * self.columns];
        Matrix::new(range.len(), self.columns, values.to_vec())
    }

    /// Returns a copy of the columns whose indices are in `columns`, in this order.
    pub fn columns_at(&self, columns: &[usize]) -> Matrix {
        let rows = self.each_row();
        let values = rows.flat_map(|row| columns.iter().map(|column| row[*column]));
        Matrix::new(self.rows, columns.len(), values.collect())
    }

    /// Appends the rows of a matrix with the same number of columns.
    pub fn append(&mut self, other: &Matrix) {
        assert_eq!(self.columns, other.columns, "columns of appended rows");
        self.values.extend_from_slice(&other.values);
        self.rows += other.rows;
    }

    /// Returns the transpose.
    pub fn transposed(&self) -> Matrix {
        const SIDE: usize = 32;
        let mut to = Matrix::zeros(self.columns, self.rows);
        for top in (0..self.rows).step_by(SIDE) {
            for left in (0..self.columns).step_by(SIDE) {
                for row in top..self.rows.min(top + SIDE) {
                    for column in left..self.columns.min(left + SIDE) {
                        to.values[column * self.rows + row] = self.values[row * self.columns + column];
                    }
                }
            }
        }
        to
    }

    /// Multiplies each column by a number.
    pub fn scale_columns(&mut self, scales: &[f64]) {
        assert_eq!(scales.len(), self.columns, "factors of columns");
        for row in 0..self.rows {
            let elements = self.row_mut(row).iter_mut();
            elements
                .zip(scales)
                .for_each(|(element, scale)| *element *= scale);
        }
    }

    /// Replaces each element by the mean of itself and its mirror image in the other triangle. This removes rounding
    /// errors from a matrix that should be symmetric.
    pub fn symmetrise(&mut self) {
        for row in 0..self.rows {
            for column in 0..row {
                let mean = 0.5 * (self[(row, column)] + self[(column, row)]);
                (self[(row, column)], self[(column, row)]) = (mean, mean);
            }
        }
    }

    /// Copies the upper triangle to the lower triangle.
    pub fn mirror_upper(&mut self) {
        const SIDE: usize = 32;
        let size = self.rows;
        for top in (0..size).step_by(SIDE) {
            for left in (0..=top).step_by(SIDE) {
                for row in top..size.min(top + SIDE) {
                    for column in left..row.min(left + SIDE) {
                        self.values[row * size + column] = self.values[column * size + row];
                    }
                }
            }
        }
    }

    /// Returns the product `self other`.
    pub fn product(&self, other: &Matrix, pool: &Pool) -> Matrix {
        let mut result = Matrix::zeros(self.rows, other.columns);
        result.add_product(self, other, pool);
        result
    }

    /// Adds the product `left right` to this matrix.
    pub fn add_product(&mut self, left: &Matrix, right: &Matrix, pool: &Pool) {
        assert_eq!(left.columns, right.rows, "contracted sizes");
        assert_eq!(self.columns, right.columns, "columns of a product");
        self.add_strided(left, right, [right.columns as isize, 1], pool);
    }

    /// Returns the product `self other'`.
    pub fn product_transposed(&self, other: &Matrix, pool: &Pool) -> Matrix {
        assert_eq!(self.columns, other.columns, "contracted sizes");
        let mut result = Matrix::zeros(self.rows, other.rows);
        result.add_strided(self, other, [1, other.columns as isize], pool);
        result
    }

    /// Adds the product of `left` and a right operand to this matrix. `strides` are the strides of the right operand along the
    /// contracted axis and along its columns.
    fn add_strided(&mut self, left: &Matrix, right: &Matrix, strides: [isize; 2], pool: &Pool) {
        assert_eq!(self.rows, left.rows, "rows of a product");
        let product = Product {
            extents: Extents {
                m: self.rows,
                n: self.columns,
                k: left.columns,
                a: [left.columns as isize, 1],
                b: strides,
                c: [self.columns as isize, 1],
            },
            a: &left.values,
            b: &right.values,
            update: Update::Add,
            part: ComputedPart::All,
        };
        product.write(pool, &mut self.values);
    }

    /// Adds `weight * block' block` to this matrix. A symmetric matrix stays exactly symmetric.
    pub fn add_gram(&mut self, block: &Matrix, weight: f64, pool: &Pool) {
        if weight == 1.0 {
            self.add_upper_gram(block, block, pool);
        } else {
            let mut scaled = block.clone();
            scaled.values.iter_mut().for_each(|value| *value *= weight);
            self.add_upper_gram(&scaled, block, pool);
        }
        self.mirror_upper();
    }

    /// Adds the upper triangle of `left' right` to this matrix. The product must be symmetric. The elements below the diagonal are
    /// undefined afterwards.
    pub(crate) fn add_upper_gram(&mut self, left: &Matrix, right: &Matrix, pool: &Pool) {
        let size = right.columns;
        assert_eq!(
            [self.rows, self.columns, left.columns],
            [size; 3],
            "sizes of a sum of products"
        );
        assert_eq!(left.rows, right.rows, "contracted sizes");
        let product = Product {
            extents: Extents {
                m: size,
                n: size,
                k: right.rows,
                a: [1, size as isize],
                b: [size as isize, 1],
                c: [size as isize, 1],
            },
            a: &left.values,
            b: &right.values,
            update: Update::Add,
            part: ComputedPart::Upper,
        };
        product.write(pool, &mut self.values);
    }

    /// Returns the product `self self'`.
    pub fn outer(&self, pool: &Pool) -> Matrix {
        let mut result = Matrix::zeros(self.rows, self.rows);
        result.add_upper_outer(self, pool);
        result.mirror_upper();
        result
    }

    /// Returns `self S S self'`, where `S` is the diagonal matrix of `scales`. To save memory, only one block of columns is copied
    /// at a time.
    pub fn scaled_outer(&self, scales: &[f64], pool: &Pool) -> Matrix {
        let mut result = Matrix::zeros(self.rows, self.rows);
        for columns in blocks(self.columns) {
            let mut part = self.columns_in(columns.clone());
            part.scale_columns(&scales[columns]);
            result.add_upper_outer(&part, pool);
        }
        result.mirror_upper();
        result
    }

    /// Returns a copy of adjacent columns.
    pub fn columns_in(&self, range: Range<usize>) -> Matrix {
        let values = self.each_row().flat_map(|row| &row[range.clone()]);
        Matrix::new(self.rows, range.len(), values.copied().collect())
    }

    /// Adds the upper triangle of `rows rows'` to this matrix. The elements below the diagonal are undefined afterwards.
    fn add_upper_outer(&mut self, rows: &Matrix, pool: &Pool) {
        let product = Product {
            extents: Extents {
                m: rows.rows,
                n: rows.rows,
                k: rows.columns,
                a: [rows.columns as isize, 1],
                b: [1, rows.columns as isize],
                c: [rows.rows as isize, 1],
            },
            a: &rows.values,
            b: &rows.values,
            update: Update::Add,
            part: ComputedPart::Upper,
        };
        product.write(pool, &mut self.values);
    }
}

/// The number of columns in a block. One block is copied at a time.
pub(crate) const COLUMNS: usize = 256;

/// Returns the range of columns of each block.
pub(crate) fn blocks(columns: usize) -> impl Iterator<Item = Range<usize>> {
    (0..columns)
        .step_by(COLUMNS)
        .map(move |from| from..columns.min(from + COLUMNS))
}

/// Returns the dot product of two slices.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (x, y) in xs.iter().zip(ys) {
        lanes
            .iter_mut()
            .zip(x.iter().zip(y))
            .for_each(|(sum, (x, y))| *sum += x * y);
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.into_iter().sum::<f64>() + rest
}
