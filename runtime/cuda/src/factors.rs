//! Computes large Cholesky factors with the matrix products of cuBLAS.
//!
//! Note [Cholesky factors]. A factor is computed one column of blocks at a time. First, one matrix
//! product subtracts the contribution of the earlier columns, on and below the diagonal. Nearly all
//! of the work is in these products. Then bnnc's kernels factor the block on the diagonal, with one
//! block of threads per matrix. They also solve for the rows below it, with one thread per row.
//!
//! If a matrix is not positive definite, the result is what the primitive specifies, including NaN.
//! The result is guaranteed for two reasons. First, an element of a product depends on only one row
//! of each operand, even if other rows contain NaN. Second, all other steps are bnnc's own code.
//! `trsm` of cuBLAS could solve for the rows below the diagonal, but its documentation does not
//! guarantee the specified result: if `trsm` multiplied by the inverse of a block, a NaN at the end of
//! the block would spread to earlier columns.
//!
//! cuSOLVER is not used, for two reasons. First, unlike the manual of cuBLAS, the manual of cuSOLVER
//! (12.9) does not state which calls are allowed in a capture, and some functions of cuSOLVER are known
//! to fail in a capture. If a library enqueued work on another stream during a capture, this work could
//! succeed without becoming part of the graph, and later runs of the graph would read the factor of the
//! first run. Second, the result of cuSOLVER for a matrix that is not positive definite is not
//! documented, and cuSOLVER 11.4.2 did not always report such a matrix.

use crate::products::{BatchedProduct, MatrixOperand};

/// A matrix is factored by blocks if it has at least this number of rows. Without blocks, a kernel with
/// one block of threads makes `n^3 / 3` multiply-adds, 256 at a time, each of which takes about 20 ns.
/// For 256 rows, this is 0.4 ms. Divided into blocks, such a matrix has four columns of blocks, and
/// factoring it takes eleven launches of about 40 us each. These times are estimates, not measurements.
const FROM: i64 = 256;

/// The matrices that a call of `cholesky` factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The number of matrices.
    pub batch: i32,
    /// The number of rows and columns of each matrix.
    pub n: i32,
}

/// A column of blocks of a matrix. It begins on the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockColumn {
    /// The index of its first row. It equals the index of its first column.
    pub first: i32,
    /// The number of rows and columns of the block on the diagonal.
    pub rows: i32,
    /// The number of rows below the block on the diagonal.
    pub below: i32,
}

/// Returns the matrices of a call with these integers, if they are factored by blocks. Returns `None`
/// if bnnc's kernel without blocks is at least as fast.
pub fn factor(ints: &[i64]) -> Option<Factor> {
    let [batch, n] = *ints.as_array()?;
    let pays = batch > 0 && n >= FROM;
    let size = |size: i64| i32::try_from(size).ok().filter(|_| pays);
    Some(Factor {
        batch: size(batch)?,
        n: size(n)?,
    })
}

impl Factor {
    /// Returns the number of elements of all matrices together.
    pub fn elements(&self) -> i64 {
        let [batch, n] = [self.batch, self.n].map(i64::from);
        batch * n * n
    }

    /// Returns the columns of blocks from left to right. A block has at most `rows` rows.
    pub fn columns(self, rows: u32) -> impl Iterator<Item = BlockColumn> {
        let n = self.n;
        let most = i32::try_from(rows).map_or(n, |rows| rows.max(1));
        let column = move |first: i32| {
            let rows = most.min(n - first);
            BlockColumn {
                first,
                rows,
                below: n - first - rows,
            }
        };
        (0..n).step_by(most as usize).map(column)
    }

    /// Returns the product that updates a column of blocks by subtracting the contribution of the
    /// earlier columns: `l[first.., column] -= l[first.., ..first] l[column, ..first]^T`. The operands
    /// and the result are parts of one matrix. cuBLAS stores matrices in column-major order, so both
    /// sides are transposed.
    pub fn update(&self, column: &BlockColumn) -> Option<BatchedProduct> {
        let n = i64::from(self.n);
        let operand = |column_offset: i32, transposed| MatrixOperand {
            slot: 0,
            offset: i64::from(column.first) * n + i64::from(column_offset),
            transposed,
            leading: self.n,
            stride: n * n,
        };
        (column.first > 0).then(|| BatchedProduct {
            sizes: [column.rows, column.rows + column.below, column.first],
            a: operand(0, true),
            b: operand(0, false),
            c: operand(column.first, false),
            batch: self.batch,
            subtracted: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_cover_the_matrix() {
        for (n, rows) in [
            (256, 64),
            (300, 64),
            (257, 256),
            (300, 1),
            (300, 0),
            (300, u32::MAX),
        ] {
            let factor = factor(&[2, n]).expect("large enough");
            let mut next = 0;
            for column in factor.columns(rows) {
                assert!(column.first == next && column.rows > 0, "{column:?}");
                next += column.rows;
                assert_eq!(next + column.below, factor.n, "{column:?}");
                assert_eq!(factor.update(&column).is_some(), column.first > 0);
            }
            assert_eq!(next, factor.n);
        }
    }

    #[test]
    fn small_and_huge_factors_are_left_to_our_kernel() {
        for ints in [[1, FROM - 1], [0, FROM], [1, 1 << 40], [1 << 40, FROM]] {
            assert_eq!(factor(&ints), None, "{ints:?}");
        }
        assert_eq!(factor(&[1, 300, 1]), None);
    }
}
