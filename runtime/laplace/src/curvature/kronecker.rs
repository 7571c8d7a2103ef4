//! Kronecker factors of diagonal blocks.

use crate::matrix::Matrix;

/// A diagonal block that is approximated by the Kronecker product of a mean over rows of `a a'` and a sum of `g g'` (Martens and Grosse 2015,
/// section 3; Botev et al. 2017): exact where there is one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its first element among the `D` weights.
    pub start: usize,
    /// The mean over the rows of the data of `a a'`; 1 where the right factor is the whole block.
    pub left: Matrix,
    /// The sum over rows and columns of `g g'`.
    pub right: Matrix,
    /// Element `i * right + j` has row `i` of `left` and row `j` of `right`; element `j * left + i` where this is true.
    pub swapped: bool,
}

impl Block {
    /// A block of no rows, with factors of these sizes.
    pub fn new(start: usize, left: usize, right: usize, swapped: bool) -> Block {
        Block {
            start,
            left: match left {
                1 => Matrix::identity(1),
                _ => Matrix::zeros(left, left),
            },
            right: Matrix::zeros(right, right),
            swapped,
        }
    }

    /// Adds the sums of `a a'` `[left, left]` (ignored where that has one element) and `g g'` `[right, right]` over some of the rows.
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

    /// Turns the sum of the left factor over so many rows into its mean.
    pub fn finish(&mut self, rows: usize) {
        if self.left.rows > 1 && rows > 0 {
            let values = self.left.values.iter_mut();
            values.for_each(|value| *value /= rows as f64);
        }
    }

    /// The number of weights.
    pub fn elements(&self) -> usize {
        self.left.rows * self.right.rows
    }

    /// The factors in the order of the elements: element `i * second + j` has row `i` of the first and row `j` of the second.
    pub(crate) fn factors(&self) -> [&Matrix; 2] {
        match self.swapped {
            false => [&self.left, &self.right],
            true => [&self.right, &self.left],
        }
    }

    /// Writes its diagonal to that of all weights.
    pub(crate) fn write_diagonal(&self, diagonal: &mut [f64]) {
        let [first, second] = self.factors().map(Matrix::diagonal);
        let products = first.iter().flat_map(|x| second.iter().map(move |y| x * y));
        let elements = diagonal[self.start..].iter_mut().zip(products);
        elements.for_each(|(element, product)| *element = product);
    }
}
