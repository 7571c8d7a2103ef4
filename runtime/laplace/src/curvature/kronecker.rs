//! Diagonal blocks of a curvature that are approximated by Kronecker products.

use crate::matrix::Matrix;

/// A diagonal block, approximated by a Kronecker product (Martens and Grosse 2015, section 3; Botev et al. 2017). The left factor is the
/// mean of `a a'`, and the right factor is the sum of `g g'`. The approximation is exact if the data have one row.
#[derive(Clone, Debug, PartialEq)]
pub struct KroneckerBlock {
    /// The index of the first element of the block among the `D` weights.
    pub start: usize,
    /// The mean of `a a'` over the rows of the data. If the right factor alone is the whole block, the left factor is the number 1.
    pub left: Matrix,
    /// The sum of `g g'` over all rows of the data, and for each row over all columns of its root.
    pub right: Matrix,
    /// Determines the order of the elements. The element for row `i` of `left` and row `j` of `right` has the index `i * right + j`, or
    /// `j * left + i` if `swapped` is true. In these formulas, `left` and `right` mean the number of rows of the factor with this name.
    pub swapped: bool,
}

impl KroneckerBlock {
    /// Returns an empty block whose factors have these numbers of rows.
    pub fn new(start: usize, left: usize, right: usize, swapped: bool) -> KroneckerBlock {
        KroneckerBlock {
            start,
            left: match left {
                1 => Matrix::identity(1),
                _ => Matrix::zeros(left, left),
            },
            right: Matrix::zeros(right, right),
            swapped,
        }
    }

    /// Adds sums over a block of rows to the factors. `left` is the sum of `a a'` `[left, left]`. It is ignored if the left factor has
    /// one element. `right` is the sum of `g g'` `[right, right]`.
    pub fn add(&mut self, left: &[f64], right: &[f64]) {
        let add = |to: &mut Matrix, from: &[f64]| {
            let elements = to.values.iter_mut().zip(from);
            elements.for_each(|(sum, value)| *sum += value);
        };
        if self.left.rows > 1 {
            add(&mut self.left, left);
        }
        add(&mut self.right, right);
    }

    /// Divides the left factor by the number of rows, so that it becomes a mean.
    pub fn finish(&mut self, rows: usize) {
        if self.left.rows > 1 && rows > 0 {
            let values = self.left.values.iter_mut();
            values.for_each(|value| *value /= rows as f64);
        }
    }

    /// Returns the number of weights in the block.
    pub fn elements(&self) -> usize {
        self.left.rows * self.right.rows
    }

    /// Returns the two factors in the order of the elements. The element with the index `i * second + j` belongs to row `i` of the first
    /// factor and row `j` of the second factor, where `second` is the number of rows of the second factor.
    pub(crate) fn factors(&self) -> [&Matrix; 2] {
        match self.swapped {
            false => [&self.left, &self.right],
            true => [&self.right, &self.left],
        }
    }
}
