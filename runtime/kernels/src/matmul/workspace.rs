//! Memory to which each thread copies operands. A thread allocates the memory at its first product,
//! and keeps it until the thread ends.

use std::cell::RefCell;

/// The maximum length of a block of the contracted axis.
pub const DEPTH: usize = 1024;
/// The maximum height of a block of rows, in bytes of one column. With this height, a block of the
/// left operand fits into the L2 cache.
pub const HEIGHT_BYTES: usize = 1024;

/// The number of bytes of a cache line.
const LINE: usize = 64;
/// The number of cache lines for a strip of the right operand. Each of its [`DEPTH`] rows has two
/// of the longest vectors.
const STRIP: usize = 2 * DEPTH;
/// The number of cache lines for a block of the left operand. The block is copied by rows or by
/// columns, and each copied row or column is padded by one cache line.
const ROWS: usize = (HEIGHT_BYTES / LINE + 1) * DEPTH;
/// The number of cache lines for a tile of the result. Each row of the tallest tile has two
/// vectors; the number is rounded up.
const TILE: usize = 32;

/// The number of bytes that a thread keeps after its first product.
pub const BYTES: usize = (STRIP + ROWS + TILE) * LINE;

/// Memory with the size and the alignment of a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its address is used")] [u8; LINE]);

/// The parts of a workspace.
pub struct Workspace<T> {
    /// Copied columns of the right operand.
    pub strip: *mut T,
    /// Copied rows or columns of the left operand.
    pub rows: *mut T,
    /// A tile of the result before it is copied to its place.
    pub tile: *mut T,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Returns the distance between the starts of two copied rows of `depth` elements. The distance is
/// an odd number of cache lines, so that the rows do not compete for the same sets of a cache.
pub fn apart<T>(depth: usize) -> usize {
    ((depth * size_of::<T>()).div_ceil(LINE) | 1) * LINE / size_of::<T>()
}

/// Calls `body` with the workspace of this thread. The workspace must not be in use already.
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
