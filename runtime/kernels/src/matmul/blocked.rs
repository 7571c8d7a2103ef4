//! One matrix product on one thread. Chooses the form of its computation, divides it into blocks,
//! and copies operands that would be slow to read.
//!
//! Note [Copied operands]. The kernels accept any strides of the left operand. The right operand
//! may have any row stride, but its columns must be adjacent. Operands are therefore copied only in
//! two cases. First, if the columns of the right operand are not adjacent, they are copied, one
//! strip at a time. Second, if the stride of the left operand is a multiple of the page size, its rows or columns are copied, because they would
//! otherwise evict each other from the L1 cache. Further copies do not help on processors that reorder loads across hundreds of instructions.

use super::Extents;
use super::tile::{Kernels, MatmulElement, TileJob, TileKernel, Update};
use super::workspace::{self, DEPTH, HEIGHT_BYTES, Workspace};

/// The maximum number of columns of the result that one sweep updates. A sweep of this length fits into the L1 cache, so its columns of the row are
/// still there afterwards.
const SWEEP: usize = 4096;
/// The left operand is copied only if the result has at least this number of columns. With fewer
/// columns, the copy costs more than it saves.
const WORTH: usize = 64;

/// The form of a product's computation. All pieces of a product use the same form, because it is
/// chosen once for the whole product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductForm {
    /// Computes tiles of the result. Each element is a sum along `k`.
    Tiles,
    /// Computes one row of the result. Vectors lie along the row.
    Row,
    /// Computes one row of the result. Vectors lie along `k`.
    Dots,
}

/// The addresses of the operands for one piece of a product.
pub struct Addresses<T> {
    /// The left operand.
    pub a: *const T,
    /// The right operand.
    pub b: *const T,
    /// The result.
    pub c: *mut T,
}

/// Returns the form in which to compute a product. The Boolean is true if the transposed product is computed instead.
pub fn form<T>(kernels: &Kernels<T>, extents: &Extents) -> (ProductForm, bool) {
    let transposed = extents.transposed();
    let turn = cost(kernels, &transposed) < cost(kernels, extents);
    let extents = if turn { &transposed } else { extents };
    let form = match extents {
        Extents {
            m: 1,
            n: 1,
            b: [1, _],
            ..
        } => ProductForm::Dots,
        Extents {
            m: 1,
            b: [_, 1],
            c: [_, 1],
            ..
        } => ProductForm::Row,
        Extents { m: 1, b: [1, _], .. } => ProductForm::Dots,
        _ => ProductForm::Tiles,
    };
    (form, turn)
}

/// Estimates the cost of a product. An operation on a whole vector costs `lanes` units, and an operation on half a vector costs half of this.
fn cost<T>(kernels: &Kernels<T>, extents: &Extents) -> usize {
    let Extents { m, n, k, .. } = *extents;
    let lanes = kernels.lanes;
    let halves = 2 * (n / lanes)
        + match n % lanes {
            0 => 0,
            rest if rest <= kernels.half => 1,
            _ => 2,
        };
    let products = m * k * halves * lanes / 2;
    let copying = match extents.b {
        _ if n == 1 => 0,
        [_, 1] => 0,
        [1, _] if m == 1 => 0,
        [1, _] => k * n * lanes / 2,
        _ => k * n * lanes,
    };
    let scattering = if extents.c[1] == 1 || n == 1 {
        0
    } else {
        m * n * lanes
    };
    products + copying + scattering
}

/// Computes a piece of a product. The form has already been chosen for the whole product.
///
/// # Safety
/// The operands must contain every element that lies within the extents. The result must not overlap an
/// operand.
pub unsafe fn compute<T: MatmulElement>(
    kernels: &Kernels<T>,
    form: ProductForm,
    extents: &Extents,
    at: &Addresses<T>,
    update: Update,
) {
    if extents.m == 0 || extents.n == 0 {
        return;
    }
    workspace::with(|space| {
        let piece = Piece {
            kernels,
            extents,
            at,
            update,
            space,
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match form {
                ProductForm::Tiles => piece.tiles(),
                ProductForm::Row => piece.row(),
                ProductForm::Dots => piece.dots(),
            }
        }
    });
}

/// Divides `size` into one or more parts of about equal size, each at most `most`. Returns `(start, length)` of each part.
pub fn blocks(size: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = size.div_ceil(most).max(1);
    let cut = move |at: usize| size * at / count;
    (0..count).map(move |at| (cut(at), cut(at + 1) - cut(at)))
}

/// The operands and settings of one piece of a product.
struct Piece<'a, T: 'static> {
    kernels: &'a Kernels<T>,
    extents: &'a Extents,
    at: &'a Addresses<T>,
    update: Update,
    space: Workspace<T>,
}

/// The columns that one kernel call computes, for one block of rows and one block of the contracted axis.
pub struct Strip<T: 'static> {
    /// The kernels, indexed by the number of rows minus one.
    pub kernels: &'static [TileKernel<T>],
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The addresses of the operands at the first row, and of the first tile of the result in this strip.
    pub job: TileJob<T>,
}

impl<T: MatmulElement> Piece<'_, T> {
    /// Returns how a block of the contracted axis updates the result. The block starts at `first`. All blocks after the first one add to the
    /// result.
    fn update(&self, first: usize) -> Update {
        if first > 0 && self.update == Update::Store {
            Update::Add
        } else {
            self.update
        }
    }

    /// # Safety
    /// The same conditions as for [`compute`] apply.
    unsafe fn tiles(&self) {
        let Extents {
            m, n, k, a: strides, ..
        } = *self.extents;
        let compete = n >= WORTH && self.extents.lines_compete(size_of::<T>());
        for (top, rows) in blocks(m, HEIGHT_BYTES / size_of::<T>()) {
            for (first, depth) in blocks(k, DEPTH) {
                let corner = top as isize * strides[0] + first as isize * strides[1];
                let from = self.at.a.wrapping_offset(corner);
                // SAFETY: the block is inside the operand. The workspace has room for any block.
                let (a, a_strides) = if compete {
                    unsafe { self.copy_lines(from, (rows, depth)) }
                } else {
                    (from, strides)
                };
                let mut left = 0;
                while left < n {
                    // SAFETY: the columns are inside the operands.
                    left += unsafe { self.strip((a, a_strides), (top, rows), (first, depth), left) };
                }
            }
        }
    }

    /// Computes the next strip of columns. Returns the number of its columns.
    ///
    /// # Safety
    /// The same conditions as for [`compute`] apply. `a` must be the block of the left operand.
    unsafe fn strip(
        &self,
        (a, a_strides): (*const T, [isize; 2]),
        (top, rows): (usize, usize),
        (first, depth): (usize, usize),
        left: usize,
    ) -> usize {
        let ([b_k, b_n], [c_m, c_n]) = (self.extents.b, self.extents.c);
        let (kernels, columns, tail) = self.kernels.for_columns(self.extents.n - left);
        let from = self
            .at
            .b
            .wrapping_offset(first as isize * b_k + left as isize * b_n);
        let (b, b_stride) = if b_n == 1 || columns == 1 {
            (from, b_k)
        } else {
            // SAFETY: the columns are inside the operand. The workspace has room for the widest and
            // deepest strip.
            unsafe { self.copy_columns(from, (depth, columns)) };
            (self.space.strip.cast_const(), self.kernels.pair() as isize)
        };
        let c = self
            .at
            .c
            .wrapping_offset(top as isize * c_m + left as isize * c_n);
        let update = self.update(first);
        let job = TileJob {
            k: depth,
            a,
            a_strides,
            b,
            b_stride,
            c,
            c_stride: c_m,
            tail,
            update,
        };
        let strip = Strip {
            kernels,
            rows,
            columns,
            job,
        };
        // SAFETY: the strip is inside the operands.
        unsafe {
            if c_n == 1 || columns == 1 {
                strip.compute(self.kernels.rows);
            } else {
                strip.compute_apart(self.kernels.rows, (self.space.tile, self.kernels.pair()), c_n);
            }
        }
        columns
    }

    /// Copies a block of the left operand. Elements must be adjacent along its rows or along its columns. In the copy, these rows or columns do not
    /// evict each other from the cache. Returns `(copy, strides)`.
    ///
    /// # Safety
    /// `from` must hold the whole block.
    unsafe fn copy_lines(&self, from: *const T, (rows, depth): (usize, usize)) -> (*const T, [isize; 2]) {
        let [a_m, a_k] = self.extents.a;
        let along_k = a_k == 1;
        let (lines, length, line) = if along_k {
            (rows, depth, a_m)
        } else {
            (depth, rows, a_k)
        };
        let stride = workspace::apart::<T>(length);
        for at in 0..lines {
            let from = from.wrapping_offset(at as isize * line);
            // SAFETY: the caller guarantees that `from` holds the block. The workspace has room for
            // the highest and deepest block.
            unsafe { std::ptr::copy_nonoverlapping(from, self.space.rows.add(at * stride), length) };
        }
        let stride = stride as isize;
        (self.space.rows, if along_k { [stride, 1] } else { [1, stride] })
    }

    /// Copies columns of the right operand, so that the copied columns are adjacent.
    ///
    /// # Safety
    /// `from` must hold all of these columns.
    unsafe fn copy_columns(&self, from: *const T, (depth, columns): (usize, usize)) {
        let ([b_k, b_n], side, to) = (self.extents.b, self.kernels.square, self.space.strip);
        let element = |k: usize, j: usize| from.wrapping_offset(k as isize * b_k + j as isize * b_n);
        let whole = |size: usize| if b_k == 1 { size - size % side } else { 0 };
        // SAFETY: the caller guarantees that `from` holds the columns. The workspace has room for
        // the widest and deepest strip.
        unsafe {
            for k in (0..whole(depth)).step_by(side) {
                for j in (0..whole(columns)).step_by(side) {
                    (self.kernels.transpose)(
                        element(k, j),
                        b_n,
                        to.add(k * self.kernels.pair() + j),
                        self.kernels.pair(),
                    );
                }
            }
            for k in 0..depth {
                let done = if k < whole(depth) { whole(columns) } else { 0 };
                for j in done..columns {
                    to.add(k * self.kernels.pair() + j).write(element(k, j).read());
                }
            }
        }
    }

    /// # Safety
    /// The same conditions as for [`compute`] apply. The result must be one row of adjacent
    /// elements, and the columns of the right operand must be adjacent.
    unsafe fn row(&self) {
        let Extents { n, k, a, b, .. } = *self.extents;
        for (left, columns) in blocks(n, SWEEP) {
            let c = self.at.c.wrapping_add(left);
            if k == 0 && self.update == Update::Store {
                // SAFETY: the columns are inside the result.
                (0..columns).for_each(|column| unsafe { c.add(column).write(T::ZERO) });
            }
            for (first, steps) in blocks(k, self.kernels.sweeps.len()).filter(|(_, steps)| *steps > 0) {
                let job = TileJob {
                    k: steps,
                    a: self.at.a.wrapping_offset(first as isize * a[1]),
                    a_strides: a,
                    b: self
                        .at
                        .b
                        .wrapping_offset(first as isize * b[0])
                        .wrapping_add(left),
                    b_stride: b[0],
                    c,
                    c_stride: 0,
                    tail: columns,
                    update: self.update(first),
                };
                // SAFETY: the columns are inside the operands.
                unsafe { self.kernels.sweeps[steps - 1](&job) };
            }
        }
    }

    /// # Safety
    /// The same conditions as for [`compute`] apply. The result must be one row, and the rows of
    /// the right operand must be adjacent.
    unsafe fn dots(&self) {
        let Extents {
            n,
            k,
            a: [_, a_k],
            b,
            c,
            ..
        } = *self.extents;
        for (first, depth) in blocks(k, DEPTH) {
            let mut row = self.at.a.wrapping_offset(first as isize * a_k);
            if a_k != 1 {
                for k in 0..depth {
                    // SAFETY: the element is inside the row. The workspace has room for the deepest
                    // block.
                    unsafe { self.space.rows.add(k).write(row.offset(k as isize * a_k).read()) };
                }
                row = self.space.rows;
            }
            for (column, count) in blocks(n, self.kernels.dots.len()) {
                let job = TileJob {
                    k: depth,
                    a: self
                        .at
                        .b
                        .wrapping_offset(first as isize * b[0] + column as isize * b[1]),
                    a_strides: [b[1], b[0]],
                    b: row,
                    b_stride: 1,
                    c: self.at.c.wrapping_offset(column as isize * c[1]),
                    c_stride: c[1],
                    tail: 0,
                    update: self.update(first),
                };
                // SAFETY: the columns are inside the operands.
                unsafe { self.kernels.dots[count - 1](&job) };
            }
        }
    }
}

impl<T: MatmulElement> Strip<T> {
    /// Computes the strip from top to bottom, in tiles of at most `most` rows.
    ///
    /// # Safety
    /// The operands must hold the rows, and the result must have adjacent columns.
    pub unsafe fn compute(mut self, most: usize) {
        let (a, c) = (self.job.a, self.job.c);
        for (row, rows) in blocks(self.rows, most) {
            self.job.a = a.wrapping_offset(row as isize * self.job.a_strides[0]);
            self.job.c = c.wrapping_offset(row as isize * self.job.c_stride);
            // SAFETY: the tile is inside the result.
            unsafe { self.kernels[rows - 1](&self.job) };
        }
    }

    /// Computes the strip like [`Strip::compute`], for a result whose columns have the stride
    /// `c_n`. Each tile is computed in the memory `(tile, stride)`, and then copied to the result.
    ///
    /// # Safety
    /// The operands must hold the rows. The memory `tile` must have room for the tallest tile.
    unsafe fn compute_apart(mut self, most: usize, (tile, stride): (*mut T, usize), c_n: isize) {
        let TileJob {
            a,
            c,
            c_stride,
            update,
            ..
        } = self.job;
        (self.job.c, self.job.c_stride, self.job.update) = (tile, stride as isize, Update::Store);
        for (top, rows) in blocks(self.rows, most) {
            self.job.a = a.wrapping_offset(top as isize * self.job.a_strides[0]);
            // SAFETY: the tile is inside the workspace.
            unsafe { self.kernels[rows - 1](&self.job) };
            for row in 0..rows {
                let to = c.wrapping_offset((top + row) as isize * c_stride);
                let from = tile.wrapping_add(row * stride);
                for column in 0..self.columns {
                    // SAFETY: `to` is the address of an element of the result, and `from` is the address of an element of the tile.
                    unsafe { update.apply(to.offset(column as isize * c_n), from.add(column).read()) };
                }
            }
        }
    }
}
