//! Loads the functions of a program onto a device.

use crate::device::Device;
use crate::driver::{Function, Module};
use crate::{diagnostics, gather};
use bnnc_abi::device::{DeviceProgram, Image};
use bnnc_base::fault::Fault;
use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;

/// The number of bytes reserved for the messages of the driver's compiler.
const LOG_BYTES: usize = 16 << 10;

/// Code that is loaded on a device, with its functions by name.
pub struct LoadedModule {
    device: Arc<Device>,
    modules: Vec<Module>,
    functions: HashMap<String, Function>,
}

impl LoadedModule {
    /// Loads the image of a program that matches the device.
    ///
    /// # Errors
    /// Fails if no image matches the device, if the driver rejects the image, or if the image lacks
    /// an entry. If the driver rejects the image, the error includes the message of the driver's
    /// compiler.
    pub fn new(device: &Arc<Device>, program: &DeviceProgram) -> Result<LoadedModule, Fault> {
        let image = image(device, program)?;
        let mut loaded = LoadedModule {
            device: device.clone(),
            modules: Vec::new(),
            functions: HashMap::new(),
        };
        loaded.modules.push(compile(device, gather::PTX)?);
        loaded.find(gather::ENTRY)?;
        loaded.modules.push(compile(device, &image.ptx)?);
        for entry in program.entries() {
            if !loaded.functions.contains_key(&entry.name) {
                loaded.find(&entry.name)?;
            }
        }
        Ok(loaded)
    }

    /// Looks up a function in the module that was loaded last.
    fn find(&mut self, entry: &str) -> Result<(), Fault> {
        let name =
            CString::new(entry).map_err(|_| Fault::Bug(format!("an entry with the name {entry:?}")))?;
        let module = self.modules.last().copied().unwrap_or(Module::NONE);
        let mut function = Function::NONE;
        // SAFETY: the module is loaded, and the name ends with 0. The call writes to `function`.
        let status =
            unsafe { (self.device.driver().symbols.module_function)(&mut function, module, name.as_ptr()) };
        self.device
            .check(&format!("cuModuleGetFunction of {entry}"), status)?;
        self.functions.insert(entry.to_owned(), function);
        Ok(())
    }

    /// Returns the function with this name.
    ///
    /// # Errors
    /// Fails if the program does not have an entry with this name, which would be a bug.
    pub fn function(&self, name: &str) -> Result<Function, Fault> {
        let found = self.functions.get(name).copied();
        found.ok_or_else(|| Fault::Bug(format!("there is no device function {name}")))
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        let _ = self.device.enter();
        for module in &self.modules {
            // SAFETY: the module was loaded in `new`. The users of its functions keep `self` alive.
            let _ = unsafe { (self.device.driver().symbols.module_unload)(*module) };
        }
    }
}

/// Returns the image of a program that matches the device.
///
/// # Errors
/// Fails if no image matches the device.
pub fn image<'a>(device: &Device, program: &'a DeviceProgram) -> Result<&'a Image, Fault> {
    program.image(device.capability).ok_or_else(|| {
        let made = program
            .images
            .iter()
            .map(|image| format!("sm_{} and later", image.capability));
        let made = made.collect::<Vec<_>>().join(", ");
        diagnostics::older_device(&made, &device.name, device.capability).into()
    })
}

/// Loads PTX code. The driver compiles it for the device.
fn compile(device: &Arc<Device>, ptx: &str) -> Result<Module, Fault> {
    const ERROR_LOG: c_int = 5;
    const ERROR_LOG_BYTES: c_int = 6;
    let text = CString::new(ptx.trim_end_matches('\0'))
        .map_err(|_| Fault::Bug("PTX with a zero inside".to_owned()))?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [ERROR_LOG, ERROR_LOG_BYTES];
    // The driver reads this entry as a number, although its type is an address.
    let mut values: [*mut c_void; 2] = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(LOG_BYTES),
    ];
    let mut module = Module::NONE;
    // SAFETY: the text ends with 0. Two options are passed with two values, and the log has the
    // stated size.
    let status = unsafe {
        (device.driver().symbols.module_load)(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let message = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let message = String::from_utf8_lossy(&log[..message]).trim().to_owned();
    device.check("cuModuleLoadDataEx", status).map_err(|fault| {
        let with = |text: String| format!("{text}\n{message}");
        match fault {
            fault @ Fault::Reported(_) => fault,
            fault if message.is_empty() => fault,
            Fault::Bug(text) => Fault::Bug(with(text)),
            Fault::Limit(limit) => Fault::limit(limit.code, with(limit.text)),
        }
    })?;
    Ok(module)
}
