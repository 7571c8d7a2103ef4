//! Writes the primitives for cumulative sums and triangular systems. One thread handles each
//! independent problem.

use super::{Entry, at, each, long, per_thread, read, repeat, with, write};
use crate::gpu::kernel::over_threads;
use crate::text::{LoopBounds, Text, Type};
use bnnc_abi::device::{self, Count};
use bnnc_base::dtype::Precision;

/// Writes the primitive `cumsum`, with one thread for each line.
pub(super) fn cumsum(text: &mut Text, precision: Precision) -> device::KernelEntry {
    let entry = Entry::begin(text, "cumsum".to_owned(), (2, 4));
    let ([x, y], [outer, length, inner, reverse]) = (
        [entry.addresses[0], entry.addresses[1]],
        [entry.ints[0], entry.ints[1], entry.ints[2], entry.ints[3]],
    );
    per_thread(text, [outer, inner], &mut |text, line| {
        let (o, i) = (long(text, "divui", line, inner), long(text, "remui", line, inner));
        let last = with(text, "subi", length, 1);
        let backwards = with(text, "muli", reverse, -2);
        let step = with(text, "addi", backwards, 1);
        let first = long(text, "muli", reverse, last);
        let (zero, sum) = (text.long(0), text.literal(Type::Real(precision), 0.0));
        repeat(
            text,
            LoopBounds::by_one(zero, length),
            &[sum],
            &mut |text, number, sums| {
                let t = at(text, number, step, first);
                let row = at(text, o, length, t);
                let position = at(text, row, inner, i);
                let value = read(text, precision, x, position);
                let sum = text.alike("arith.addf", &[sums[0], value]);
                write(text, y, position, sum);
                vec![sum]
            },
        );
    });
    let counts = Count::Product(vec![Count::Int(0), Count::Int(2)]);
    entry.end(text, 0, over_threads(counts))
}

/// Writes the primitive `triangular_solve`, with one thread for each right-hand side.
pub(super) fn triangular(text: &mut Text, precision: Precision) -> device::KernelEntry {
    let entry = Entry::begin(text, "triangular_solve".to_owned(), (3, 4));
    let ([l, b, x], [batch, n, columns, transposed]) = (
        [entry.addresses[0], entry.addresses[1], entry.addresses[2]],
        [entry.ints[0], entry.ints[1], entry.ints[2], entry.ints[3]],
    );
    per_thread(text, [batch, columns], &mut |text, column| {
        let (s, c) = (
            long(text, "divui", column, columns),
            long(text, "remui", column, columns),
        );
        let (zero, one) = (text.long(0), text.long(1));
        let is_transposed = text.compare("ne", transposed, zero);
        // The entry (i, j) lies `i` times the row stride plus `j` times the column stride after the
        // first element of the matrix.
        let row_stride = text.select(is_transposed, one, n);
        let column_stride = text.select(is_transposed, n, one);
        let square = long(text, "muli", n, n);
        let matrix = long(text, "muli", s, square);
        let first_row = long(text, "muli", s, n);
        let last = with(text, "subi", n, 1);
        each(text, LoopBounds::by_one(zero, n), &mut |text, number| {
            let mirrored = long(text, "subi", last, number);
            let i = text.select(is_transposed, mirrored, number);
            let above = with(text, "addi", i, 1);
            let from = text.select(is_transposed, above, zero);
            let to = text.select(is_transposed, n, i);
            let row = at(text, i, row_stride, matrix);
            let nothing = text.literal(Type::Real(precision), 0.0);
            let known = repeat(
                text,
                LoopBounds::by_one(from, to),
                &[nothing],
                &mut |text, j, sums| {
                    let position = at(text, j, column_stride, row);
                    let factor = read(text, precision, l, position);
                    let solved = long(text, "addi", first_row, j);
                    let solved = at(text, solved, columns, c);
                    let solved = read(text, precision, x, solved);
                    vec![text.intrinsic("fma", &[factor, solved, sums[0]])]
                },
            );
            let diagonal = at(text, i, column_stride, row);
            let diagonal = read(text, precision, l, diagonal);
            let position = long(text, "addi", first_row, i);
            let position = at(text, position, columns, c);
            let right = read(text, precision, b, position);
            let rest = text.alike("arith.subf", &[right, known[0]]);
            let value = text.alike("arith.divf", &[rest, diagonal]);
            write(text, x, position, value);
        });
    });
    let counts = Count::Product(vec![Count::Int(0), Count::Int(2)]);
    entry.end(text, 0, over_threads(counts))
}
