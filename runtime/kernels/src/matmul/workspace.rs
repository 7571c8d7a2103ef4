//! Memory of each thread for copied operands: allocated at its first product, kept until it ends.

use std::cell::RefCell;

/// The longest block of the contracted axis.
pub const DEPTH: usize = 1024;
/// Bytes of the highest block of rows in one column: a block of the left operand shall fit into the second cache.
pub const HEIGHT_BYTES: usize = 1024;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Lines for a strip of the right operand: two of the longest vectors by [`DEPTH`].
const STRIP: usize = 2 * DEPTH;
/// Lines for a block of the left operand, copied by rows or by columns, each a line longer than it needs.
const ROWS: usize = (HEIGHT_BYTES / LINE + 1) * DEPTH;
/// Lines for a tile of the result: two vectors by the most rows, rounded up.
const TILE: usize = 32;

/// The bytes that a thread keeps after its first product.
pub const BYTES: usize = (STRIP + ROWS + TILE) * LINE;

/// A line, for its alignment.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its address is used")] [u8; LINE]);

/// The parts of a workspace.
pub struct Workspace<T> {
    /// Columns of the right operand.
    pub strip: *mut T,
    /// Rows of the left operand.
    pub rows: *mut T,
    /// A tile of the result.
    pub tile: *mut T,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// The distance of copied rows of `depth` elements: an odd number of lines, so that they do not compete for places of a cache.
pub fn apart<T>(depth: usize) -> usize {
    ((depth * size_of::<T>()).div_ceil(LINE) | 1) * LINE / size_of::<T>()
}

/// Lends this thread's workspace, which must not be lent already.
pub fn with<T, R>(body: impl FnOnce(Workspace<T>) -> R) -> R {
    LINES.with_borrow_mut(|lines| {
        if lines.is_empty() {
            lines.resize(STRIP + ROWS + TILE, Line([0; LINE]));
        }
        let start = lines.as_mut_ptr();
        let part = |at: usize| start.wrapping_add(at).cast::<T>();
        body(Workspace {
            strip: part(0),
            rows: part(STRIP),
            tile: part(STRIP + ROWS),
        })
    })
}
