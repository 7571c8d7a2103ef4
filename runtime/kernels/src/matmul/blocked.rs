//! One product on one thread: its form, its blocks, and what is packed.

use super::Extents;
use super::tile::{Job, Kernel, Kernels, MOST_ROWS, Real, Update};
use super::workspace::{self, Workspace};

/// The longest block of the contracted axis.
const DEPTH: usize = 512;
/// The most rows of a block: so many rows of the left operand stay in the second cache.
const HEIGHT: usize = 256;

/// How a product is computed, decided on the whole product so that its pieces agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Tiles of the result, chains along `k`.
    Tiles,
    /// One row, vectors along it.
    Row,
    /// One row, vectors along `k`.
    Dots,
}

/// The addresses of the operands of a piece.
pub struct Addresses<T> {
    /// The left operand.
    pub a: *const T,
    /// The right operand.
    pub b: *const T,
    /// The result.
    pub c: *mut T,
}

impl Extents {
    /// The product of the transposes: the same elements with the operands exchanged.
    pub fn transposed(&self) -> Extents {
        let swap = |[x, y]: [isize; 2]| [y, x];
        Extents { m: self.n, n: self.m, k: self.k, a: swap(self.b), b: swap(self.a), c: swap(self.c) }
    }

    /// An estimate of vector operations.
    pub fn cost(&self, lanes: usize, half: usize) -> usize {
        let Extents { m, n, k, .. } = *self;
        let padded = 2 * (n / lanes) + match n % lanes { 0 => 0, rest if rest <= half => 1, _ => 2 };
        let adjacent = self.b[1] == 1 || n == 1;
        let products = m * k * padded * lanes / 2;
        let packing = if adjacent || (m == 1 && self.b[0] == 1) { 0 } else if self.b[0] == 1 { k * n * lanes / 4 } else { k * n * lanes };
        let scattering = if self.c[1] == 1 || n == 1 { 0 } else { m * n * lanes };
        products + packing + scattering
    }

    /// The form for this product, and whether it is that of the transposes.
    pub fn form(&self, lanes: usize, half: usize) -> (Form, bool) {
        let turned = self.transposed();
        let turn = turned.cost(lanes, half) < self.cost(lanes, half);
        let extents = if turn { &turned } else { self };
        let form = match extents {
            Extents { m: 1, b: [1, _], n, .. } if extents.b[1] != 1 || *n == 1 => Form::Dots,
            Extents { m: 1, b: [_, 1], c: [_, 1], .. } => Form::Row,
            _ => Form::Tiles,
        };
        (form, turn)
    }
}

/// Computes a piece, in the form of the whole product.
///
/// # Safety
/// The operands must hold the elements that the extents reach; the result overlaps neither.
pub unsafe fn compute<T: Real>(kernels: &Kernels<T>, form: Form, extents: &Extents, at: &Addresses<T>, update: Update) {
    if extents.m == 0 || extents.n == 0 {
        return;
    }
    workspace::with(|space| {
        // SAFETY: the caller's promise.
        unsafe {
            match form {
                Form::Tiles => tiles(kernels, extents, at, update, &space),
                Form::Row => row(kernels, extents, at, update),
                Form::Dots => dots(kernels, extents, at, update, &space),
            }
        }
    });
}

/// Blocks of `size`, each at most `most` and all about equal: `(start, length)`.
fn blocks(size: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = size.div_ceil(most).max(1);
    let cut = move |at: usize| size * at / count;
    (0..count).map(move |at| (cut(at), cut(at + 1) - cut(at)))
}

/// # Safety
/// As [`compute`].
unsafe fn tiles<T: Real>(kernels: &Kernels<T>, extents: &Extents, at: &Addresses<T>, update: Update, space: &Workspace<T>) {
    for (top, rows) in blocks(extents.m, HEIGHT) {
        for (first, depth) in blocks(extents.k, DEPTH) {
            let update = if first > 0 && update == Update::Store { Update::Add } else { update };
            let mut left = 0;
            while left < extents.n {
                let (kernel, width, tail) = columns(kernels, extents.n - left);
                let strip = Strip {
                    kernel,
                    rows: (top, rows),
                    depth: (first, depth),
                    columns: (left, width),
                    tail,
                    update,
                };
                // SAFETY: the strip lies inside the extents.
                unsafe { strip.compute(kernels, extents, at, space) };
                left += width;
            }
        }
    }
}

/// The kernels for the next columns, how many these are, and how many the last vector has.
fn columns<T>(kernels: &Kernels<T>, rest: usize) -> (&'static [Kernel<T>], usize, usize) {
    let lanes = kernels.lanes;
    if rest >= 2 * lanes {
        (kernels.double, 2 * lanes, 0)
    } else if rest > lanes + kernels.half || (kernels.half == lanes && rest > lanes) {
        (kernels.double_masked, rest, rest - lanes)
    } else if rest > kernels.half {
        let width = rest.min(lanes);
        (kernels.single_masked, width, width)
    } else {
        (kernels.half_masked, rest, rest)
    }
}

/// The columns of one kernel, in a block of rows and a block of the contracted axis; each `(start, length)`.
struct Strip<T: 'static> {
    kernel: &'static [Kernel<T>],
    rows: (usize, usize),
    depth: (usize, usize),
    columns: (usize, usize),
    tail: usize,
    update: Update,
}

impl<T: Real> Strip<T> {
    /// # Safety
    /// As [`compute`].
    unsafe fn compute(&self, kernels: &Kernels<T>, extents: &Extents, at: &Addresses<T>, space: &Workspace<T>) {
        let ([a_m, a_k], [b_k, b_n], [c_m, c_n]) = (extents.a, extents.b, extents.c);
        let (first, depth) = (self.depth.0 as isize, self.depth.1);
        let (left, width) = (self.columns.0 as isize, self.columns.1);
        let from = at.b.wrapping_offset(first * b_k + left * b_n);
        let pack = b_n != 1 && width > 1 || PACK_ALWAYS && self.rows.1 > 28;
        let (b, b_stride) = if pack {
            // SAFETY: the elements are inside; a panel has room for the widest and deepest strip.
            unsafe { pack_columns(kernels, from, [b_k, b_n], (depth, width), space.panel) };
            (space.panel.cast_const(), 2 * kernels.lanes as isize)
        } else {
            (from, b_k)
        };
        let direct = c_n == 1 || width == 1;
        for (row, rows) in blocks(self.rows.1, kernels.rows) {
            let row = (self.rows.0 + row) as isize;
            let c = at.c.wrapping_offset(row * c_m + left * c_n);
            let mut job = Job {
                k: depth,
                a: at.a.wrapping_offset(row * a_m + first * a_k),
                a_strides: [a_m, a_k],
                b,
                b_stride,
                c,
                c_stride: c_m,
                tail: self.tail,
                update: self.update,
            };
            let kernel = self.kernel[rows - 1];
            // SAFETY: the tile is inside; the workspace's has room for any.
            unsafe {
                if direct {
                    kernel(&job);
                } else {
                    (job.c, job.c_stride, job.update) = (space.tile, 2 * kernels.lanes as isize, Update::Store);
                    kernel(&job);
                    scatter(&job, (rows, width), c, [c_m, c_n], self.update);
                }
            }
        }
    }
}

static PACK_ALWAYS: bool = true;

/// Writes a tile whose columns are not adjacent.
///
/// # Safety
/// The tile at `job.c` and the result at `c` must hold the rows and columns.
unsafe fn scatter<T: Real>(job: &Job<T>, (rows, columns): (usize, usize), c: *mut T, [c_m, c_n]: [isize; 2], update: Update) {
    for row in 0..rows as isize {
        for column in 0..columns {
            // SAFETY: the caller's promise.
            unsafe {
                let value = job.c.offset(row * job.c_stride).add(column).read();
                let to = c.offset(row * c_m + column as isize * c_n);
                to.write(match update {
                    Update::Store => value,
                    Update::Add => to.read() + value,
                    Update::Subtract => to.read() - value,
                });
            }
        }
    }
}

/// Copies columns so that they are adjacent, `2 * lanes` elements from row to row.
///
/// # Safety
/// `from` must hold the `depth` rows and `width` columns, `to` so many rows.
unsafe fn pack_columns<T: Real>(
    kernels: &Kernels<T>,
    from: *const T,
    [b_k, b_n]: [isize; 2],
    (depth, width): (usize, usize),
    to: *mut T,
) {
    let stride = 2 * kernels.lanes;
    let element = |k: usize, j: usize| from.wrapping_offset(k as isize * b_k + j as isize * b_n);
    let side = kernels.square;
    let (whole_depth, whole_width) = if b_k == 1 && b_n != 1 { (depth - depth % side, width - width % side) } else { (0, 0) };
    // SAFETY: the caller's promise.
    unsafe {
        if b_n == 1 {
            for k in 0..depth {
                std::ptr::copy_nonoverlapping(element(k, 0), to.add(k * stride), width);
            }
            return;
        }
        for k in (0..whole_depth).step_by(side) {
            for j in (0..whole_width).step_by(side) {
                (kernels.transpose)(element(k, j), b_n, to.add(k * stride + j), stride);
            }
        }
        for k in 0..depth {
            let done = if k < whole_depth { whole_width } else { 0 };
            for j in done..width {
                to.add(k * stride + j).write(element(k, j).read());
            }
        }
    }
}

/// # Safety
/// As [`compute`], for one row with adjacent elements and a right operand of adjacent columns.
unsafe fn row<T: Real>(kernels: &Kernels<T>, extents: &Extents, at: &Addresses<T>, update: Update) {
    let mut left = 0;
    while left < extents.n {
        let rest = extents.n - left;
        let (kernel, width, tail) = if rest >= 8 * kernels.lanes {
            (kernels.long, 8 * kernels.lanes, 0)
        } else {
            let (kernel, width, tail) = columns(kernels, rest);
            (kernel[0], width, tail)
        };
        let job = Job {
            k: extents.k,
            a: at.a,
            a_strides: extents.a,
            b: at.b.wrapping_add(left),
            b_stride: extents.b[0],
            c: at.c.wrapping_add(left),
            c_stride: 0,
            tail,
            update,
        };
        // SAFETY: the columns are inside.
        unsafe { kernel(&job) };
        left += width;
    }
}

/// # Safety
/// As [`compute`], for one row and a right operand whose rows are adjacent.
unsafe fn dots<T: Real>(kernels: &Kernels<T>, extents: &Extents, at: &Addresses<T>, update: Update, space: &Workspace<T>) {
    let most = kernels.dots.len();
    for (first, depth) in blocks(extents.k, Workspace::<T>::capacity()) {
        let update = if first > 0 && update == Update::Store { Update::Add } else { update };
        let a = at.a.wrapping_offset(first as isize * extents.a[1]);
        let row = if extents.a[1] == 1 {
            a
        } else {
            for k in 0..depth {
                // SAFETY: the element is inside, and the workspace has room for the block.
                unsafe { space.rows.add(k).write(a.offset(k as isize * extents.a[1]).read()) };
            }
            space.rows.cast_const()
        };
        for (column, count) in blocks(extents.n, most).filter(|(_, count)| *count > 0) {
            let job = Job {
                k: depth,
                a: at.b.wrapping_offset(first as isize + column as isize * extents.b[1]),
                a_strides: [extents.b[1], 1],
                b: row,
                b_stride: 1,
                c: at.c.wrapping_offset(column as isize * extents.c[1]),
                c_stride: extents.c[1],
                tail: 0,
                update,
            };
            // SAFETY: the columns are inside.
            unsafe { kernels.dots[count - 1](&job) };
        }
    }
}

const _: () = assert!(MOST_ROWS * 32 * 4 <= 256 << 10);
