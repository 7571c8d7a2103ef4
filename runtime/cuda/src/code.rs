//! Connects compiled code with a device, and runs plans on this device.

use crate::blas;
use crate::device::Device;
use crate::driver::Driver;
use crate::module::{self, LoadedModule};
use crate::session::{CudaSession, OnDevice};
use bnnc_abi::accelerator::{Accelerator, DeviceArena, DeviceSession};
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_abi::device::DeviceProgram;
use bnnc_base::fault::Fault;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Attaches code to the first device that the driver of this system lists. The device is opened
/// once per process. This function has the type [`bnnc_abi::code::Attach`].
///
/// # Errors
/// Fails if the system does not have a driver or a device, or if the code does not have images.
pub fn attach(code: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    on(&device()?, code)
}

/// Returns the first device of this system. The device is opened once per process.
///
/// # Errors
/// Fails if the system does not have a driver or a device.
pub fn device() -> Result<Arc<Device>, Fault> {
    static DEVICE: OnceLock<Result<Arc<Device>, Fault>> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            let blas: Vec<PathBuf> = blas::NAMES.iter().map(PathBuf::from).collect();
            Device::open(Driver::load()?, &blas)
        })
        .clone()
}

/// Returns the same code, attached to this device.
///
/// # Errors
/// Fails if the code does not have images, or if none of its images can run on the device.
pub fn on(device: &Arc<Device>, code: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    let Some(program) = code.device() else {
        return Err(Fault::Bug("code without images for a device".to_owned()));
    };
    module::image(device, program)?;
    Ok(Arc::new(Attached {
        program: Arc::new(program.clone()),
        device: device.clone(),
        code,
        loaded: Mutex::new(None),
    }))
}

struct Attached {
    program: Arc<DeviceProgram>,
    device: Arc<Device>,
    code: Arc<dyn KernelCode>,
    /// The module of the code on the device. The first session loads the module, and later sessions
    /// share it.
    loaded: Mutex<Option<Arc<LoadedModule>>>,
}

impl Attached {
    fn loaded(&self) -> Result<Arc<LoadedModule>, Fault> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = &*loaded {
            return Ok(loaded.clone());
        }
        let fresh = Arc::new(LoadedModule::new(&self.device, &self.program)?);
        *loaded = Some(fresh.clone());
        Ok(fresh)
    }
}

impl KernelCode for Attached {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.code.launch(kernel, args) }
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.code.scratch_bytes(kernel)
    }

    fn is_reference(&self) -> bool {
        self.code.is_reference()
    }

    fn text(&self) -> String {
        self.code.text()
    }

    fn device(&self) -> Option<&DeviceProgram> {
        Some(&self.program)
    }

    fn accelerator(&self) -> Option<&dyn Accelerator> {
        Some(self)
    }
}

impl Accelerator for Attached {
    fn open(&self, arena: DeviceArena) -> Result<Box<dyn DeviceSession>, Fault> {
        self.program.verify(arena.plan)?;
        self.device.enter()?;
        let on = OnDevice {
            device: self.device.clone(),
            program: self.program.clone(),
            loaded: self.loaded()?,
        };
        Ok(Box::new(CudaSession::open(on, arena)?))
    }

    fn describe(&self) -> String {
        self.device.describe()
    }
}
