//! Aligned memory at a fixed address, initially all zeros.

use crate::arena::ALIGN;
use bnnc_base::diagnostics::NO_MEMORY;
use bnnc_base::fault::Fault;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// One allocation, aligned to [`ALIGN`].
pub struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned. The code that uses its addresses decides which thread accesses it.
unsafe impl Send for Memory {}
// SAFETY: the memory is owned. This type itself only returns addresses.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates `bytes` bytes, but at least [`ALIGN`] bytes.
    ///
    /// # Errors
    /// Fails if the system does not have enough memory.
    pub fn new(bytes: usize) -> Result<Memory, Fault> {
        let rejected = || Fault::limit(&NO_MEMORY, format!("{bytes} bytes of memory are not available"));
        let layout = Layout::from_size_align(bytes.max(ALIGN), ALIGN).map_err(|_| rejected())?;
        // SAFETY: the layout has a positive size.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(rejected)?;
        Ok(Memory { start, layout })
    }

    /// Returns the address that is `offset` bytes after the start.
    pub fn at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
