//! Large Cholesky factors with the matrix products of cuBLAS.
//!
//! Note [Cholesky factors]. A factor is made column of blocks by column of blocks. What the columns before it take away from a column of
//! blocks, on and below the diagonal, is one matrix product, and the products are nearly all of the work; then our own kernels factor the
//! block on the diagonal, a block of threads for each matrix, and solve for the rows below, a thread for each.
//!
//! What is left of a matrix that is not positive definite is what the primitive says, NaN included: an element of a product depends on a
//! row of each operand alone, with NaN as well, and the rest is our own. Of `trsm`, which would do for the rows below, that is not
//! documented: where it multiplies by the inverse of a block, NaN at the end of the block reaches columns before.
//!
//! cuSOLVER is not used. cuBLAS's manual says what of it a capture may hold; cuSOLVER's (12.9) has no such section, and some of its
//! functions are known to fail there. What a library asks another stream for during a capture need neither fail nor become part of the
//! graph, whose later runs would then find the factor of the first. Nor is it documented what it leaves of a matrix that is not positive
//! definite, and cuSOLVER 11.4.2 did not always tell that it met one.

use crate::products::{BatchedProduct, MatrixOperand};

/// Rows of a matrix from which on it goes by blocks. Our kernel of one block of threads makes `n^3 / 3` multiply-adds 256 at a time, some
/// 20 ns each: 0.4 ms for 256 rows, while four columns of blocks are eleven launches of some 40 us. This is an estimate and not measured.
const FROM: i64 = 256;

/// The matrices of a call of `cholesky`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// How many there are.
    pub batch: i32,
    /// Rows and columns of each.
    pub n: i32,
}

/// A column of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its first row and column.
    pub first: i32,
    /// Rows and columns of its block on the diagonal.
    pub rows: i32,
    /// Rows below that.
    pub below: i32,
}

/// The factors of a call with these integers; `None` where our own kernel does as well.
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
    /// Elements of all matrices.
    pub fn elements(&self) -> i64 {
        let [batch, n] = [self.batch, self.n].map(i64::from);
        batch * n * n
    }

    /// The columns of blocks of so many rows, in order.
    pub fn columns(self, rows: u32) -> impl Iterator<Item = Column> {
        let n = self.n;
        let most = i32::try_from(rows).map_or(n, |rows| rows.max(1));
        let column = move |first: i32| {
            let rows = most.min(n - first);
            Column {
                first,
                rows,
                below: n - first - rows,
            }
        };
        (0..n).step_by(most as usize).map(column)
    }

    /// What columns before this one take away from it: `l[first.., column] -= l[first.., ..first] l[column, ..first]^T`, of the one
    /// operand. By columns, as cuBLAS sees it, both sides are transposed.
    pub fn update(&self, column: &Column) -> Option<BatchedProduct> {
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
    fn what_does_not_pay_is_left_alone() {
        for ints in [[1, FROM - 1], [0, FROM], [1, 1 << 40], [1 << 40, FROM]] {
            assert_eq!(factor(&ints), None, "{ints:?}");
        }
        assert_eq!(factor(&[1, 300, 1]), None);
    }
}
