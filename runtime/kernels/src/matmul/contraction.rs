//! Products of operands whose rows, columns or contracted elements are spread over several axes, such as the windows of images.
//!
//! Note [Copied blocks]. Both operands are copied block by block, such that rows of the left operand stay in the L2 cache, and strips of the right
//! operand's columns in the L1 cache. The copies have the layout of a plain product, so the kernels of plain products can multiply them. The
//! windows of an
//! image are therefore never in memory as a whole. An element that occurs in several windows is copied from the image once per window. Each copy is
//! used for all rows of the block. Elements are summed in the order of plain products (see Note [One order of summation] in `tile`).

use super::blocked::{Strip, blocks};
use super::copies::{Block, count_runs, distance};
use super::tile::{Kernels, MatmulElement, TileJob, Update};
use super::workspace::{self, DEPTH, HEIGHT_BYTES, PositionTables, Workspace};
use super::{Operands, TILE, piece_count};
use crate::arrays::Level;
use crate::pool::Pool;
use bnnc_base::dtype::Precision;
use std::ops::Range;

/// Computes the primitive `contraction`.
///
/// # Safety
/// `buffers` must hold the addresses of `a`, `b` and `c`. Every element that the offsets in `ints` refer to must lie within these buffers,
/// and `c` must not overlap `a` or `b`.
pub unsafe fn contraction(pool: &Pool, precision: Precision, buffers: &[*mut u8], ints: &[i64]) {
    // SAFETY: the caller's promise.
    unsafe { contraction_at(Level::detect(), pool, precision, buffers, ints) }
}

/// Computes [`contraction()`] with the kernels of a chosen level.
///
/// # Safety
/// The same conditions as for [`contraction()`] apply; the level must be among [`Level::supported`].
pub unsafe fn contraction_at(
    level: Level,
    pool: &Pool,
    precision: Precision,
    buffers: &[*mut u8],
    ints: &[i64],
) {
    match precision {
        // SAFETY: the caller's promise.
        Precision::F32 => unsafe { run::<f32>(level, pool, buffers, ints) },
        // SAFETY: the caller's promise.
        Precision::F64 => unsafe { run::<f64>(level, pool, buffers, ints) },
    }
}

/// Axes `(size, a, b, c)` that are traversed together, from the outermost to the innermost.
#[derive(Clone, Copy)]
struct Axes<'a>(&'a [[i64; 4]]);

impl Axes<'_> {
    fn count(&self) -> usize {
        self.0.iter().map(|axis| axis[0].max(0) as usize).product()
    }

    /// Returns the position in an operand at an index.
    fn position(&self, operand: usize, index: usize) -> isize {
        let mut rest = index as i64;
        let terms = self.0.iter().rev().map(|axis| {
            let index = rest % axis[0];
            rest /= axis[0];
            index * axis[operand + 1]
        });
        terms.sum::<i64>() as isize
    }

    /// Writes the positions in an operand at the indices from `start`.
    fn positions(&self, operand: usize, start: usize, to: &mut [isize]) {
        let Some((inner, outer)) = self.0.split_last() else {
            return to.fill(0);
        };
        let (size, stride) = (inner[0] as usize, inner[operand + 1] as isize);
        let mut at = 0;
        while at < to.len() {
            let index = start + at;
            let first = index % size;
            let base = Axes(outer).position(operand, index / size);
            let count = (size - first).min(to.len() - at);
            for (step, position) in to[at..at + count].iter_mut().enumerate() {
                *position = base + (first + step) as isize * stride;
            }
            at += count;
        }
    }

    /// Returns the number of an operand's elements that are adjacent in memory along the innermost axes.
    fn run(&self, operand: usize) -> usize {
        let mut run = 1;
        for axis in self.0.iter().rev().filter(|axis| axis[0] != 1) {
            if axis[operand + 1] != run {
                break;
            }
            run *= axis[0];
        }
        run.max(1) as usize
    }
}

/// The sides of a product. `a` is the left operand, so `a` and `c` have the axes of `m`.
#[derive(Clone, Copy)]
struct Sides<'a> {
    m: Axes<'a>,
    n: Axes<'a>,
    k: Axes<'a>,
    batch: Axes<'a>,
    /// The numbers of the left and of the right operand.
    order: [usize; 2],
}

/// The number of the result among the operands.
const RESULT: usize = 2;

impl<'a> Sides<'a> {
    fn new(ints: &'a [i64]) -> Sides<'a> {
        let (axes, _) = ints[6..].as_chunks::<4>();
        let (m, rest) = axes.split_at(ints[2] as usize);
        let (n, rest) = rest.split_at(ints[3] as usize);
        let (k, batch) = rest.split_at(ints[4] as usize);
        Sides {
            m: Axes(m),
            n: Axes(n),
            k: Axes(k),
            batch: Axes(batch),
            order: [0, 1],
        }
    }

    /// Returns the transposed product: the same elements with the operands exchanged.
    fn transposed(&self) -> Sides<'a> {
        Sides {
            m: self.n,
            n: self.m,
            order: [self.order[1], self.order[0]],
            ..*self
        }
    }

    /// Estimates the cost of one product. The unit is an operation on half a vector.
    fn cost<T>(&self, kernels: &Kernels<T>) -> usize {
        let (m, n, k) = (self.m.count(), self.n.count(), self.k.count());
        let halves = match n % kernels.lanes {
            0 => 0,
            rest if rest <= kernels.half && kernels.half < kernels.lanes => 1,
            _ => 2,
        };
        let products = m * k * (2 * (n / kernels.lanes) + halves);
        let [a, b] = self.order;
        let run = |side: &Axes<'_>, operand| side.run(operand).min(kernels.lanes);
        let rows = match run(&self.k, a).max(run(&self.m, a)) {
            1 => 3 * m * k,
            run => 2 * m * k / run,
        };
        let strips = match run(&self.n, b) {
            1 if self.k.run(b) >= kernels.square => n * k / 2,
            1 => 3 * n * k,
            run => 2 * n * k / run,
        };
        let blocks = m.div_ceil(HEIGHT_BYTES / size_of::<T>());
        let is_scattered = self.n.run(RESULT) < n.min(kernels.pair());
        let scattering = usize::from(is_scattered) * 6 * m * n * k.div_ceil(DEPTH);
        products + rows + blocks * strips + scattering
    }
}

/// # Safety
/// The same conditions as for [`contraction()`] apply.
unsafe fn run<T: MatmulElement>(level: Level, pool: &Pool, buffers: &[*mut u8], ints: &[i64]) {
    let kernels = T::kernels(level);
    let given = Sides::new(ints);
    let transposed = given.transposed();
    let sides = match transposed.cost(kernels) < given.cost(kernels) {
        true => transposed,
        false => given,
    };
    let (m, n, count) = (sides.m.count(), sides.n.count(), sides.batch.count());
    if m == 0 || n == 0 || count == 0 {
        return;
    }
    let start = |operand: usize| {
        let first = buffers[operand].cast::<T>().cast_const();
        first.wrapping_offset(ints[operand] as isize)
    };
    let operands = &Operands {
        a: start(sides.order[0]),
        b: start(sides.order[1]),
        c: buffers[RESULT].cast::<T>(),
    };
    let pieces = piece_count(2 * (m * n * sides.k.count() * count) as u64);
    let groups = pieces.min(count);
    let parts = pieces.div_ceil(groups);
    let is_cut_along_n = n >= parts * TILE || n >= m;
    let cut = |size: usize, at: usize| (size.div_ceil(TILE) * at / parts * TILE).min(size);
    pool.run(groups * parts, &|_, piece| {
        let (group, part) = (piece / parts, piece % parts);
        let own = |size: usize| cut(size, part)..cut(size, part + 1);
        let (rows, columns) = match is_cut_along_n {
            true => (0..m, own(n)),
            false => (own(m), 0..n),
        };
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        for item in count * group / groups..count * (group + 1) / groups {
            let position = |operand| sides.batch.position(operand, item);
            workspace::with(|space: Workspace<T>| {
                // SAFETY: the workspace has valid tables, and this thread alone uses it.
                let tables = unsafe { &mut *space.tables };
                let piece = Piece {
                    kernels,
                    sides,
                    a: operands.a.wrapping_offset(position(sides.order[0])),
                    b: operands.b.wrapping_offset(position(sides.order[1])),
                    c: operands.c.wrapping_offset(position(RESULT)),
                    space,
                };
                // SAFETY: the caller guarantees that the operands hold all elements; items and
                // parts write disjoint elements.
                unsafe { piece.compute(tables, rows.clone(), columns.clone()) };
            });
        }
    });
}

/// One product of the batch, on one thread.
struct Piece<'a, T: 'static> {
    kernels: &'static Kernels<T>,
    sides: Sides<'a>,
    a: *const T,
    b: *const T,
    c: *mut T,
    space: Workspace<T>,
}

/// A copied block of the left operand.
struct CopiedRows<T> {
    first: *const T,
    strides: [isize; 2],
    height: usize,
    depth: usize,
    update: Update,
}

impl<T: MatmulElement> Piece<'_, T> {
    /// Computes some rows and columns of the result.
    ///
    /// # Safety
    /// The operands must hold all elements of the rows and columns.
    unsafe fn compute(&self, tables: &mut PositionTables, rows: Range<usize>, columns: Range<usize>) {
        let Sides {
            m, k, order: [a, b], ..
        } = self.sides;
        for (top, height) in blocks(rows.len(), HEIGHT_BYTES / size_of::<T>()) {
            m.positions(a, rows.start + top, &mut tables.rows[..height]);
            m.positions(RESULT, rows.start + top, &mut tables.rows_to[..height]);
            for (first, depth) in blocks(k.count(), DEPTH) {
                k.positions(a, first, &mut tables.left[..depth]);
                k.positions(b, first, &mut tables.right[..depth]);
                // SAFETY: the caller's promise.
                let (first_row, strides) = unsafe { self.copy_rows(tables, height, depth) };
                let block = CopiedRows {
                    first: first_row,
                    strides,
                    height,
                    depth,
                    update: if first > 0 { Update::Add } else { Update::Store },
                };
                let mut left = columns.start;
                while left < columns.end {
                    // SAFETY: the caller's promise.
                    left += unsafe { self.strip(tables, &block, left..columns.end) };
                }
            }
        }
    }

    /// Copies a block of the left operand, by rows or by columns. Returns the copy and its strides.
    ///
    /// # Safety
    /// The operand must hold the block.
    unsafe fn copy_rows(
        &self,
        tables: &mut PositionTables,
        height: usize,
        depth: usize,
    ) -> (*const T, [isize; 2]) {
        let (rows, terms) = (&tables.rows[..height], &tables.left[..depth]);
        let lanes = self.kernels.lanes;
        let by_rows = height * count_runs(terms, lanes) <= depth * count_runs(rows, lanes);
        let (lines, elements) = if by_rows { (rows, terms) } else { (terms, rows) };
        let block = Block {
            kernels: self.kernels,
            from: self.a,
            lines,
            elements,
            to: self.space.rows,
            stride: workspace::apart::<T>(elements.len()),
        };
        let stride = block.stride as isize;
        // SAFETY: the caller guarantees that the operand holds the block, and that the workspace
        // has room for a block of the greatest height and depth.
        unsafe { block.copy(&mut tables.runs) };
        (self.space.rows, if by_rows { [stride, 1] } else { [1, stride] })
    }

    /// Computes the next strip of columns for the rows of a block, and returns the number of columns.
    ///
    /// # Safety
    /// The operands must hold all elements of the rows and columns.
    unsafe fn strip(
        &self,
        tables: &mut PositionTables,
        block: &CopiedRows<T>,
        columns: Range<usize>,
    ) -> usize {
        let (kernels, count, tail) = self.kernels.for_columns(columns.len());
        let n = self.sides.n;
        n.positions(self.sides.order[1], columns.start, &mut tables.columns[..count]);
        n.positions(RESULT, columns.start, &mut tables.columns_to[..count]);
        let pair = self.kernels.pair();
        let from = Block {
            kernels: self.kernels,
            from: self.b,
            lines: &tables.right[..block.depth],
            elements: &tables.columns[..count],
            to: self.space.strip,
            stride: pair,
        };
        // SAFETY: the caller guarantees that the operand holds the strip; the workspace has room
        // for the widest and deepest strip.
        unsafe { from.copy(&mut tables.runs) };
        let (rows_to, columns_to) = (&tables.rows_to[..block.height], &tables.columns_to[..count]);
        let row_stride = distance(rows_to).filter(|_| count_runs(columns_to, count) == 1);
        let strip = Strip {
            kernels,
            rows: block.height,
            columns: count,
            job: TileJob {
                k: block.depth,
                a: block.first,
                a_strides: block.strides,
                b: self.space.strip,
                b_stride: pair as isize,
                c: self.c.wrapping_offset(rows_to[0] + columns_to[0]),
                c_stride: row_stride.unwrap_or_default(),
                tail,
                update: block.update,
            },
        };
        // SAFETY: the caller's promise.
        unsafe {
            match row_stride {
                Some(_) => strip.compute(self.kernels.rows),
                None => self.compute_apart(strip, rows_to, columns_to),
            }
        }
        count
    }

    /// Computes the tiles of a strip in the workspace, and moves their elements to their places in the result.
    ///
    /// # Safety
    /// The operands must hold the strip.
    unsafe fn compute_apart(&self, strip: Strip<T>, rows_to: &[isize], columns_to: &[isize]) {
        let (mut job, pair) = (strip.job, self.kernels.pair());
        let (a, update) = (job.a, job.update);
        (job.c, job.c_stride, job.update) = (self.space.tile, pair as isize, Update::Store);
        for (top, rows) in blocks(strip.rows, self.kernels.rows) {
            job.a = a.wrapping_offset(top as isize * job.a_strides[0]);
            // SAFETY: the tile is inside the workspace.
            unsafe { strip.kernels[rows - 1](&job) };
            // The outer loop runs over columns, because the elements of a column are often adjacent even if those of a row are not.
            for (column, column_to) in columns_to.iter().enumerate() {
                for (row, row_to) in rows_to[top..top + rows].iter().enumerate() {
                    let to = self.c.wrapping_offset(row_to + column_to);
                    // SAFETY: one address belongs to an element of the result, and the other to an element of the tile.
                    unsafe { update.apply(to, self.space.tile.add(row * pair + column).read()) };
                }
            }
        }
    }
}
