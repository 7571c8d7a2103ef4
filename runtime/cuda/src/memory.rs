//! Memory of a device, and page-locked memory of the host.

use crate::device::Device;
use crate::diagnostics::DEVICE_LIMIT;
use crate::driver::DriverStatus;
use bnnc_base::fault::Fault;
use std::ffi::c_void;
use std::sync::Arc;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
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
    /// Allocates memory. `what` describes it in messages.
    ///
    /// # Errors
    /// The device does not have this much free memory. The message gives the sizes.
    pub fn new(device: &Arc<Device>, bytes: usize, what: &str) -> Result<Allocation, Fault> {
        let (free, total) = device.memory()?;
        let refused = |why: &str| {
            Fault::limit(
                &DEVICE_LIMIT,
                format!(
                    "{what} needs {bytes} bytes on {}, of whose {total} bytes {free} are free{why}",
                    device.name
                ),
            )
        };
        if bytes > free {
            return Err(refused(""));
        }
        match Allocation::fitting(device, bytes) {
            Ok(Some(allocation)) => Ok(allocation),
            Ok(None) => Err(refused(", but not in one piece")),
            Err(fault) => Err(refused(&format!(": {fault}"))),
        }
    }

    /// Allocates memory; `None` if no contiguous piece of the free memory is large enough.
    ///
    /// # Errors
    /// The driver reports another error.
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
        // SAFETY: the memory was allocated in `fitting`; its owner has waited for the work that uses it.
        let _ = unsafe { (self.device.driver().symbols.free)(self.address) };
    }
}

/// Page-locked memory of the host: copies from and to it are asynchronous.
pub struct PageLocked {
    device: Arc<Device>,
    start: *mut u8,
    bytes: usize,
    /// The number of bytes that unfinished copies may still use.
    used: usize,
}

// SAFETY: the memory is owned.
unsafe impl Send for PageLocked {}

impl PageLocked {
    /// Allocates page-locked memory.
    ///
    /// # Errors
    /// The system does not have this much memory to lock.
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

    /// Returns the address of a byte.
    pub fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }

    /// Returns a part that no unfinished copy uses, if one is left.
    pub fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        let end = self.used.checked_add(bytes).filter(|end| *end <= self.bytes)?;
        let part = self.start.wrapping_add(self.used);
        self.used = end.next_multiple_of(64).min(self.bytes);
        Some(part)
    }

    /// Returns whether a part of this size fits if no other part is in use.
    pub fn may_hold(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Marks all parts as free. There must be no unfinished copy.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: the memory was allocated in `new`; its owner has waited for the work that uses it.
        let _ = unsafe { (self.device.driver().symbols.host_free)(self.start.cast()) };
    }
}
