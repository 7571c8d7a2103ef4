//! Computes batches of matrix products whose operands have arbitrary strides.
//!
//! Note [Pieces of a product]. If a product has enough items, it is divided along the batch axes.
//! Otherwise, it is divided along the longer side of the result. This division depends only on the
//! sizes of the product. Each piece is computed by one thread, so results do not depend on the
//! number of threads.
//!
//! The module `blocked` computes a piece with the kernels of `tile`. The kernels are written once
//! for all vector types of `vector`, and are compiled for each instruction set.

mod blocked;
mod contraction;
mod copies;
pub mod dense;
mod tile;
mod transpose;
mod vector;
mod workspace;

use crate::arrays::Level;
use crate::pool::Pool;
use blocked::{Addresses, compute, form};
use bnnc_base::dtype::Precision;
pub use contraction::{contraction, contraction_at};
pub use tile::{MatmulElement, Update};
pub use workspace::BYTES as WORKSPACE_BYTES;

/// A product with fewer floating-point operations than this is computed as a single piece, because a
/// second thread would not make it faster.
const PIECE: u64 = 800_000;
/// The maximum number of pieces of a product. More pieces are allowed only if each of them still
/// has at least [`LARGE`] operations. With this number of pieces, all threads finish at about the same
/// time.
const FEW: u64 = 4;
/// A product is divided into more than [`FEW`] pieces only if each piece still has at least this
/// number of floating-point operations.
const LARGE: u64 = 40_000_000;
/// The maximum number of pieces of any product.
const MOST: u64 = 16;
/// Pieces begin at multiples of this number of rows or columns, so that the inner kernels get whole
/// tiles.
const TILE: usize = 32;
/// If the distance between cache lines is a multiple of this number of bytes, they compete for the same
/// sets of a cache.
const PAGE: usize = 4096;

/// The sizes and strides of one product, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    /// The number of rows of the result.
    pub m: usize,
    /// The number of columns of the result.
    pub n: usize,
    /// The size of the contracted axis.
    pub k: usize,
    /// Strides of the left operand along `m` and `k`.
    pub a: [isize; 2],
    /// Strides of the right operand along `k` and `n`.
    pub b: [isize; 2],
    /// Strides of the result along `m` and `n`.
    pub c: [isize; 2],
}

/// The addresses of the three operands.
#[derive(Clone, Copy)]
struct Operands<T> {
    a: *const T,
    b: *const T,
    c: *mut T,
}

// SAFETY: the pieces write disjoint parts of `c`, and only read `a` and `b`.
unsafe impl<T> Sync for Operands<T> {}

/// Computes the primitive `matmul`.
///
/// # Safety
/// `buffers` must hold the addresses of `a`, `b` and `c`. Every element that the sizes and strides in
/// `ints` refer to must lie within these buffers, and `c` must not overlap `a` or `b`.
pub unsafe fn matmul(pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]) {
    // SAFETY: guaranteed by the caller.
    unsafe { matmul_at(Level::detect(), pool, precision, buffers, ints) }
}

/// Computes [`matmul()`] with the kernels of a chosen level.
///
/// # Safety
/// The same conditions as for [`matmul()`] apply. The level must be among [`Level::supported`].
pub unsafe fn matmul_at(level: Level, pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]) {
    match precision {
        // SAFETY: guaranteed by the caller.
        Precision::F32 => unsafe { batched::<f32>(level, pool, buffers, ints) },
        // SAFETY: guaranteed by the caller.
        Precision::F64 => unsafe { batched::<f64>(level, pool, buffers, ints) },
    }
}

/// The batch axes that a product loops over. An axis is its size and its strides in the three
/// operands: `(size, a, b, c)`.
#[derive(Clone, Copy)]
struct Batch<'a> {
    axes: &'a [[i64; 4]],
    /// A bit mask of the batch axes that have become part of the product. No loop runs over these axes.
    folded: u64,
}

impl Batch<'_> {
    fn looped(&self) -> impl DoubleEndedIterator<Item = &[i64; 4]> {
        let folded = self.folded;
        self.axes
            .iter()
            .enumerate()
            .filter(move |(at, _)| folded >> at & 1 == 0)
            .map(|(_, axis)| axis)
    }

    fn count(&self) -> usize {
        self.looped().map(|axis| axis[0] as usize).product()
    }

    /// Returns the offset of a batch item in each of the three operands.
    fn offsets(&self, item: usize) -> [isize; 3] {
        let mut rest = item as i64;
        self.looped().rev().fold([0; 3], |mut sum, [size, strides @ ..]| {
            let index = rest % size;
            rest /= size;
            sum.iter_mut()
                .zip(strides)
                .for_each(|(offset, stride)| *offset += (index * stride) as isize);
            sum
        })
    }

    /// Makes batch axes part of the product if the operands' strides allow it, beginning with the
    /// innermost axis.
    fn fold(&mut self, extents: &mut Extents) {
        for (at, axis) in self.axes.iter().enumerate().rev().take(64) {
            if extents.absorb(axis) {
                self.folded |= 1 << at;
            }
        }
    }
}

impl Extents {
    fn of(ints: &[i64]) -> Extents {
        let size = |at: usize| ints[at].max(0) as usize;
        let strides = |at: usize| [ints[at] as isize, ints[at + 1] as isize];
        Extents {
            m: size(0),
            n: size(1),
            k: size(2),
            a: strides(3),
            b: strides(5),
            c: strides(7),
        }
    }

    /// Returns the extents of the transposed product. The transposed product has the same elements, but
    /// its operands are exchanged.
    fn transposed(&self) -> Extents {
        let swap = |[x, y]: [isize; 2]| [y, x];
        Extents {
            m: self.n,
            n: self.m,
            k: self.k,
            a: swap(self.b),
            b: swap(self.a),
            c: swap(self.c),
        }
    }

    fn flops(&self) -> u64 {
        2 * self.m as u64 * self.n as u64 * self.k as u64
    }

    /// Makes a batch axis part of the product if the operands' strides allow it. Returns whether this was
    /// possible. If all items share `b`, the axis adds rows to the product. If all items share `a`, the
    /// axis adds columns.
    fn absorb(&mut self, axis: &[i64; 4]) -> bool {
        let [size, a, b, c] = axis.map(|value| value as isize);
        let (m, n) = (self.m as isize, self.n as isize);
        if size == 1 {
            return true;
        }
        let more_rows = b == 0 && (m == 1 || (a == m * self.a[0] && c == m * self.c[0]));
        let more_columns = a == 0 && (n == 1 || (b == n * self.b[1] && c == n * self.c[1]));
        if more_rows {
            if m == 1 {
                (self.a[0], self.c[0]) = (a, c);
            }
            self.m *= size as usize;
        } else if more_columns {
            if n == 1 {
                (self.b[1], self.c[1]) = (b, c);
            }
            self.n *= size as usize;
        }
        more_rows || more_columns
    }

    /// Returns whether the stride of the left operand makes its rows or columns compete for the same sets
    /// of a cache.
    fn lines_compete(&self, element: usize) -> bool {
        let apart = |stride: isize| (stride.unsigned_abs() * element).is_multiple_of(PAGE);
        match self.a {
            [stride, 1] | [1, stride] => apart(stride),
            _ => false,
        }
    }

    /// Returns whether to divide a product along `n`. If an operand will be copied, the division should
    /// copy each part of this operand only once. If this is not possible, or if no operand is copied, the
    /// product is divided along the longer side of the result.
    fn is_cut_along_n(&self, parts: usize, element: usize) -> bool {
        let enough = |size: usize| size >= parts * TILE;
        if self.b[1] != 1 && enough(self.n) {
            true
        } else if self.lines_compete(element) && enough(self.m) {
            false
        } else {
            self.n >= self.m
        }
    }

    /// Returns the extents of part `part` of `parts`, and the offset of this part in each operand.
    fn part(&self, part: usize, parts: usize, along_n: bool) -> (Extents, [isize; 3]) {
        let cut = |size: usize, at: usize| (size.div_ceil(TILE) * at / parts * TILE).min(size);
        let size = if along_n { self.n } else { self.m };
        let (start, end) = (cut(size, part), cut(size, part + 1));
        let from = start as isize;
        if along_n {
            (
                Extents {
                    n: end - start,
                    ..*self
                },
                [0, from * self.b[1], from * self.c[1]],
            )
        } else {
            (
                Extents {
                    m: end - start,
                    ..*self
                },
                [from * self.a[0], 0, from * self.c[0]],
            )
        }
    }
}

/// Returns the number of pieces for a product with this number of floating-point operations.
fn piece_count(work: u64) -> usize {
    let pieces = if work < PIECE {
        1
    } else {
        (work / PIECE).clamp(2, FEW).max((work / LARGE).min(MOST))
    };
    pieces as usize
}

/// # Safety
/// The same conditions as for [`matmul()`] apply.
unsafe fn batched<T: MatmulElement>(level: Level, pool: &Pool, buffers: &[*mut u8], ints: &[i64]) {
    let kernels = T::kernels(level);
    let mut extents = Extents::of(ints);
    let (axes, _) = ints[9..].as_chunks::<4>();
    let mut batch = Batch { axes, folded: 0 };
    batch.fold(&mut extents);
    let count = batch.count();
    let (form, transposed) = form(kernels, &extents);
    let order = if transposed { [1, 0, 2] } else { [0, 1, 2] };
    let extents = if transposed { extents.transposed() } else { extents };
    let operands = Operands {
        a: buffers[order[0]].cast::<T>().cast_const(),
        b: buffers[order[1]].cast::<T>().cast_const(),
        c: buffers[2].cast::<T>(),
    };
    let work = extents.flops() * count as u64;
    let pieces = piece_count(work);
    let groups = pieces.min(count).max(1);
    let parts = if count == 0 { 1 } else { pieces.div_ceil(groups) };
    let along_n = extents.is_cut_along_n(parts, size_of::<T>());
    let operands = &operands;
    pool.run(groups * parts, &|_, piece| {
        let (group, part) = (piece / parts, piece % parts);
        let (extents, shift) = extents.part(part, parts, along_n);
        for item in count * group / groups..count * (group + 1) / groups {
            let offsets = batch.offsets(item);
            let [a, b, c] = [0, 1, 2].map(|at| offsets[order[at]] + shift[at]);
            let at = Addresses {
                a: operands.a.wrapping_offset(a),
                b: operands.b.wrapping_offset(b),
                c: operands.c.wrapping_offset(c),
            };
            // SAFETY: the caller guarantees that the operands hold all elements. Items and parts
            // write disjoint elements.
            unsafe { compute(kernels, form, &extents, &at, Update::Store) };
        }
    });
}

/// Computes `c = c - a b` on the calling thread.
///
/// # Safety
/// The operands must contain every element that lies within the extents. `c` must not overlap `a` or `b`.
pub unsafe fn subtract_product<T: MatmulElement>(extents: &Extents, a: *const T, b: *const T, c: *mut T) {
    if extents.k == 0 {
        return;
    }
    let kernels = T::kernels(Level::detect());
    let (form, transposed) = form(kernels, extents);
    let (extents, a, b) = if transposed {
        (extents.transposed(), b, a)
    } else {
        (*extents, a, b)
    };
    // SAFETY: guaranteed by the caller.
    unsafe { compute(kernels, form, &extents, &Addresses { a, b, c }, Update::Subtract) }
}
