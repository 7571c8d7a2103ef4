//! The innermost kernels of matrix products. Each computes a tile of the result in registers.
//!
//! Note [One order of summation]. An element of the result is a sum over `k`. The sum is computed
//! by fused multiply-adds from the first `k` to the last. Long sums are computed in blocks. The
//! blocks are added in order. The length of a block depends only on `k`. The value of an element
//! therefore does not depend on the tile, the piece or the thread that computes it.

#![expect(
    clippy::needless_range_loop,
    reason = "tiles of registers are indexed by counters that unrolling makes constant"
)]

use super::transpose::transpose_plain;
#[cfg(target_arch = "x86_64")]
use super::transpose::{transpose_f32, transpose_f64};
use super::vector::{LaneArray, Vector};
use super::workspace::AdjacentRun;
use crate::arrays::Level;
use bnnc_math::approx::Number;

/// How a kernel combines its result with the old contents of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The product replaces the old contents.
    Store,
    /// The product is added to the old contents.
    Add,
    /// The product is subtracted from the old contents.
    Subtract,
}

impl Update {
    /// Updates one element of the result.
    ///
    /// # Safety
    /// `to` must be valid for reads and writes.
    #[inline(always)]
    pub unsafe fn apply<T: Number>(self, to: *mut T, value: T) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            to.write(match self {
                Update::Store => value,
                Update::Add => to.read() + value,
                Update::Subtract => to.read() - value,
            });
        }
    }
}

/// The operands of one tile: `c[r, j] = sum over k of a[r, k] b[k, j]`. The columns of `b` and of
/// `c` are adjacent.
pub struct TileJob<T> {
    /// The size of the contracted axis.
    pub k: usize,
    /// The left operand.
    pub a: *const T,
    /// The strides of the left operand along rows and `k`.
    pub a_strides: [isize; 2],
    /// The right operand.
    pub b: *const T,
    /// The stride of the right operand along `k`.
    pub b_stride: isize,
    /// The result.
    pub c: *mut T,
    /// The stride of the result along rows.
    pub c_stride: isize,
    /// For a masked kernel, the number of columns in the last vector. For a sweep, the number of all columns.
    pub tail: usize,
    /// How the tile changes the old contents of the result.
    pub update: Update,
}

/// Lines of an operand that are copied: element `run.to + i` of copied line `l` is the element at `lines[l] + run.from + i`.
pub struct CopyJob<'a, T> {
    /// The operand.
    pub from: *const T,
    /// The positions of the lines.
    pub lines: &'a [isize],
    /// The runs of a line, from first to last.
    pub runs: &'a [AdjacentRun],
    /// The first copied line.
    pub to: *mut T,
    /// The distance between copied lines.
    pub stride: usize,
}

/// A kernel that copies lines by runs.
pub type CopyKernel<T> = unsafe fn(&CopyJob<'_, T>);

/// A kernel that computes a tile of one shape.
pub type TileKernel<T> = unsafe fn(&TileJob<T>);

/// The kernels of an instruction set. Each list is indexed by the number of rows minus one, unless its comment names another index.
pub struct Kernels<T: 'static> {
    /// The number of rows of the tallest tile.
    pub rows: usize,
    /// The number of elements of a vector.
    pub lanes: usize,
    /// The number of elements of the short vector of `half_masked`.
    pub half: usize,
    /// Kernels for strips of two whole vectors of columns.
    pub double: &'static [TileKernel<T>],
    /// Kernels for a whole vector of columns and a part of another vector.
    pub double_masked: &'static [TileKernel<T>],
    /// Kernels for a part of a vector of columns.
    pub single_masked: &'static [TileKernel<T>],
    /// Kernels for a part of a short vector. A short vector has half the length of a whole vector.
    pub half_masked: &'static [TileKernel<T>],
    /// Kernels for `tail` columns of one row, indexed by `k` minus one.
    pub sweeps: &'static [TileKernel<T>],
    /// Kernels for operands whose elements are adjacent along `k`, indexed by the number of rows
    /// minus one. The vectors of these kernels lie along `k`.
    pub dots: &'static [TileKernel<T>],
    /// Transposes a square of [`Kernels::square`] columns while copying it: `(from, column stride,
    /// to, row stride)`.
    pub transpose: unsafe fn(*const T, isize, *mut T, usize),
    /// The side length of the square that `transpose` copies, in elements.
    pub square: usize,
    /// Two kernels that copy lines by runs: of at most `lanes` elements, and of at most `half` elements.
    pub copies: [CopyKernel<T>; 2],
}

impl<T> Kernels<T> {
    /// Returns the number of columns of the widest strip.
    pub fn pair(&self) -> usize {
        2 * self.lanes
    }

    /// Returns the kernels for the next columns, the number of these columns, and the number of columns in the last vector.
    pub fn for_columns(&self, rest: usize) -> (&'static [TileKernel<T>], usize, usize) {
        let Kernels { lanes, half, .. } = *self;
        if rest >= 2 * lanes {
            (self.double, 2 * lanes, 0)
        } else if rest > lanes && (rest > lanes + half || half == lanes) {
            (self.double_masked, rest, rest - lanes)
        } else if rest > half || half == lanes {
            let width = rest.min(lanes);
            (self.single_masked, width, width)
        } else {
            (self.half_masked, rest, rest)
        }
    }
}

/// An element type of compiled matrix products.
pub trait MatmulElement: Number {
    /// Returns the kernels of this type for an instruction set. The processor must support this
    /// instruction set.
    fn kernels(level: Level) -> &'static Kernels<Self>;
}

/// # Safety
/// The operands of `job` must be valid for a tile of `R` rows and `C` vectors of columns. If
/// `MASKED`, the last vector has `job.tail` columns.
#[inline(always)]
unsafe fn tile<V: Vector, const R: usize, const C: usize, const MASKED: bool>(job: &TileJob<V::Element>) {
    let [a_row, a_step] = job.a_strides;
    let (mut a, mut b) = (job.a, job.b);
    // SAFETY: the caller guarantees that the operands hold the tile. After the last step, the
    // pointers are past the end, but are not read there.
    unsafe {
        let mask = V::mask(if MASKED { job.tail } else { 0 });
        let mut sums = [[V::zero(); C]; R];
        for _ in 0..job.k {
            let mut columns = [V::zero(); C];
            for at in 0..C {
                let from = b.add(at * V::LANES);
                columns[at] = if MASKED && at + 1 == C {
                    V::load_masked(from, mask)
                } else {
                    V::load(from)
                };
            }
            for row in 0..R {
                let factor = V::splat(a.offset(row as isize * a_row));
                for at in 0..C {
                    sums[row][at] = factor.fma(columns[at], sums[row][at]);
                }
            }
            a = a.wrapping_offset(a_step);
            b = b.wrapping_offset(job.b_stride);
        }
        for row in 0..R {
            for at in 0..C {
                let to = job.c.offset(row as isize * job.c_stride).add(at * V::LANES);
                let masked = MASKED && at + 1 == C;
                let old = || {
                    if masked {
                        V::load_masked(to, mask)
                    } else {
                        V::load(to)
                    }
                };
                let value = match job.update {
                    Update::Store => sums[row][at],
                    Update::Add => old().add(sums[row][at]),
                    Update::Subtract => old().sub(sums[row][at]),
                };
                if masked {
                    value.store_masked(to, mask)
                } else {
                    value.store(to)
                }
            }
        }
    }
}

/// Computes `c[j] = sum over k < K of a[k] b[k, j]` for `job.tail` columns.
///
/// # Safety
/// The operands of `job` must hold `K` steps along `k`, and `job.tail` columns.
#[inline(always)]
unsafe fn sweep<V: Vector, const K: usize>(job: &TileJob<V::Element>) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let factors: [V; K] = std::array::from_fn(|k| {
            let factor = V::splat(job.a.offset(k as isize * job.a_strides[1]));
            if job.update == Update::Subtract {
                V::zero().sub(factor)
            } else {
                factor
            }
        });
        let row = |k: usize| job.b.offset(k as isize * job.b_stride);
        let whole = job.tail - job.tail % V::LANES;
        for left in (0..whole).step_by(V::LANES) {
            let to = job.c.add(left);
            let mut sum = if job.update == Update::Store {
                V::zero()
            } else {
                V::load(to)
            };
            for k in 0..K {
                sum = factors[k].fma(V::load(row(k).add(left)), sum);
            }
            sum.store(to);
        }
        if whole < job.tail {
            let (to, mask) = (job.c.add(whole), V::mask(job.tail - whole));
            let mut sum = if job.update == Update::Store {
                V::zero()
            } else {
                V::load_masked(to, mask)
            };
            for k in 0..K {
                sum = factors[k].fma(V::load_masked(row(k).add(whole), mask), sum);
            }
            sum.store_masked(to, mask);
        }
    }
}

/// Computes `c[r] = sum over k of a[r, k] b[k]`. The elements of `a` and of `b` must be adjacent
/// along `k`.
///
/// # Safety
/// The operands of `job` must hold `R` rows, with `job.k` elements each.
#[inline(always)]
unsafe fn dots<V: Vector, const R: usize>(job: &TileJob<V::Element>) {
    let whole = job.k - job.k % V::LANES;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let row = |at: usize| job.a.offset(at as isize * job.a_strides[0]);
        let mut sums = [V::zero(); R];
        for from in (0..whole).step_by(V::LANES) {
            let factor = V::load(job.b.add(from));
            for at in 0..R {
                sums[at] = factor.fma(V::load(row(at).add(from)), sums[at]);
            }
        }
        if whole < job.k {
            let mask = V::mask(job.k - whole);
            let factor = V::load_masked(job.b.add(whole), mask);
            for at in 0..R {
                sums[at] = factor.fma(V::load_masked(row(at).add(whole), mask), sums[at]);
            }
        }
        for at in 0..R {
            let to = job.c.offset(at as isize * job.c_stride);
            let sum = sums[at].sum();
            job.update.apply(to, sum);
        }
    }
}

/// Copies lines, always writing whole vectors. The surplus elements after a run are overwritten by the next run or line. After the last line, up to
/// one vector of memory is overwritten.
///
/// # Safety
/// The operand must hold the runs. The length of a run is at most the number of lanes. The copy must have room for the lines and one more
/// vector.
#[inline(always)]
unsafe fn copy<V: Vector>(job: &CopyJob<'_, V::Element>) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for (line, start) in job.lines.iter().enumerate() {
            let (from, to) = (job.from.wrapping_offset(*start), job.to.add(line * job.stride));
            for run in job.runs {
                let mask = V::mask(run.length as usize);
                V::load_masked(from.wrapping_offset(run.from), mask).store(to.add(run.to as usize));
            }
        }
    }
}

/// Compiles the kernels for one instruction set.
macro_rules! compiled {
    ($tile_name:ident $sweep_name:ident $dots_name:ident $copy_name:ident $(#[$feature:meta])?) => {
        $(#[$feature])?
        unsafe fn $tile_name<V: Vector, const R: usize, const C: usize, const MASKED: bool>(job: &TileJob<V::Element>) {
            // SAFETY: guaranteed by the caller.
            unsafe { tile::<V, R, C, MASKED>(job) }
        }

        $(#[$feature])?
        unsafe fn $sweep_name<V: Vector, const K: usize>(job: &TileJob<V::Element>) {
            // SAFETY: guaranteed by the caller.
            unsafe { sweep::<V, K>(job) }
        }

        $(#[$feature])?
        unsafe fn $dots_name<V: Vector, const R: usize>(job: &TileJob<V::Element>) {
            // SAFETY: guaranteed by the caller.
            unsafe { dots::<V, R>(job) }
        }

        $(#[$feature])?
        unsafe fn $copy_name<V: Vector>(job: &CopyJob<'_, V::Element>) {
            // SAFETY: guaranteed by the caller.
            unsafe { copy::<V>(job) }
        }
    };
}

compiled!(tile_plain sweep_plain dots_plain copy_plain);
#[cfg(target_arch = "x86_64")]
compiled!(tile_avx2 sweep_avx2 dots_avx2 copy_avx2 #[target_feature(enable = "avx2,fma")]);
#[cfg(target_arch = "x86_64")]
compiled!(tile_avx512 sweep_avx512 dots_avx512 copy_avx512 #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]);

/// Collects the compiled kernels of an instruction set as [`Kernels`].
macro_rules! kernels {
    ($tile:ident $sweep:ident $dots:ident $copy:ident $transpose:expr, $square:literal, $element:ty, $vector:ty, $half:ty,
     [$($rows:literal)*], [$($dot_rows:literal)*]) => {
        const { &Kernels::<$element> {
            rows: [$($rows),*].len(),
            lanes: <$vector>::LANES,
            half: <$half>::LANES,
            double: &[$($tile::<$vector, $rows, 2, false>),*],
            double_masked: &[$($tile::<$vector, $rows, 2, true>),*],
            single_masked: &[$($tile::<$vector, $rows, 1, true>),*],
            half_masked: &[$($tile::<$half, $rows, 1, true>),*],
            sweeps: &[$($sweep::<$vector, $dot_rows>),*],
            dots: &[$($dots::<$vector, $dot_rows>),*],
            transpose: $transpose,
            square: $square,
            copies: [$copy::<$vector>, $copy::<$half>],
        } }
    };
}

macro_rules! real {
    ($element:ty, $lanes:literal, $half:ident, $whole:ident, $transpose:ident, $square:literal) => {
        impl MatmulElement for $element {
            fn kernels(level: Level) -> &'static Kernels<$element> {
                #[cfg(target_arch = "x86_64")]
                use std::arch::x86_64::{$half, $whole};
                type Portable = LaneArray<$element, $lanes>;
                match level {
                    Level::Portable => {
                        kernels!(tile_plain sweep_plain dots_plain copy_plain transpose_plain, 4, $element, Portable, Portable, [1 2 3 4], [1 2 3 4])
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => {
                        kernels!(tile_avx2 sweep_avx2 dots_avx2 copy_avx2 $transpose, $square, $element, $half, $half, [1 2 3 4 5 6], [1 2 3 4 5 6 7 8])
                    }
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => kernels!(tile_avx512 sweep_avx512 dots_avx512 copy_avx512 $transpose, $square, $element, $whole, $half,
                        [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [1 2 3 4 5 6 7 8]),
                    #[cfg(not(target_arch = "x86_64"))]
                    Level::Avx2 | Level::Avx512 => {
                        kernels!(tile_plain sweep_plain dots_plain copy_plain transpose_plain, 4, $element, Portable, Portable, [1 2 3 4], [1 2 3 4])
                    }
                }
            }
        }
    };
}

real!(f32, 4, __m256, __m512, transpose_f32, 8);
real!(f64, 2, __m256d, __m512d, transpose_f64, 4);
