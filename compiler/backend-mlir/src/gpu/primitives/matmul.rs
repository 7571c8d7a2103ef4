//! Matrix products. Blocks of 256 threads compute tiles of 64 x 64 elements. Each thread keeps 4 x
//! 4 elements of the result in registers, and reads slices of both operands from shared memory. All
//! strides are supported. Each sum is computed in the order of the contracted axis.

use super::{Entry, at, long, repeat, when, with, write};
use crate::gpu::kernel::place;
use crate::gpu::mapping::THREADS;
use crate::text::{LoopBounds, Text, Type, Value};
use bnnc_abi::device::{self, Count};
use bnnc_base::dtype::Precision;

/// The number of rows of a tile, and also its number of columns.
const TILE: i64 = 64;
/// The number of positions along the contracted axis in a slice. Slices are stored in shared memory.
const DEPTH: i64 = 16;
/// The number of elements that a thread computes along each axis of a tile.
const OWN: i64 = 4;
/// The distance between rows of a slice. It is chosen so that the columns of the slice lie in
/// different banks of shared memory.
const PITCH: i64 = TILE + 4;

/// One operand of a product, from which a tile reads its elements. `free` is the axis along the
/// tile, and `contracted` is the axis over which products are summed.
struct Operand {
    base: Value,
    free: (Value, Value),
    contracted: Value,
    first: Value,
    slice: Value,
}

/// The slice of the contracted axis that is in shared memory.
struct Slice {
    /// The number of this thread within its block.
    thread: Value,
    /// The start of the slice on the contracted axis.
    depth: Value,
    /// The length of the contracted axis.
    k: Value,
}

/// Writes the form of the primitive that takes this number of integers.
pub(super) fn emit(text: &mut Text, precision: Precision, ints: usize) -> device::KernelEntry {
    let axes = (ints - 9) / 4;
    let symbol = format!("matmul_{axes}");
    let bytes = precision.bytes() as i64 * DEPTH * PITCH;
    for operand in ["left", "right"] {
        text.line(format_args!(
            "llvm.mlir.global internal @{symbol}_{operand}() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<{bytes} x i8>"
        ));
    }
    let entry = Entry::begin(text, symbol, (3, ints));
    tile(text, precision, &entry);
    let tiles = |slot| Count::Quotient(Box::new(Count::Int(slot)), TILE);
    let batch = (0..axes).map(|axis| Count::Int(9 + 4 * axis as u32));
    let blocks = Count::Product([tiles(0), tiles(1)].into_iter().chain(batch).collect());
    entry.end(text, 2 * bytes as u32, blocks)
}

fn tile(text: &mut Text, precision: Precision, entry: &Entry) {
    let ints = &entry.ints;
    let (m, n, k) = (ints[0], ints[1], ints[2]);
    let (thread, block) = place(text);
    let tiles = |text: &mut Text, size| {
        let raised = with(text, "addi", size, TILE - 1);
        with(text, "divui", raised, TILE)
    };
    let (down, across) = (tiles(text, m), tiles(text, n));
    let column = long(text, "remui", block, across);
    let rest = long(text, "divui", block, across);
    let (row, item) = (long(text, "remui", rest, down), long(text, "divui", rest, down));
    let (row, column) = (with(text, "muli", row, TILE), with(text, "muli", column, TILE));
    let bases = bases(text, item, &ints[9..]);
    let slice = |text: &mut Text, operand: &str| {
        let shared = text.value(
            Type::Pointer,
            format_args!("llvm.mlir.addressof @{}_{operand} : !llvm.ptr<3>", entry.symbol),
        );
        text.value(
            Type::Pointer,
            format_args!("llvm.addrspacecast {shared} : !llvm.ptr<3> to !llvm.ptr"),
        )
    };
    let element = |text: &mut Text, operand: usize| {
        text.element(entry.addresses[operand], bases[operand], Type::Real(precision))
    };
    let left = Operand {
        base: element(text, 0),
        free: (ints[3], m),
        contracted: ints[4],
        first: row,
        slice: slice(text, "left"),
    };
    let right = Operand {
        base: element(text, 1),
        free: (ints[6], n),
        contracted: ints[5],
        first: column,
        slice: slice(text, "right"),
    };
    let nothing = text.literal(Type::Real(precision), 0.0);
    let zero = text.long(0);
    let (down, across) = (
        with(text, "divui", thread, TILE / OWN),
        with(text, "remui", thread, TILE / OWN),
    );
    let (down, across) = (with(text, "muli", down, OWN), with(text, "muli", across, OWN));
    let sums = repeat(
        text,
        LoopBounds {
            from: zero,
            to: k,
            step: DEPTH,
        },
        &[nothing; 16],
        &mut |text, depth, sums| {
            let slice = Slice { thread, depth, k };
            for operand in [&left, &right] {
                operand.fetch(text, precision, &slice);
            }
            text.line("nvvm.barrier0");
            let sums = products(text, precision, [(left.slice, down), (right.slice, across)], sums);
            text.line("nvvm.barrier0");
            sums
        },
    );
    let result = element(text, 2);
    store(text, ints, result, (row, column), (down, across), sums);
}

/// Writes the elements that one thread has computed. The first of them is at `(down, across)` in
/// the tile, which begins at `(row, column)` in the result.
fn store(
    text: &mut Text,
    ints: &[Value],
    result: Value,
    (row, column): (Value, Value),
    (down, across): (Value, Value),
    sums: Vec<Value>,
) {
    let (m, n) = (ints[0], ints[1]);
    for (number, sum) in (0..OWN * OWN).zip(sums) {
        let (i, j) = (
            with(text, "addi", down, number / OWN),
            with(text, "addi", across, number % OWN),
        );
        let (i, j) = (long(text, "addi", row, i), long(text, "addi", column, j));
        let (below, left_of) = (text.compare("slt", i, m), text.compare("slt", j, n));
        let inside = text.alike("arith.andi", &[below, left_of]);
        when(text, inside, &mut |text| {
            let line = long(text, "muli", i, ints[7]);
            let position = at(text, j, ints[8], line);
            write(text, result, position, sum);
        });
    }
}

/// Returns where one matrix product of a batch starts in the two operands and in the result.
fn bases(text: &mut Text, item: Value, axes: &[Value]) -> [Value; 3] {
    let mut bases = [text.long(0); 3];
    let mut rest = item;
    for axis in axes.chunks(4).rev() {
        let index = long(text, "remui", rest, axis[0]);
        rest = long(text, "divui", rest, axis[0]);
        for (base, stride) in bases.iter_mut().zip(&axis[1..]) {
            *base = at(text, index, *stride, *base);
        }
    }
    bases
}

impl Operand {
    /// Copies a slice to shared memory. Positions outside the operand become zeros.
    fn fetch(&self, text: &mut Text, precision: Precision, part: &Slice) {
        let Slice { thread, depth, k } = *part;
        let (stride, size) = self.free;
        let nothing = text.literal(Type::Real(precision), 0.0);
        // Neighbouring threads read elements that are neighbours along the axis that is contiguous
        // in memory.
        let (first, one) = (text.long(0), text.long(1));
        let deep = text.compare("eq", self.contracted, one);
        for pass in 0..TILE * DEPTH / THREADS {
            let number = with(text, "addi", thread, pass * THREADS);
            let (by_depth, depth_rest) = (
                with(text, "divui", number, DEPTH),
                with(text, "remui", number, DEPTH),
            );
            let (by_tile, tile_rest) = (
                with(text, "divui", number, TILE),
                with(text, "remui", number, TILE),
            );
            let free = text.select(deep, by_depth, tile_rest);
            let along = text.select(deep, depth_rest, by_tile);
            let (row, step) = (
                long(text, "addi", self.first, free),
                long(text, "addi", depth, along),
            );
            let (inside, before) = (text.compare("slt", row, size), text.compare("slt", step, k));
            let exists = text.alike("arith.andi", &[inside, before]);
            let line = long(text, "muli", row, stride);
            let position = at(text, step, self.contracted, line);
            let position = text.select(exists, position, first);
            let value = super::read(text, precision, self.base, position);
            let value = text.select(exists, value, nothing);
            let pitch = text.long(PITCH);
            let place = at(text, along, pitch, free);
            write(text, self.slice, place, value);
        }
    }
}

/// Multiplies the slices of both operands, and adds the products to the sums.
fn products(
    text: &mut Text,
    precision: Precision,
    operands: [(Value, Value); 2],
    sums: &[Value],
) -> Vec<Value> {
    let mut sums = sums.to_vec();
    for step in 0..DEPTH {
        let [left, right] = operands.map(|(slice, first)| {
            let first = with(text, "addi", first, step * PITCH);
            [0, 1, 2, 3].map(|own| {
                let position = with(text, "addi", first, own);
                super::read(text, precision, slice, position)
            })
        });
        for (number, sum) in sums.iter_mut().enumerate() {
            let (row, column) = (number / OWN as usize, number % OWN as usize);
            *sum = text.intrinsic("fma", &[left[row], right[column], *sum]);
        }
    }
    sums
}
