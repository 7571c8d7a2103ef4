//! Computes Cholesky factors. One block of threads factors a whole matrix. For a large matrix, the
//! runtime launches separate functions for the steps of the factorisation instead.

use super::{Entry, at, each, long, per_thread, read, repeat, when, with, write};
use crate::gpu::kernel::{over_threads, place};
use crate::gpu::mapping::THREADS;
use crate::text::{LoopBounds, Text, Type, Value};
use bnnc_abi::device::{self, Blocked, Count};
use bnnc_base::dtype::Precision;

/// The number of rows of a diagonal block, which is a compromise. A thread reads each row of a
/// block many times. If blocks are small, the rows that the 32 threads of a warp read fit into the
/// nearest cache. If blocks are larger, the remaining matrix products are fewer, larger and more
/// efficient.
const ROWS: u32 = 64;

/// A square part of a matrix: the position of the first element of the part, the distance between
/// rows, and the number of rows.
#[derive(Clone, Copy)]
struct Square {
    first: Value,
    stride: Value,
    rows: Value,
}

/// Writes the primitive `cholesky`, with one block of threads for each matrix.
pub(super) fn cholesky(text: &mut Text, precision: Precision) -> device::KernelEntry {
    let entry = Entry::begin(text, "cholesky".to_owned(), (2, 2));
    let ([a, l], n) = ([entry.addresses[0], entry.addresses[1]], entry.ints[1]);
    let (_, block) = place(text);
    let square = Square {
        first: matrix(text, block, n),
        stride: n,
        rows: n,
    };
    factor(text, precision, [a, l], square);
    entry.end(text, 0, Count::Int(0))
}

/// Writes the functions that process one column of blocks of a matrix; see [`Blocked`].
pub(super) fn blocked(text: &mut Text, precision: Precision) -> Blocked {
    Blocked {
        rows: ROWS,
        diagonal: diagonal(text, precision),
        panel: panel(text, precision),
    }
}

fn diagonal(text: &mut Text, precision: Precision) -> device::KernelEntry {
    let entry = Entry::begin(text, "cholesky_diagonal".to_owned(), (2, 5));
    let (_, block) = place(text);
    let square = corner(text, &entry, block);
    let l = entry.addresses[1];
    factor(text, precision, [l, l], square);
    entry.end(text, 0, Count::Int(0))
}

/// Writes the function that processes the rows below a diagonal block. One thread handles each row.
fn panel(text: &mut Text, precision: Precision) -> device::KernelEntry {
    let entry = Entry::begin(text, "cholesky_panel".to_owned(), (2, 5));
    let (l, batch, below) = (entry.addresses[1], entry.ints[0], entry.ints[4]);
    per_thread(text, [batch, below], &mut |text, number| {
        let item = long(text, "divui", number, below);
        let block = corner(text, &entry, item);
        let own = long(text, "remui", number, below);
        let own = long(text, "addi", own, block.rows);
        let row = at(text, own, block.stride, block.first);
        let zero = text.long(0);
        each(text, LoopBounds::by_one(zero, block.rows), &mut |text, j| {
            let pivot_row = at(text, j, block.stride, block.first);
            let (position, value) = rest(text, precision, [l, l], [row, pivot_row, j]);
            let pivot = long(text, "addi", pivot_row, j);
            let pivot = read(text, precision, l, pivot);
            divide(text, l, position, [value, pivot]);
            clear(text, precision, l, [pivot_row, own]);
        });
    });
    let rows = Count::Product(vec![Count::Int(0), Count::Int(4)]);
    entry.end(text, 0, over_threads(rows))
}

/// Returns the position of the first element of a matrix in a batch.
fn matrix(text: &mut Text, number: Value, n: Value) -> Value {
    let square = long(text, "muli", n, n);
    long(text, "muli", number, square)
}

/// Returns the diagonal block of a matrix in a batch.
fn corner(text: &mut Text, entry: &Entry, number: Value) -> Square {
    let (n, first, rows) = (entry.ints[1], entry.ints[2], entry.ints[3]);
    let matrix = matrix(text, number, n);
    let row = at(text, first, n, matrix);
    Square {
        first: long(text, "addi", row, first),
        stride: n,
        rows,
    }
}

/// Returns the position of `l[i, j]`, and `a[i, j]` minus the product of the known parts of the
/// rows `i` and `j`. The last argument holds the start of row `i`, the start of row `j`, and `j`.
fn rest(
    text: &mut Text,
    precision: Precision,
    [a, l]: [Value; 2],
    [row, pivot_row, j]: [Value; 3],
) -> (Value, Value) {
    let (zero, nothing) = (text.long(0), text.literal(Type::Real(precision), 0.0));
    let dot = repeat(
        text,
        LoopBounds::by_one(zero, j),
        &[nothing],
        &mut |text, k, sums| {
            let (own, other) = (long(text, "addi", row, k), long(text, "addi", pivot_row, k));
            let (own, other) = (read(text, precision, l, own), read(text, precision, l, other));
            vec![text.intrinsic("fma", &[own, other, sums[0]])]
        },
    );
    let position = long(text, "addi", row, j);
    let entry = read(text, precision, a, position);
    (position, text.alike("arith.subf", &[entry, dot[0]]))
}

/// Factors a square part with the threads of one block. The columns are processed in order. In each
/// column, the rows below the diagonal are divided among the threads. The elements above the
/// diagonal are set to zero.
fn factor(text: &mut Text, precision: Precision, [a, l]: [Value; 2], square: Square) {
    let (thread, _) = place(text);
    let zero = text.long(0);
    each(text, LoopBounds::by_one(zero, square.rows), &mut |text, j| {
        let pivot_row = at(text, j, square.stride, square.first);
        let (pivot, value) = rest(text, precision, [a, l], [pivot_row, pivot_row, j]);
        let root = text.intrinsic("sqrt", &[value]);
        // The matrix may be factored in place, so every thread must have read the pivot before
        // any thread overwrites it.
        text.line("nvvm.barrier0");
        let is_first = text.compare("eq", thread, zero);
        when(text, is_first, &mut |text| write(text, l, pivot, root));
        let below = with(text, "addi", j, 1);
        let bounds = LoopBounds {
            from: long(text, "addi", below, thread),
            to: square.rows,
            step: THREADS,
        };
        each(text, bounds, &mut |text, i| {
            let row = at(text, i, square.stride, square.first);
            let (position, value) = rest(text, precision, [a, l], [row, pivot_row, j]);
            divide(text, l, position, [value, root]);
            clear(text, precision, l, [pivot_row, i]);
        });
        text.line("nvvm.barrier0");
    });
}

/// Writes the quotient of two values.
fn divide(text: &mut Text, base: Value, position: Value, operands: [Value; 2]) {
    let quotient = text.alike("arith.divf", &operands);
    write(text, base, position, quotient);
}

/// Writes a zero at a position of a row.
fn clear(text: &mut Text, precision: Precision, base: Value, [row, position]: [Value; 2]) {
    let position = long(text, "addi", row, position);
    let nothing = text.literal(Type::Real(precision), 0.0);
    write(text, base, position, nothing);
}
