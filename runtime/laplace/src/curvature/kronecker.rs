//! Kronecker factors of diagonal blocks.

use crate::matrix::Matrix;

/// A diagonal block that is approximated by the Kronecker product of a mean over rows of `a a'` and a sum of `g g'` (Martens and Grosse 2015,
/// section 3; Botev et al. 2017). The approximation is exact for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct KroneckerBlock {
    /// The index of the first element of the block among the `D` weights.
    pub start: usize,
    /// The mean of `a a'` over the rows of the data. If the right factor is the whole block, this factor is the number 1.
    pub left: Matrix,
    /// The sum of `g g'` over the rows of the data and the columns of the root.
    pub right: Matrix,
    /// The order of the elements. The element for row `i` of `left` and row `j` of `right` has the index `i * right + j`, or `j * left + i` if
    /// `swapped` is true.
    pub swapped: bool,
}

impl KroneckerBlock {
    /// Returns an empty block with factors of these sizes.
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

    /// Adds the sums of `a a'` `[left, left]` (ignored if the left factor has one element) and `g g'` `[right, right]` over some of the rows.
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

    /// Divides the left factor by the number of rows, which changes the sum into the mean.
    pub fn finish(&mut self, rows: usize) {
        if self.left.rows > 1 && rows > 0 {
            let values = self.left.values.iter_mut();
            values.for_each(|value| *value /= rows as f64);
        }
    }

    /// Returns the number of weights.
    pub fn elements(&self) -> usize {
        self.left.rows * self.right.rows
    }

    /// Returns the factors in the order of the elements: element `i * second + j` belongs to row `i` of the first and row `j` of the second.
    pub(crate) fn factors(&self) -> [&Matrix; 2] {
        match self.swapped {
            false => [&self.left, &self.right],
            true => [&self.right, &self.left],
        }
    }
}
