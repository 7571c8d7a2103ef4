//! Sums of the outer products of rows.

use crate::matrix::Matrix;
use bnnc_kernels::pool::Pool;

/// The number of rows that enter one matrix product.
const ROWS: usize = 256;

/// The sum `G'G`, to which the rows of `G` are added in blocks. The result does not depend on how the rows
/// are divided into blocks.
#[derive(Clone, Debug)]
pub struct Gram {
    sum: Matrix,
    /// Rows that are not yet included in the sum. There are fewer than [`ROWS`] such rows.
    pending: Matrix,
}

impl Gram {
    /// Returns an empty sum for rows with `elements` elements.
    pub fn new(elements: usize) -> Gram {
        Gram {
            sum: Matrix::zeros(elements, elements),
            pending: Matrix::zeros(0, elements),
        }
    }

    /// Adds `weight * block' block` to the sum. The weight must not be negative.
    pub fn add(&mut self, block: &Matrix, weight: f64, pool: &Pool) {
        let root = weight.sqrt();
        let mut from = 0;
        while from < block.rows {
            let to = block.rows.min(from + ROWS - self.pending.rows);
            let mut rows = block.rows_in(from..to);
            if weight != 1.0 {
                rows.values.iter_mut().for_each(|value| *value *= root);
            }
            self.pending.append(&rows);
            if self.pending.rows == ROWS {
                self.flush(pool);
            }
            from = to;
        }
    }

    fn flush(&mut self, pool: &Pool) {
        let empty = Matrix::zeros(0, self.sum.columns);
        let rows = std::mem::replace(&mut self.pending, empty);
        self.sum.add_upper_gram(&rows, &rows, pool);
    }

    /// Returns the sum over all rows that were added.
    pub fn finish(mut self, pool: &Pool) -> Matrix {
        self.flush(pool);
        self.sum.mirror_upper();
        self.sum
    }
}

/// Adds the diagonal of `weight * block' block` to `sums` `[D]`. The diagonal consists of the weighted sums
/// of the squares in each column.
pub fn add_squares(sums: &mut [f64], block: &Matrix, weight: f64) {
    assert_eq!(sums.len(), block.columns, "columns of a block");
    for row in block.each_row() {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += weight * value * value);
    }
}
