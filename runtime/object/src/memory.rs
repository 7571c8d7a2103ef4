//! The memory of an image. All pages are first written. Then some become executable, and some
//! become read-only.

use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;
use region::{Allocation, Protection};
use std::ops::Range;

/// Pages that can still be written.
pub(crate) struct Open {
    pages: Allocation,
}

/// Pages whose final protection has been set. The pages are freed when this value is dropped.
pub(crate) struct Closed {
    pages: Allocation,
}

impl Open {
    /// Allocates `bytes` bytes of zeros at a page boundary.
    pub fn new(bytes: usize) -> Result<Open, Fault> {
        let pages = region::alloc(bytes.max(1), Protection::READ_WRITE).map_err(rejected)?;
        Ok(Open { pages })
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> u64 {
        self.pages.as_ptr::<u8>() as u64
    }

    /// Returns all bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the pages belong to this value alone. The pages are readable and writable, and
        // the system has set them to zero.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr(), self.pages.len()) }
    }

    /// Makes the pages of `code` executable and the pages of `constants` read-only. Both ranges
    /// must consist of whole pages. The other pages stay writable.
    pub fn close(self, code: Range<usize>, constants: Range<usize>) -> Result<Closed, Fault> {
        self.protect(code, Protection::READ_EXECUTE)?;
        self.protect(constants, Protection::READ)?;
        Ok(Closed { pages: self.pages })
    }

    fn protect(&self, range: Range<usize>, protection: Protection) -> Result<(), Fault> {
        if range.is_empty() {
            return Ok(());
        }
        debug_assert!(range.end <= self.pages.len());
        // SAFETY: the range is inside the allocation. The memory does not contain running code, and
        // references to it do not exist.
        unsafe {
            region::protect(
                self.pages.as_ptr::<u8>().add(range.start),
                range.len(),
                protection,
            )
        }
        .map_err(rejected)
    }
}

// SAFETY: the pages belong to this value alone, and are freed with it. Methods do not write to
// them.
unsafe impl Send for Closed {}
// SAFETY: the pages belong to this value alone. A shared reference gives access only to addresses.
unsafe impl Sync for Closed {}

impl Closed {
    /// Returns the address of the byte at this offset.
    pub fn address(&self, offset: usize) -> *const u8 {
        self.pages.as_ptr::<u8>().wrapping_add(offset)
    }
}

fn rejected(error: region::Error) -> Fault {
    Fault::limit(&NO_CODE, format!("the system gives no memory for code: {error}"))
}
