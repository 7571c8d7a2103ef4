//! Memory of each thread for copied operands. The memory is allocated at the first product of the thread, and kept until the thread ends.

use std::cell::RefCell;

/// The longest block of the contracted axis.
pub const DEPTH: usize = 1024;
/// The number of bytes of one column of the tallest block of rows. With this height, a block of the left operand fits into the L2 cache.
pub const HEIGHT_BYTES: usize = 1024;

/// The number of bytes of a cache line.
const LINE: usize = 64;
/// The number of cache lines for a strip of the right operand: two of the longest vectors for each of [`DEPTH`] rows.
const STRIP: usize = 2 * DEPTH;
/// The number of cache lines for a block of the left operand, which is copied by rows or by columns. Each copied row or column is padded by one line.
const ROWS: usize = (HEIGHT_BYTES / LINE + 1) * DEPTH;
/// The number of cache lines for a tile of the result: two vectors for each row of the tallest tile, rounded up.
const TILE: usize = 32;

/// The number of bytes that a thread keeps after its first product.
pub const BYTES: usize = (STRIP + ROWS + TILE) * LINE;

/// A cache line, with its alignment.
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

/// Returns the distance between copied rows of `depth` elements: an odd number of cache lines, so that rows do not compete for the same sets of a
/// cache.
pub fn apart<T>(depth: usize) -> usize {
    ((depth * size_of::<T>()).div_ceil(LINE) | 1) * LINE / size_of::<T>()
}

/// Calls `body` with this thread's workspace, which must not be in use.
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
