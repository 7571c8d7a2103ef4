//! Memory of a device, and memory of the host that it reads without a copy.

use crate::device::Device;
use crate::driver::DriverStatus;
use bnnc_base::fault::Fault;
use std::ffi::c_void;
use std::sync::Arc;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: DriverStatus = 2;

/// One allocation on a device.
pub struct Allocation {
    device: Arc<Device>,
    /// Its first byte there.
    pub address: u64,
    /// Its size.
    pub bytes: usize,
}

impl Allocation {
    /// Allocates; `what` for people.
    ///
    /// # Errors
    /// Where the device has not so much memory left, with the sizes.
    pub fn new(device: &Arc<Device>, bytes: usize, what: &str) -> Result<Allocation, Fault> {
        let (free, total) = device.memory()?;
        let refused = |why: &str| {
            Fault::Limit(format!(
                "{what} needs {bytes} bytes on {}, of whose {total} bytes {free} are free{why}",
                device.name
            ))
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

    /// Allocates; nothing where no piece of the free memory is as large.
    ///
    /// # Errors
    /// Where the driver refuses for another reason.
    pub fn fitting(device: &Arc<Device>, bytes: usize) -> Result<Option<Allocation>, Fault> {
        let mut address = 0;
        // SAFETY: the call writes to the place.
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
        // SAFETY: allocated in `fitting`; its owner has waited for what uses it.
        let _ = unsafe { (self.device.driver().symbols.free)(self.address) };
    }
}

/// Page-locked memory of the host: copies from and to it need no wait.
pub struct PageLocked {
    device: Arc<Device>,
    start: *mut u8,
    bytes: usize,
    /// Bytes that copies under way still use.
    used: usize,
}

// SAFETY: the memory is owned.
unsafe impl Send for PageLocked {}

impl PageLocked {
    /// Allocates.
    ///
    /// # Errors
    /// Where the system has not so much memory to lock.
    pub fn new(device: &Arc<Device>, bytes: usize) -> Result<PageLocked, Fault> {
        let mut start: *mut c_void = std::ptr::null_mut();
        // SAFETY: the call writes to the place.
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

    /// The address of a byte of it.
    pub fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }

    /// A part that nothing uses, if one is left.
    pub fn take(&mut self, bytes: usize) -> Option<*mut u8> {
        let end = self.used.checked_add(bytes).filter(|end| *end <= self.bytes)?;
        let part = self.start.wrapping_add(self.used);
        self.used = end.next_multiple_of(64).min(self.bytes);
        Some(part)
    }

    /// Returns whether a part of this size can be had at all.
    pub fn may_hold(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Says that no copy is under way.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: allocated in `new`; its owner has waited for what uses it.
        let _ = unsafe { (self.device.driver().symbols.host_free)(self.start.cast()) };
    }
}
