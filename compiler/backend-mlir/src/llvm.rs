//! Compiles the LLVM dialect to an object through LLVM's C interface.

use crate::diagnostics::LoweringError;
use crate::passes::OPTIMISE;
use mlir_sys::{
    LLVMContextCreate, LLVMDisposeMessage, LLVMModuleRef, LLVMSetDataLayout, LLVMSetTarget, MlirOperation,
    mlirTranslateModuleToLLVMIR,
};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Stands for a type of LLVM that the bindings of MLIR do not declare.
type Opaque = *mut c_void;

/// The relocation model of the machine code. The code may be loaded at any address, and calls the
/// runtime through stubs that are nearby.
const POSITION_INDEPENDENT: c_int = 2;
const DEFAULT_CODE_MODEL: c_int = 0;
const AGGRESSIVE: c_int = 3;
const OBJECT_FILE: c_int = 1;

unsafe extern "C" {
    fn LLVMGetDefaultTargetTriple() -> *mut c_char;
    fn LLVMGetTargetFromTriple(triple: *const c_char, target: *mut Opaque, error: *mut *mut c_char) -> c_int;
    fn LLVMGetHostCPUName() -> *mut c_char;
    fn LLVMGetHostCPUFeatures() -> *mut c_char;
    fn LLVMCreateTargetMachine(
        target: Opaque,
        triple: *const c_char,
        processor: *const c_char,
        features: *const c_char,
        level: c_int,
        relocations: c_int,
        code_model: c_int,
    ) -> Opaque;
    fn LLVMCreateTargetDataLayout(machine: Opaque) -> Opaque;
    fn LLVMCopyStringRepOfTargetData(layout: Opaque) -> *mut c_char;
    fn LLVMCreatePassBuilderOptions() -> Opaque;
    fn LLVMRunPasses(
        module: LLVMModuleRef,
        passes: *const c_char,
        machine: Opaque,
        options: Opaque,
    ) -> Opaque;
    fn LLVMGetErrorMessage(error: Opaque) -> *mut c_char;
    fn LLVMTargetMachineEmitToMemoryBuffer(
        machine: Opaque,
        module: LLVMModuleRef,
        kind: c_int,
        error: *mut *mut c_char,
        buffer: *mut Opaque,
    ) -> c_int;
    fn LLVMGetBufferStart(buffer: Opaque) -> *const c_char;
    fn LLVMGetBufferSize(buffer: Opaque) -> usize;
}

#[cfg(target_arch = "x86_64")]
mod processor {
    unsafe extern "C" {
        pub fn LLVMInitializeX86TargetInfo();
        pub fn LLVMInitializeX86Target();
        pub fn LLVMInitializeX86TargetMC();
        pub fn LLVMInitializeX86AsmPrinter();
    }

    /// # Safety
    /// This function must be called at most once in a process.
    pub unsafe fn initialise() {
        // SAFETY: the functions that register the target are called in the order that LLVM
        // requires.
        unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    unsafe extern "C" {
        pub fn LLVMInitializeAArch64TargetInfo();
        pub fn LLVMInitializeAArch64Target();
        pub fn LLVMInitializeAArch64TargetMC();
        pub fn LLVMInitializeAArch64AsmPrinter();
    }

    /// # Safety
    /// This function must be called at most once in a process.
    pub unsafe fn initialise() {
        // SAFETY: the functions that register the target are called in the order that LLVM
        // requires.
        unsafe {
            LLVMInitializeAArch64TargetInfo();
            LLVMInitializeAArch64Target();
            LLVMInitializeAArch64TargetMC();
            LLVMInitializeAArch64AsmPrinter();
        }
    }
}

/// Copies text that LLVM allocated, and then frees it. Returns an empty string for a null pointer.
///
/// # Safety
/// `text` must be null, or a text that LLVM allocated and that the caller owns.
unsafe fn taken(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller gives the guarantee. The text is freed once, after it has been copied.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}

fn c_text(text: &str) -> Result<CString, LoweringError> {
    CString::new(text).map_err(|error| LoweringError::Llvm(error.to_string()))
}

/// Compiles a module in the LLVM dialect to an object. Memory that LLVM allocates is not freed
/// before the process ends.
///
/// # Errors
/// Returns the error message of LLVM.
pub(crate) fn object(module: MlirOperation) -> Result<Vec<u8>, LoweringError> {
    // SAFETY: the module is alive. Every pointer below comes from LLVM, and pointers that may be
    // null are checked.
    unsafe {
        let module = mlirTranslateModuleToLLVMIR(module, LLVMContextCreate());
        if module.is_null() {
            return Err(LoweringError::Mlir(
                "MLIR's translation to LLVM failed".to_owned(),
            ));
        }
        let machine = machine(module)?;
        let passes = c_text(OPTIMISE)?;
        let error = LLVMRunPasses(module, passes.as_ptr(), machine, LLVMCreatePassBuilderOptions());
        if !error.is_null() {
            return Err(LoweringError::Llvm(taken(LLVMGetErrorMessage(error))));
        }
        let (mut error, mut buffer) = (null_mut(), null_mut());
        let failed =
            LLVMTargetMachineEmitToMemoryBuffer(machine, module, OBJECT_FILE, &mut error, &mut buffer);
        if failed != 0 || buffer.is_null() {
            return Err(LoweringError::Llvm(taken(error)));
        }
        let bytes =
            std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer));
        Ok(bytes.to_vec())
    }
}

/// Returns a target machine for the host with all its extensions. Also sets the target of the
/// module.
///
/// # Safety
/// The module must be alive.
unsafe fn machine(module: LLVMModuleRef) -> Result<Opaque, LoweringError> {
    // SAFETY: the strings are alive while LLVM reads them, and the results of LLVM are checked.
    unsafe {
        processor::initialise();
        let triple = c_text(&taken(LLVMGetDefaultTargetTriple()))?;
        let (mut target, mut error) = (null_mut(), null_mut());
        if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut error) != 0 {
            return Err(LoweringError::Llvm(taken(error)));
        }
        let name = c_text(&taken(LLVMGetHostCPUName()))?;
        let features = c_text(&taken(LLVMGetHostCPUFeatures()))?;
        let machine = LLVMCreateTargetMachine(
            target,
            triple.as_ptr(),
            name.as_ptr(),
            features.as_ptr(),
            AGGRESSIVE,
            POSITION_INDEPENDENT,
            DEFAULT_CODE_MODEL,
        );
        if machine.is_null() {
            let why = "LLVM has no code generator for this processor";
            return Err(LoweringError::Llvm(why.to_owned()));
        }
        let layout = c_text(&taken(LLVMCopyStringRepOfTargetData(LLVMCreateTargetDataLayout(
            machine,
        ))))?;
        LLVMSetTarget(module, triple.as_ptr());
        LLVMSetDataLayout(module, layout.as_ptr());
        Ok(machine)
    }
}
