//! Computes Cholesky factors, solutions of triangular systems, and cumulative sums.
//!
//! The parts that take cubic time are computed as matrix products on blocks of `BLOCK` rows. The
//! other parts are plain loops along rows.

use crate::matmul::{Extents, MatmulElement, subtract_product};
use crate::pool::Pool;
use bnnc_base::dtype::Precision;
use bnnc_math::approx::{Number, Plain};

/// The number of rows per block.
const BLOCK: usize = 48;

/// An address that several pieces share. Each piece accesses only its own elements.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: the pieces write disjoint elements.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

macro_rules! by_precision {
    ($($(#[$meta:meta])* $name:ident $body:ident;)*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// `buffers` must hold the addresses of the primitive's operands. The operands must contain every element
        /// that the sizes in `ints` refer to. The result must not overlap an operand.
        pub unsafe fn $name(pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]) {
            match precision {
                // SAFETY: guaranteed by the caller.
                Precision::F32 => unsafe { $body::<f32>(pool, buffers, ints) },
                // SAFETY: guaranteed by the caller.
                Precision::F64 => unsafe { $body::<f64>(pool, buffers, ints) },
            }
        }
    )*};
}

by_precision! {
    /// Computes the primitive `cholesky`.
    cholesky factors;
    /// Computes the primitive `cumsum`.
    cumsum sums;
    /// Computes the primitive `triangular_solve`.
    triangular_solve solutions;
}

/// Computes the dot product of two rows, with eight partial sums.
#[inline(always)]
fn dot<T: Number>(x: &[T], y: &[T]) -> T {
    let mut lanes = [T::ZERO; 8];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    for (x, y) in xs.iter().zip(ys) {
        lanes
            .iter_mut()
            .zip(x.iter().zip(y))
            .for_each(|(sum, (x, y))| *sum = x.fma::<Plain>(*y, *sum));
    }
    let rest = x_rest
        .iter()
        .zip(y_rest)
        .fold(T::ZERO, |sum, (x, y)| sum + *x * *y);
    lanes.into_iter().fold(rest, |sum, lane| sum + lane)
}

/// # Safety
/// The same conditions as for [`cholesky`] apply.
unsafe fn factors<T: MatmulElement>(pool: &Pool, buffers: &[*mut u8], ints: &[i64]) {
    let (batch, n) = (ints[0].max(0) as usize, ints[1].max(0) as usize);
    let (a, l) = (Shared(buffers[0].cast::<T>()), Shared(buffers[1].cast::<T>()));
    pool.run(batch, &|_, item| {
        // SAFETY: both arrays hold `n * n` elements per item. Only this piece uses this item.
        let l = unsafe {
            std::ptr::copy_nonoverlapping(a.at(item * n * n).cast_const(), l.at(item * n * n), n * n);
            std::slice::from_raw_parts_mut(l.at(item * n * n), n * n)
        };
        (0..n).for_each(|i| l[i * n + i + 1..(i + 1) * n].fill(T::ZERO));
        factor(l, n);
    });
}

/// Replaces the lower triangle of a symmetric matrix by its Cholesky factor, one block column at a
/// time.
fn factor<T: MatmulElement>(l: &mut [T], n: usize) {
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        factor_columns(l, n, start..end);
        for next in (end..n).step_by(BLOCK) {
            // Updates the remaining lower triangle one block row at a time: l[next.., end..] -=
            // l[next.., block] l[end.., block]^T.
            let (rows, columns) = ((n - next).min(BLOCK), (next + BLOCK).min(n) - end);
            let extents = Extents {
                m: rows,
                n: columns,
                k: end - start,
                a: [n as isize, 1],
                b: [1, n as isize],
                c: [n as isize, 1],
            };
            let base = l.as_mut_ptr();
            // SAFETY: all accessed rows and columns are inside the matrix. The columns `start..end` are only read,
            // and only columns from `end` on are written, so reads and writes do not overlap.
            unsafe {
                let (a, b) = (base.add(next * n + start), base.add(end * n + start));
                subtract_product(&extents, a, b, base.add(next * n + end));
            }
        }
        // The products above also wrote above the diagonal, in the diagonal blocks. These elements
        // are set to zero.
        (end..n).for_each(|i| l[i * n + i + 1..(i + 1) * n].fill(T::ZERO));
    }
}

/// Computes the columns `block` of the factor. The contributions of earlier columns must already have been
/// subtracted.
fn factor_columns<T: Number>(l: &mut [T], n: usize, block: std::ops::Range<usize>) {
    for i in block.start..n {
        for j in block.start..block.end.min(i + 1) {
            let row = |at: usize| &l[at * n + block.start..at * n + j];
            let rest = l[i * n + j] - dot(row(i), row(j));
            l[i * n + j] = if i == j { rest.root() } else { rest / l[j * n + j] };
        }
    }
}

/// # Safety
/// The same conditions as for [`triangular_solve`] apply.
unsafe fn solutions<T: MatmulElement>(pool: &Pool, buffers: &[*mut u8], ints: &[i64]) {
    let batch = ints[0].max(0) as usize;
    let n = ints[1].max(0) as usize;
    let columns = ints[2].max(0) as usize;
    let [l, b, x] = [0, 1, 2].map(|at| Shared(buffers[at].cast::<T>()));
    let transposed = ints[3] == 1;
    pool.run(batch, &|_, item| {
        // SAFETY: the arrays hold this number of elements per item. Only this piece uses this item.
        let (l, x) = unsafe {
            std::ptr::copy_nonoverlapping(
                b.at(item * n * columns).cast_const(),
                x.at(item * n * columns),
                n * columns,
            );
            let l = std::slice::from_raw_parts(l.at(item * n * n).cast_const(), n * n);
            (
                l,
                std::slice::from_raw_parts_mut(x.at(item * n * columns), n * columns),
            )
        };
        solve(l, x, n, transposed);
    });
}

/// Solves a triangular system in place, one block row at a time. Goes from top to bottom, or from bottom to top if
/// the matrix is transposed.
fn solve<T: MatmulElement>(l: &[T], x: &mut [T], n: usize, transposed: bool) {
    let columns = x.len().checked_div(n).unwrap_or(0);
    let blocks = n.div_ceil(BLOCK);
    for step in 0..blocks {
        let at = if transposed { blocks - 1 - step } else { step };
        let (start, end) = (at * BLOCK, ((at + 1) * BLOCK).min(n));
        let known = if transposed { end..n } else { 0..start };
        let stride = n as isize;
        let extents = Extents {
            m: end - start,
            n: columns,
            k: known.len(),
            a: if transposed { [1, stride] } else { [stride, 1] },
            b: [columns as isize, 1],
            c: [columns as isize, 1],
        };
        let corner = if transposed {
            known.start * n + start
        } else {
            start * n
        };
        let base = x.as_mut_ptr();
        // SAFETY: the two parts of `l` and the rows of `x` are inside the arrays. The rows `known`
        // and `start..end` do not overlap.
        unsafe {
            let a = l.as_ptr().wrapping_add(corner);
            let b = base.wrapping_add(known.start * columns);
            let c = base.add(start * columns);
            subtract_product(&extents, a, b, c);
        }
        let system = TriangularSystem {
            n,
            columns,
            transposed,
        };
        solve_block(l, x, &system, start..end);
    }
}

/// The sizes and the orientation of a triangular system.
struct TriangularSystem {
    /// The number of rows of the matrix.
    n: usize,
    /// The number of right-hand sides.
    columns: usize,
    /// True if the system is solved for the transposed matrix.
    transposed: bool,
}

/// Solves for the rows of one diagonal block. The contributions of the known rows must already have been
/// subtracted.
fn solve_block<T: Number>(l: &[T], x: &mut [T], system: &TriangularSystem, block: std::ops::Range<usize>) {
    let TriangularSystem {
        n,
        columns,
        transposed,
    } = *system;
    for step in 0..block.len() {
        let i = if transposed {
            block.end - 1 - step
        } else {
            block.start + step
        };
        let others = if transposed {
            i + 1..block.end
        } else {
            block.start..i
        };
        for j in others {
            let entry = if transposed { l[j * n + i] } else { l[i * n + j] };
            let (low, high) = x.split_at_mut(i.max(j) * columns);
            let (near, far) = (&mut low[i.min(j) * columns..][..columns], &mut high[..columns]);
            let (target, source) = if i < j { (near, far) } else { (far, near) };
            target
                .iter_mut()
                .zip(source)
                .for_each(|(value, known)| *value = *value - entry * *known);
        }
        let pivot = l[i * n + i];
        x[i * columns..][..columns]
            .iter_mut()
            .for_each(|value| *value = *value / pivot);
    }
}

/// # Safety
/// The same conditions as for [`cumsum`] apply.
unsafe fn sums<T: Number>(_pool: &Pool, buffers: &[*mut u8], ints: &[i64]) {
    let [outer, length, inner] = [0, 1, 2].map(|at| ints[at].max(0) as usize);
    let count = outer * length * inner;
    // SAFETY: both arrays hold `count` elements, and do not overlap.
    let (x, y) = unsafe {
        let x = std::slice::from_raw_parts(buffers[0].cast::<T>().cast_const(), count);
        (x, std::slice::from_raw_parts_mut(buffers[1].cast::<T>(), count))
    };
    y.copy_from_slice(x);
    for o in 0..outer {
        let run = &mut y[o * length * inner..][..length * inner];
        for step in 1..length {
            let (low, high) = run.split_at_mut(if ints[3] == 1 { length - step } else { step } * inner);
            let (target, source) = if ints[3] == 1 {
                let at = low.len() - inner;
                (&mut low[at..], &high[..inner])
            } else {
                (&mut high[..inner], &low[low.len() - inner..])
            };
            target
                .iter_mut()
                .zip(source)
                .for_each(|(sum, before)| *sum = *sum + *before);
        }
    }
}
