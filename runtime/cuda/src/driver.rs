//! The CUDA driver. Its library is loaded when a program first needs it.
//!
//! Note [Driver errors]. Every entry point of the driver returns a status. [`Driver`] converts a
//! status other than success to a [`Fault`], which contains the name of the call, and CUDA's name
//! and description of the status. Because launches and copies are asynchronous, the status of a
//! call may report an error in the work of an earlier call.

mod symbols;

use crate::diagnostics;
use crate::diagnostics::DEVICE_LIMIT;
use bnnc_base::fault::Fault;
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use symbols::{Context, Function, Graph, GraphExec, Module, NAMES as ENTRY_POINTS, Stream, Symbols};

/// The status that an entry point of the driver returns. Success is 0.
pub type DriverStatus = i32;

/// The number that the driver uses to identify a device.
pub type DeviceNumber = i32;

/// The status of a system that has a driver but no device. The first call, `cuInit`, returns this
/// status.
const NO_DEVICE: DriverStatus = 100;

/// The file names of the driver's library.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

/// The entry points of the loaded driver.
#[derive(Clone)]
pub struct Driver {
    pub(crate) symbols: Arc<Symbols>,
}

impl Driver {
    /// Loads the driver of this system.
    ///
    /// # Errors
    /// Fails if the driver is missing, lacks an entry point, or cannot start.
    pub fn load() -> Result<Driver, Fault> {
        let names: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
        Driver::load_from(&names)
    }

    /// Loads the driver from the first of these libraries that exists.
    ///
    /// # Errors
    /// Fails in the same cases as [`Driver::load`].
    pub fn load_from(paths: &[PathBuf]) -> Result<Driver, Fault> {
        let library = library(paths).map_err(|why| diagnostics::no_driver(&why.to_string()))?;
        let driver = Driver {
            symbols: Arc::new(Symbols::load(library)?),
        };
        // SAFETY: this call initialises the driver, and its only argument must be 0.
        driver.check("cuInit", unsafe { (driver.symbols.init)(0) })?;
        Ok(driver)
    }

    /// Converts a status to a `Result`. See Note [Driver errors].
    ///
    /// # Errors
    /// Fails for any status except success.
    pub fn check(&self, call: &str, status: DriverStatus) -> Result<(), Fault> {
        match status {
            0 => Ok(()),
            status => Err(self.fault(call, status)),
        }
    }

    fn fault(&self, call: &str, status: DriverStatus) -> Fault {
        let (name, sentence) = (
            self.text(self.symbols.get_error_name, status),
            self.text(self.symbols.get_error_string, status),
        );
        let name = name.unwrap_or_else(|| format!("CUDA error {status}"));
        let sentence = sentence.map_or(String::new(), |sentence| format!(" ({sentence})"));
        let text = format!("{call}: {name}{sentence}");
        match status {
            NO_DEVICE => diagnostics::no_device(&text).into(),
            status if is_ours(status) => Fault::Bug(text),
            _ => Fault::limit(&DEVICE_LIMIT, text),
        }
    }

    fn text(
        &self,
        ask: unsafe extern "C" fn(DriverStatus, *mut *const c_char) -> DriverStatus,
        status: DriverStatus,
    ) -> Option<String> {
        let mut text = std::ptr::null();
        // SAFETY: the entry point writes null, or the address of a text that lives as long as the
        // driver.
        let asked = unsafe { ask(status, &mut text) };
        if asked != 0 || text.is_null() {
            return None;
        }
        // SAFETY: the address is not null, and the text lives as long as the driver.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    }
}

/// The reasons why a library could not be loaded: the errors for all paths that were tried, or the
/// error for a missing entry point.
#[derive(Debug)]
pub struct NoLibrary(pub Vec<libloading::Error>);

impl fmt::Display for NoLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&reasons.join("; "))
    }
}

/// Loads the first of these shared libraries that exists.
pub(crate) fn library(paths: &[PathBuf]) -> Result<Library, NoLibrary> {
    let mut reasons = Vec::new();
    for path in paths {
        match open(path) {
            Ok(library) => return Ok(library),
            Err(error) => reasons.push(error),
        }
    }
    Err(NoLibrary(reasons))
}

fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the library comes from NVIDIA, or the user installed a replacement. Initialising the
    // library does not have preconditions.
    unsafe { Library::new(path) }
}

/// Returns whether a status shows a bug in bnnc: wrong code or wrong arguments. Examples are an
/// invalid value, context, handle or image, an illegal address or instruction, and a failed launch.
fn is_ours(status: DriverStatus) -> bool {
    matches!(status, 1 | 200 | 201 | 218 | 400 | 500 | 700 | 714..=719 | 900..=908)
}
