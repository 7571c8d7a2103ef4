//! Matrix products as cuBLAS wants them: columns after one another, one stride per operand, at most one batch axis.
//!
//! Note [Products by columns]. cuBLAS knows `C = op(A) op(B)` where in memory the columns of each matrix follow one another at a
//! leading stride, and `op` may transpose. Where the columns of our `c` lie side by side (`c_n = 1`, the usual case) its memory
//! is that of `c^T` by columns, so `c^T = b^T a^T` is asked for; where its rows do, `c = a b` is. Axes of one element have any
//! stride that is wanted.

/// Products of one call beyond which own kernels do better than a loop of calls.
const MOST: i64 = 64;

/// One call of a strided batched product: `c[i] = op(a[i]) op(b[i])`, or `c[i]` less that, by columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchedProduct {
    /// Rows and columns of `c`, and what is summed over.
    pub sizes: [i32; 3],
    /// The operand that comes first.
    pub a: MatrixOperand,
    /// The operand that comes second.
    pub b: MatrixOperand,
    /// The result, never transposed.
    pub c: MatrixOperand,
    /// The number of products.
    pub batch: i32,
    /// Whether they are taken away from what is there.
    pub subtracted: bool,
}

/// One matrix of a product, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixOperand {
    /// The operand of the primitive: 0, 1 or 2.
    pub slot: usize,
    /// Its first element.
    pub offset: i64,
    /// Whether it is read transposed.
    pub transposed: bool,
    /// From column to column.
    pub leading: i32,
    /// From product to product.
    pub stride: i64,
}

/// A matrix of some rows and columns with its strides.
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

    /// The stride between columns that lie after one another, if they do.
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

/// The products of a call of `matmul` with these integers; `None` where cuBLAS cannot, or not well. See Note [Products by columns].
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

/// The batch axes `(size, a, b, c)` with more than one element, neighbours joined where one stride serves both.
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

/// The longest axis becomes that of the calls, the others a loop.
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
