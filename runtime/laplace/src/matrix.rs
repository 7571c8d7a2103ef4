//! Dense matrices in double precision, one row after the other.

use bnnc_kernels::matmul::dense::{Part, Product};
use bnnc_kernels::matmul::{Extents, Update};
use bnnc_kernels::pool::Pool;
use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut, Range};

/// A dense matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements, row after row.
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
    /// A matrix of these elements, row after row.
    ///
    /// # Panics
    /// Where there are not `rows * columns` of them.
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

    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix::new(rows, columns, vec![0.0; rows * columns])
    }

    /// The identity.
    pub fn identity(size: usize) -> Matrix {
        Matrix::from_diagonal(&vec![1.0; size])
    }

    /// A diagonal matrix.
    pub fn from_diagonal(diagonal: &[f64]) -> Matrix {
        let mut matrix = Matrix::zeros(diagonal.len(), diagonal.len());
        matrix.add_diagonal(diagonal);
        matrix
    }

    /// A matrix of one row.
    pub fn from_row(row: &[f64]) -> Matrix {
        Matrix::new(1, row.len(), row.to_vec())
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// A row, to be changed.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// All rows, also those of a matrix without columns.
    pub fn each_row(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        (0..self.rows).map(|row| self.row(row))
    }

    /// The elements with equal row and column.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows.min(self.columns))
            .map(|at| self[(at, at)])
            .collect()
    }

    /// Adds to the elements with equal row and column.
    pub fn add_diagonal(&mut self, diagonal: &[f64]) {
        (0..diagonal.len()).for_each(|at| self[(at, at)] += diagonal[at]);
    }

    /// Some adjacent rows.
    pub fn rows_in(&self, range: Range<usize>) -> Matrix {
        let values = &self.values[range.start * self.columns..range.end * self.columns];
        Matrix::new(range.len(), self.columns, values.to_vec())
    }

    /// Some columns, in the order given.
    pub fn columns_at(&self, columns: &[usize]) -> Matrix {
        let rows = self.each_row();
        let values = rows.flat_map(|row| columns.iter().map(|column| row[*column]));
        Matrix::new(self.rows, columns.len(), values.collect())
    }

    /// Appends the rows of a matrix with equally many columns.
    pub fn append(&mut self, other: &Matrix) {
        assert_eq!(self.columns, other.columns, "columns of appended rows");
        self.values.extend_from_slice(&other.values);
        self.rows += other.rows;
    }

    /// Rows for columns.
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

    /// Replaces elements and their mirrors by their means: what is symmetric but for rounding becomes so exactly.
    pub fn symmetrise(&mut self) {
        for row in 0..self.rows {
            for column in 0..row {
                let mean = 0.5 * (self[(row, column)] + self[(column, row)]);
                (self[(row, column)], self[(column, row)]) = (mean, mean);
            }
        }
    }

    /// The lower triangle becomes the mirror of the upper one.
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

    /// `self other`.
    pub fn product(&self, other: &Matrix, pool: &Pool) -> Matrix {
        let mut result = Matrix::zeros(self.rows, other.columns);
        result.add_product(self, other, pool);
        result
    }

    /// `self = self + left right`.
    pub fn add_product(&mut self, left: &Matrix, right: &Matrix, pool: &Pool) {
        assert_eq!(left.columns, right.rows, "contracted sizes");
        assert_eq!(self.columns, right.columns, "columns of a product");
        self.add_strided(left, right, [right.columns as isize, 1], pool);
    }

    /// `self other'`.
    pub fn product_transposed(&self, other: &Matrix, pool: &Pool) -> Matrix {
        assert_eq!(self.columns, other.columns, "contracted sizes");
        let mut result = Matrix::zeros(self.rows, other.rows);
        result.add_strided(self, other, [1, other.columns as isize], pool);
        result
    }

    /// Adds a product whose right operand has these strides along the contracted axis and the columns.
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
            part: Part::All,
        };
        product.write(pool, &mut self.values);
    }

    /// `self = self + weight * block' block`, for a symmetric matrix, which stays exactly symmetric.
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

    /// Adds the upper triangle of `left' right`, which is known to be symmetric; below the diagonal the result is arbitrary.
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
            part: Part::Upper,
        };
        product.write(pool, &mut self.values);
    }

    /// `self self'`.
    pub fn outer(&self, pool: &Pool) -> Matrix {
        let mut result = Matrix::zeros(self.rows, self.rows);
        result.add_upper_outer(self, pool);
        result.mirror_upper();
        result
    }

    /// `self S S self'` for the diagonal matrix `S` of these scales; some columns are copied at a time.
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

    /// Some of the columns.
    pub fn columns_in(&self, range: Range<usize>) -> Matrix {
        let values = self.each_row().flat_map(|row| &row[range.clone()]);
        Matrix::new(self.rows, range.len(), values.copied().collect())
    }

    /// Adds the upper triangle of `rows rows'`; below the diagonal the result is arbitrary.
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
            part: Part::Upper,
        };
        product.write(pool, &mut self.values);
    }
}

/// Columns that are copied at a time.
pub(crate) const COLUMNS: usize = 256;

/// The columns of each block.
pub(crate) fn blocks(columns: usize) -> impl Iterator<Item = Range<usize>> {
    (0..columns)
        .step_by(COLUMNS)
        .map(move |from| from..columns.min(from + COLUMNS))
}

/// The sum of the products of elements.
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
