//! Per-thread memory for copied operands and for the positions of their elements. A thread allocates the memory at its first product, and keeps
//! it until the thread ends.

use std::cell::RefCell;

/// The maximum length of a block of the contracted axis.
pub const DEPTH: usize = 1024;
/// The maximum number of bytes that one column of a block of rows occupies. A block of this height of the left operand fits into the L2 cache.
pub const HEIGHT_BYTES: usize = 1024;

/// The number of bytes of a cache line.
const LINE: usize = 64;
/// The largest number of columns of a strip.
pub const COLUMNS: usize = 32;
/// The largest number of rows of a block.
pub const ROWS_MOST: usize = HEIGHT_BYTES / 4;

/// The number of cache lines for a strip of the right operand. Each of its [`DEPTH`] rows has two of the longest vectors. The last line is spare,
/// because copies of whole vectors may write past the end.
const STRIP: usize = 2 * DEPTH + 1;
/// The number of cache lines for a block of the left operand. The block is copied by rows or by columns, and each copied row or column is padded by
/// one cache line. The last line is spare, because copies of whole vectors may write past the end.
const ROWS: usize = (HEIGHT_BYTES / LINE + 1) * DEPTH + 1;
/// The number of cache lines for a tile of the result. Each row of the tallest tile has two vectors; the number is rounded up.
const TILE: usize = 32;

/// The number of cache lines for the tables.
const TABLES: usize = size_of::<PositionTables>().div_ceil(LINE);
const ALL: usize = STRIP + ROWS + TILE + TABLES;

/// The number of bytes that a thread keeps after its first product.
pub const BYTES: usize = ALL * LINE;

/// Memory with the size and the alignment of a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its address is used")] [u8; LINE]);

/// Adjacent elements of an operand that are copied with one vector.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct AdjacentRun {
    /// The offset of the first element in the operand.
    pub from: isize,
    /// The position of the first element in the copied line.
    pub to: u32,
    /// The number of elements.
    pub length: u32,
}

/// The positions of elements in operands with several axes, relative to the first element of the operand. All bit patterns are valid.
#[repr(C)]
pub struct PositionTables {
    /// The positions along `k` in the left operand.
    pub left: [isize; DEPTH],
    /// The positions along `k` in the right operand.
    pub right: [isize; DEPTH],
    /// The positions of rows in the left operand.
    pub rows: [isize; ROWS_MOST],
    /// The positions of rows in the result.
    pub rows_to: [isize; ROWS_MOST],
    /// The positions of columns in the right operand.
    pub columns: [isize; COLUMNS],
    /// The positions of columns in the result.
    pub columns_to: [isize; COLUMNS],
    /// Runs of adjacent elements.
    pub runs: [AdjacentRun; DEPTH],
}

/// The parts of a workspace.
pub struct Workspace<T> {
    /// Copied columns of the right operand.
    pub strip: *mut T,
    /// Copied rows or columns of the left operand.
    pub rows: *mut T,
    /// A tile of the result before it is copied to its place.
    pub tile: *mut T,
    /// The tables of products whose operands have several axes.
    pub tables: *mut PositionTables,
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Returns the distance between the starts of consecutive copied rows, each of which has `depth` elements. The distance is
/// an odd number of cache lines, so that the rows do not compete for the same sets of a cache.
pub fn apart<T>(depth: usize) -> usize {
    ((depth * size_of::<T>()).div_ceil(LINE) | 1) * LINE / size_of::<T>()
}

/// Calls `body` with the workspace of this thread. The workspace must not be in use already.
pub fn with<T, R>(body: impl FnOnce(Workspace<T>) -> R) -> R {
    LINES.with_borrow_mut(|lines| {
        if lines.is_empty() {
            lines.resize(ALL, Line([0; LINE]));
        }
        let start = lines.as_mut_ptr();
        let part = |at: usize| start.wrapping_add(at).cast::<T>();
        let tables = start.wrapping_add(STRIP + ROWS + TILE).cast();
        body(Workspace {
            tables,
            strip: part(0),
            rows: part(STRIP),
            tile: part(STRIP + ROWS),
        })
    })
}
