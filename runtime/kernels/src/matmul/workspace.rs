//! Memory of each thread for packed operands: allocated at its first product, kept until it ends.

use std::cell::RefCell;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of each part.
const PART: usize = 256 << 10;

/// A line, for its alignment.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; LINE]);

/// The parts of a workspace; each holds [`Workspace::capacity`] elements.
pub struct Workspace<T> {
    /// Columns of the right operand.
    pub panel: *mut T,
    /// Rows of the left operand.
    pub rows: *mut T,
    /// A tile of the result.
    pub tile: *mut T,
}

impl<T> Workspace<T> {
    /// Elements of each part.
    pub const fn capacity() -> usize {
        PART / size_of::<T>()
    }
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Lends this thread's workspace, which must not be lent already.
pub fn with<T, R>(body: impl FnOnce(Workspace<T>) -> R) -> R {
    LINES.with_borrow_mut(|lines| {
        if lines.is_empty() {
            lines.resize(3 * PART / LINE, Line([0; LINE]));
        }
        let start = lines.as_mut_ptr().cast::<u8>();
        let part = |at: usize| start.wrapping_add(at * PART).cast::<T>();
        body(Workspace {
            panel: part(0),
            rows: part(1),
            tile: part(2),
        })
    })
}
