//! Converts matrix products to the form that cuBLAS requires: column-major matrices, one stride per
//! operand, and at most one batch axis.
//!
//! Note [Products by columns]. cuBLAS computes `C = op(A) op(B)`. The matrices are column-major:
//! the elements of a column are adjacent, and columns follow at a leading stride. `op` may
//! transpose a matrix. In a plan, `c` is usually row-major (`c_n = 1`). Its memory then has the
//! layout of a column-major `c^T`, and cuBLAS computes `c^T = b^T a^T`. If `c` is column-major,
//! cuBLAS computes `c = a b`. If an axis has a single element, its stride does not matter.

/// If a call of the primitive needs more cuBLAS calls than this, the product is computed by bnnc's
/// kernels, which are then faster.
const MOST: i64 = 64;

/// One strided batched product in column-major order: `c[i] = op(a[i]) op(b[i])`, or `c[i] -=
/// op(a[i]) op(b[i])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchedProduct {
    /// The number of rows of `c`, the number of columns of `c`, and the number of terms of each
    /// sum.
    pub sizes: [i32; 3],
    /// The left operand.
    pub a: MatrixOperand,
    /// The right operand.
    pub b: MatrixOperand,
    /// The result. It is never transposed.
    pub c: MatrixOperand,
    /// The number of products.
    pub batch: i32,
    /// True if the products are subtracted from `c`. False if they overwrite `c`.
    pub subtracted: bool,
}

/// The layout of one matrix of a product. Offsets and distances are numbers of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixOperand {
    /// The index (0, 1 or 2) of the primitive's operand that contains the matrix.
    pub slot: usize,
    /// The offset of the first element in the operand.
    pub offset: i64,
    /// True if the product uses the transposed matrix.
    pub transposed: bool,
    /// The distance between the starts of consecutive columns.
    pub leading: i32,
    /// The distance between the matrices of consecutive products.
    pub stride: i64,
}

/// A matrix in an operand: the numbers of its rows and columns, and the strides between them.
#[derive(Clone, Copy)]
struct Matrix {
    slot: usize,
    rows: i64,
    columns: i64,
    row: i64,
    column: i64,
}

impl Matrix {
    fn transposed(self) -> Matrix {
        Matrix {
            slot: self.slot,
            rows: self.columns,
            columns: self.rows,
            row: self.column,
            column: self.row,
        }
    }

    /// Returns the stride between columns if the elements of each column are adjacent, and
    /// otherwise `None`.
    fn leading(self) -> Option<i32> {
        let compact = self.row == 1 || self.rows <= 1;
        let least = self.rows.max(1);
        let leading = if self.columns <= 1 { least } else { self.column };
        let fits = compact && leading >= least;
        i32::try_from(leading).ok().filter(|_| fits)
    }

    fn operand(self) -> Option<MatrixOperand> {
        let operand = |leading, transposed| MatrixOperand {
            slot: self.slot,
            offset: 0,
            transposed,
            leading,
            stride: 0,
        };
        match self.leading() {
            Some(leading) => Some(operand(leading, false)),
            None => Some(operand(self.transposed().leading()?, true)),
        }
    }
}

/// Returns the cuBLAS products that together compute a call of `matmul` with these integers.
/// Returns `None` if cuBLAS cannot compute the call efficiently. See Note [Products by columns].
pub fn products(ints: &[i64]) -> Option<Vec<BatchedProduct>> {
    let [m, n, k, a_m, a_k, b_k, b_n, c_m, c_n] = *ints.get(..9)?.as_array()?;
    let axes = axes(&ints[9..]);
    if m <= 0 || n <= 0 || axes.iter().any(|axis| axis[0] == 0) {
        return Some(Vec::new());
    }
    let matrix = |slot, rows, columns, row, column| Matrix {
        slot,
        rows,
        columns,
        row,
        column,
    };
    let a = matrix(0, m, k.max(0), a_m, a_k);
    let b = matrix(1, k.max(0), n, b_k, b_n);
    let c = matrix(2, m, n, c_m, c_n);
    let by_rows = || one([b.transposed(), a.transposed(), c.transposed()]);
    let product = by_rows().or_else(|| one([a, b, c]))?;
    batched(product, &axes)
}

fn one([a, b, c]: [Matrix; 3]) -> Option<BatchedProduct> {
    let leading = c.leading()?;
    let size = |size: i64| i32::try_from(size).ok();
    Some(BatchedProduct {
        sizes: [size(c.rows)?, size(c.columns)?, size(a.columns)?],
        a: a.operand()?,
        b: b.operand()?,
        c: MatrixOperand {
            slot: c.slot,
            offset: 0,
            transposed: false,
            leading,
            stride: 0,
        },
        batch: 1,
        subtracted: false,
    })
}

/// Returns the batch axes `(size, a, b, c)` that have more than one element. Neighbouring axes are
/// joined if a single stride per operand traverses both.
fn axes(ints: &[i64]) -> Vec<[i64; 4]> {
    let mut axes: Vec<[i64; 4]> = Vec::new();
    let given = ints.as_chunks::<4>().0;
    for axis in given.iter().filter(|axis| axis[0] != 1) {
        match axes.last_mut() {
            Some(last) if (1..4).all(|at| last[at] == axis[0] * axis[at]) => {
                *last = [last[0] * axis[0], axis[1], axis[2], axis[3]];
            }
            _ => axes.push(*axis),
        }
    }
    axes
}

/// Makes the longest axis the batch axis of each cuBLAS call. For the other axes, each index gets a
/// separate call.
fn batched(product: BatchedProduct, axes: &[[i64; 4]]) -> Option<Vec<BatchedProduct>> {
    let longest = (0..axes.len()).max_by_key(|at| axes[*at][0]);
    let mut products = vec![product];
    for (at, axis) in axes.iter().enumerate() {
        if axis[3] == 0 {
            return None;
        }
        let shift = |product: &BatchedProduct, index: i64| {
            let mut product = product.clone();
            for operand in [&mut product.a, &mut product.b, &mut product.c] {
                operand.offset += index * axis[operand.slot + 1];
            }
            product
        };
        if Some(at) == longest {
            for product in &mut products {
                product.batch = i32::try_from(axis[0]).ok()?;
                for operand in [&mut product.a, &mut product.b, &mut product.c] {
                    operand.stride = axis[operand.slot + 1];
                }
            }
        } else {
            if axis[0].saturating_mul(products.len() as i64) > MOST {
                return None;
            }
            let shifted = products
                .iter()
                .flat_map(|product| (0..axis[0]).map(move |index| shift(product, index)));
            products = shifted.collect();
        }
    }
    Some(products)
}

#[cfg(test)]
mod tests;
