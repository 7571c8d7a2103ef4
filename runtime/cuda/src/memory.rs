//! Memory of a device, and page-locked memory of the host.

use crate::device::Device;
use crate::diagnostics::DEVICE_LIMIT;
use crate::driver::DriverStatus;
use bnnc_base::fault::Fault;
use std::ffi::c_void;
use std::sync::Arc;

/// The status `CUDA_ERROR_OUT_OF_MEMORY` of the driver.
const OUT_OF_MEMORY: DriverStatus = 2;

/// One allocation on a device.
pub struct Allocation {
    device: Arc<Device>,
    /// The address of the first byte on the device.
    pub address: u64,
    /// The size in bytes.
    pub bytes: usize,
}

impl Allocation {
    /// Allocates memory on a device. Messages use `what` as the name of the memory.
    ///
    /// # Errors
    /// Fails if the device has less free memory than this. The message states both sizes.
    pub fn new(device: &Arc<Device>, bytes: usize, what: &str) -> Result<Allocation, Fault> {
        let (free, total) = device.memory()?;
        let rejected = |why: &str| {
            Fault::limit(
                &DEVICE_LIMIT,
                format!(
                    "{what} needs {bytes} bytes on {}, where {free} of {total} bytes are free{why}",
                    device.name
                ),
            )
        };
        if bytes > free {
            return Err(rejected(""));
        }
        match Allocation::fitting(device, bytes) {
            Ok(Some(allocation)) => Ok(allocation),
            Ok(None) => Err(rejected(", but not in one piece")),
            Err(fault) => Err(rejected(&format!(": {fault}"))),
        }
    }

    /// Allocates memory on a device. Returns `None` if the device does not have this much
    /// contiguous free memory.
    ///
    /// # Errors
    /// Fails if the driver reports any other error.
    pub fn fitting(device: &Arc<Device>, bytes: usize) -> Result<Option<Allocation>, Fault> {
        let mut address = 0;
        // SAFETY: the call writes to `address`.
        let status = unsafe { (device.driver().symbols.allocate)(&mut address, bytes.max(1)) };
        if status == OUT_OF_MEMORY {
            return Ok(None);
        }
        device.check("cuMemAlloc", status)?;
        Ok(Some(Allocation {
            device: device.clone(),
            address,
            bytes,
        }))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: the memory was allocated in `fitting`. The owner of the memory has waited for the
        // work that uses it.
        let _ = unsafe { (self.device.driver().symbols.free)(self.address) };
    }
}

/// Page-locked memory of the host. Copies between this memory and the device are asynchronous.
pub struct PageLocked {
    device: Arc<Device>,
    start: *mut u8,
    bytes: usize,
    /// The number of bytes at the start that unfinished copies may still use.
    used: usize,
}

// SAFETY: the memory is owned by this value.
unsafe impl Send for PageLocked {}

impl PageLocked {
    /// Allocates page-locked memory.
    ///
    /// # Errors
    /// Fails if the system cannot lock this much memory.
    pub fn new(device: &Arc<Device>, bytes: usize) -> Result<PageLocked, Fault> {
        let mut start: *mut c_void = std::ptr::null_mut();
        // SAFETY: the call writes to `start`.
        device.check("cuMemHostAlloc", unsafe {
            (device.driver().symbols.host_allocate)(&mut start, bytes, 0)
        })?;
        Ok(PageLocked {
            device: device.clone(),
            start: start.cast(),
            bytes,
            used: 0,
        })
    }

    /// Returns the address of the byte at this offset.
    pub fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }

    /// Returns a part of the memory that no unfinished copy uses, or `None` if not enough of this
    /// memory is left.
    pub fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        let end = self.used.checked_add(bytes).filter(|end| *end <= self.bytes)?;
        let part = self.start.wrapping_add(self.used);
        self.used = end.next_multiple_of(64).min(self.bytes);
        Some(part)
    }

    /// Returns whether the whole memory is large enough for a part of this size.
    pub fn may_hold(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Marks the whole memory as free. All copies must have finished.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: the memory was allocated in `new`. The owner of the memory has waited for the
        // work that uses it.
        let _ = unsafe { (self.device.driver().symbols.host_free)(self.start.cast()) };
    }
}
