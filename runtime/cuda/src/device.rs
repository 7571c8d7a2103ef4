//! A device in use, with its context, its properties and its streams.

use crate::blas::Blas;
use crate::diagnostics;
use crate::driver::{Context, Driver, DriverStatus, Function, Stream};
use bnnc_base::fault::Fault;
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::Arc;

/// The device attributes that bnnc queries, as numbers of `CUdevice_attribute`.
mod attribute {
    pub const CAPABILITY_MAJOR: i32 = 75;
    pub const CAPABILITY_MINOR: i32 = 76;
    pub const SHARED_BYTES: i32 = 97;
}

/// A flag for a stream that does not wait for the legacy default stream.
const NON_BLOCKING: u32 = 1;

/// The first device that the driver lists, with its primary context. The environment variable
/// `CUDA_VISIBLE_DEVICES` selects the devices that the driver lists.
pub struct Device {
    driver: Driver,
    number: crate::driver::DeviceNumber,
    context: Context,
    /// The name of the device, as the driver reports it.
    pub name: String,
    /// The compute capability times ten, such as 90 for 9.0.
    pub capability: u32,
    /// The maximum number of bytes of shared memory per block.
    pub shared_bytes: u32,
    /// The version of the driver: 1000 * major + 10 * minor.
    pub version: i32,
    /// The loaded cuBLAS library, or `None` if it is not installed.
    pub(crate) blas: Option<Arc<Blas>>,
}

impl Device {
    /// Opens the first device. Also loads cuBLAS if one of the libraries in `blas` exists.
    ///
    /// # Errors
    /// Fails if the system does not have a device, or if the driver reports an error.
    pub fn open(driver: Driver, blas: &[PathBuf]) -> Result<Arc<Device>, Fault> {
        let mut count = 0;
        let symbols = driver.symbols.clone();
        // SAFETY: the call only writes to the variable that is passed to it.
        driver.check("cuDeviceGetCount", unsafe { (symbols.device_count)(&mut count) })?;
        if count < 1 {
            return Err(diagnostics::no_device("cuDeviceGetCount: 0 devices").into());
        }
        let (mut number, mut version) = (0, 0);
        // SAFETY: the call only writes to the variable that is passed to it.
        driver.check("cuDeviceGet", unsafe { (symbols.device_get)(&mut number, 0) })?;
        driver.check("cuDriverGetVersion", unsafe {
            // SAFETY: the call only writes to the variable that is passed to it.
            (symbols.driver_version)(&mut version)
        })?;
        let of = |attribute| ask(&driver, number, attribute);
        let capability = 10 * of(attribute::CAPABILITY_MAJOR)? + of(attribute::CAPABILITY_MINOR)?;
        let shared_bytes = of(attribute::SHARED_BYTES)?;
        let name = name(&driver, number)?;
        let mut context = Context::NONE;
        driver.check("cuDevicePrimaryCtxRetain", unsafe {
            // SAFETY: the call only writes to the variable that is passed to it.
            (symbols.context_retain)(&mut context, number)
        })?;
        let mut device = Device {
            driver,
            number,
            context,
            name,
            capability,
            shared_bytes,
            version,
            blas: None,
        };
        device.enter()?;
        device.blas = Blas::load(blas).ok().map(Arc::new);
        Ok(Arc::new(device))
    }

    /// Makes the device's context the current context of this thread. Every thread must call this
    /// before it makes any other call to the driver.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    pub fn enter(&self) -> Result<(), Fault> {
        // SAFETY: the context is retained as long as `self` lives.
        self.check("cuCtxSetCurrent", unsafe {
            (self.driver.symbols.context_set)(self.context)
        })
    }

    /// Returns the number of free bytes and the total number of bytes of the device's memory.
    ///
    /// # Errors
    /// Fails if the driver reports an error.
    pub fn memory(&self) -> Result<(usize, usize), Fault> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the call writes to the two variables.
        self.check("cuMemGetInfo", unsafe {
            (self.driver.symbols.memory_info)(&mut free, &mut total)
        })?;
        Ok((free, total))
    }

    /// Returns a description of the device, and of the libraries that are used on it, for messages.
    pub fn describe(&self) -> String {
        let products = match &self.blas {
            Some(blas) => format!(
                ", large triangular systems and Cholesky factors by cuBLAS {}",
                blas.version()
            ),
            None => " by bnnc's own kernels".to_owned(),
        };
        format!(
            "{} (compute capability {}.{}, CUDA driver {}.{}); matrix products{products}",
            self.name,
            self.capability / 10,
            self.capability % 10,
            self.version / 1000,
            self.version % 1000 / 10,
        )
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.driver
    }

    pub(crate) fn check(&self, call: &str, status: DriverStatus) -> Result<(), Fault> {
        self.driver.check(call, status)
    }

    /// Allows a kernel to use `bytes` bytes of dynamic shared memory.
    pub(crate) fn allow_shared(&self, function: Function, bytes: c_int) -> Result<(), Fault> {
        const MAX_DYNAMIC_SHARED: c_int = 8;
        // SAFETY: the function belongs to a loaded module.
        self.check("cuFuncSetAttribute", unsafe {
            (self.driver.symbols.function_attribute)(function, MAX_DYNAMIC_SHARED, bytes)
        })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the context was retained in `open`, and every object in it keeps the device
        // alive. An error is ignored, because the context is released at the latest when the
        // process ends.
        let _ = unsafe { (self.driver.symbols.context_release)(self.number) };
    }
}

fn ask(driver: &Driver, number: crate::driver::DeviceNumber, attribute: i32) -> Result<u32, Fault> {
    let mut value = 0;
    // SAFETY: the call writes to `value`.
    driver.check("cuDeviceGetAttribute", unsafe {
        (driver.symbols.device_attribute)(&mut value, attribute, number)
    })?;
    Ok(value.max(0) as u32)
}

fn name(driver: &Driver, number: crate::driver::DeviceNumber) -> Result<String, Fault> {
    let mut text = [0u8; 256];
    // SAFETY: the call writes at most this number of bytes. The last byte that it writes is 0.
    driver.check("cuDeviceGetName", unsafe {
        (driver.symbols.device_name)(text.as_mut_ptr().cast(), text.len() as c_int, number)
    })?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// A stream of a device. It is destroyed when this value is dropped.
pub(crate) struct OwnStream {
    device: Arc<Device>,
    /// The driver's handle of the stream.
    pub stream: Stream,
}

impl OwnStream {
    /// Creates a stream.
    pub fn new(device: &Arc<Device>) -> Result<OwnStream, Fault> {
        let mut stream = Stream::NONE;
        // SAFETY: the call writes to `stream`.
        device.check("cuStreamCreate", unsafe {
            (device.driver.symbols.stream_create)(&mut stream, NON_BLOCKING)
        })?;
        Ok(OwnStream {
            device: device.clone(),
            stream,
        })
    }

    /// Enqueues a copy from the host to the device.
    ///
    /// # Safety
    /// `to` must have this number of bytes on the device, and `from` must have this number of bytes
    /// on the host. If `from` is page-locked, its bytes must not change until the stream has
    /// finished the copy. If `from` is not page-locked, the driver copies its bytes before the call
    /// returns.
    pub unsafe fn copy_in(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), Fault> {
        let copy = self.device.driver.symbols.copy_in;
        // SAFETY: guaranteed by the caller.
        self.device.check("cuMemcpyHtoDAsync", unsafe {
            copy(to, from.cast(), bytes, self.stream)
        })
    }

    /// Enqueues a copy from the device to the host.
    ///
    /// # Safety
    /// `from` must have this number of bytes on the device, and `to` must have this number of bytes
    /// on the host. Both addresses must stay valid until the stream has finished the copy.
    pub unsafe fn copy_out(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), Fault> {
        let copy = self.device.driver.symbols.copy_out;
        // SAFETY: guaranteed by the caller.
        self.device.check("cuMemcpyDtoHAsync", unsafe {
            copy(to.cast(), from, bytes, self.stream)
        })
    }

    /// Waits until the stream has finished all enqueued work.
    pub fn synchronise(&self) -> Result<(), Fault> {
        // SAFETY: the stream is alive.
        self.device.check("cuStreamSynchronize", unsafe {
            (self.device.driver.symbols.stream_synchronize)(self.stream)
        })
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        // SAFETY: the stream was created in `new`, and is not used after this call.
        let _ = unsafe { (self.device.driver.symbols.stream_destroy)(self.stream) };
    }
}
