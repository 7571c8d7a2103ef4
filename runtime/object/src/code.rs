//! Kernels of a loaded object or of this executable itself, which the runtime calls through the
//! trait `KernelCode`.

use crate::load::{Loaded, load};
use bnnc_abi::code::{KernelArgs, KernelCode, Object};
use bnnc_abi::symbols::Address;
use bnnc_base::diagnostics::NO_CODE;
use bnnc_base::fault::Fault;

type KernelFunction = unsafe extern "C" fn(*const KernelArgs);

/// The kernels of an object, with their addresses.
pub struct LoadedCode {
    object: Object,
    functions: Vec<KernelFunction>,
    /// The memory of the loaded code, or `None` if the code is part of this executable.
    _memory: Option<Loaded>,
}

impl LoadedCode {
    /// Loads the code of a program. `symbols` contains the functions of the runtime that the code
    /// may call.
    ///
    /// # Errors
    /// Fails in the same cases as [`load`]. Also fails if the object does not define one of the
    /// kernels.
    pub fn load(object: &Object, symbols: &[Address]) -> Result<LoadedCode, Fault> {
        let memory = load(&object.bytes, symbols)?;
        let function = |symbol: &str| {
            let address = memory
                .function(symbol)
                .ok_or_else(|| Fault::limit(&NO_CODE, format!("this object does not define `{symbol}`")))?;
            // SAFETY: kernels are compiled with this signature. The assumption would be wrong for
            // an object that defines other functions with these names.
            Ok(unsafe { std::mem::transmute::<*const u8, KernelFunction>(address) })
        };
        let functions = object
            .kernels
            .iter()
            .map(|kernel| function(&kernel.symbol))
            .collect::<Result<_, Fault>>()?;
        Ok(LoadedCode {
            object: object.clone(),
            functions,
            _memory: Some(memory),
        })
    }

    /// Wraps kernels that were linked into this executable.
    ///
    /// # Safety
    /// `functions` must be the addresses of the object's kernels, in the order of the kernels. The
    /// addresses must stay valid.
    ///
    /// # Errors
    /// Fails if the numbers of addresses and of kernels differ, or if an address is null.
    pub unsafe fn linked(object: &Object, functions: &[*const u8]) -> Result<LoadedCode, Fault> {
        if functions.len() != object.kernels.len() || functions.iter().any(|address| address.is_null()) {
            let fault = Fault::limit(&NO_CODE, "not every kernel has an address".to_owned());
            return Err(fault);
        }
        // SAFETY: guaranteed by the caller.
        let function =
            |address: &*const u8| unsafe { std::mem::transmute::<*const u8, KernelFunction>(*address) };
        Ok(LoadedCode {
            object: object.clone(),
            functions: functions.iter().map(function).collect(),
            _memory: None,
        })
    }
}

impl KernelCode for LoadedCode {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: the caller guarantees the conditions that the generated code requires. The code
        // lives as long as `self`.
        unsafe { (self.functions[kernel])(args) }
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.object.kernels[kernel].scratch
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.object.text()
    }

    fn object(&self) -> Option<&Object> {
        Some(&self.object)
    }
}
