//! Compiled kernels behind one trait.

use crate::plan::Plan;
use std::sync::Arc;

/// The arguments of one kernel invocation over `start..end` of its outermost axis.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelArgs {
    /// One base address per buffer slot.
    pub buffers: *const *mut u8,
    /// One number per integer slot.
    pub ints: *const i64,
    /// First iteration of the outermost axis.
    pub start: i64,
    /// One past the last.
    pub end: i64,
    /// At least [`Code::scratch_bytes`] bytes, 64-byte aligned, for this thread alone.
    pub scratch: *mut u8,
}

/// The machine code (or the interpreter) of a plan's kernels.
pub trait Code: Send + Sync {
    /// Runs a kernel.
    ///
    /// # Safety
    /// The addresses must be those of live buffers of the plan, resolved with the sizes that `ints` holds.
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs);

    /// Scratch memory one invocation needs.
    fn scratch_bytes(&self, kernel: usize) -> usize;

    /// Whether library calls should use the primitives' naive references too (the oracle).
    fn is_reference(&self) -> bool;

    /// The generated code as text, for `bnnc emit`.
    fn text(&self) -> String;

    /// The code as it can leave this process, where it was asked for in that form.
    fn object(&self) -> Option<&Object> {
        None
    }
}

/// Kernels as a relocatable object, which calls the runtime's functions by name ([`crate::symbols`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The object file; empty where the kernels are linked into an executable.
    pub bytes: Vec<u8>,
    /// The plan's kernels, in their order.
    pub kernels: Vec<ObjectKernel>,
}

/// One kernel of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectKernel {
    /// Its global symbol; a function of the address of [`KernelArgs`].
    pub symbol: String,
    /// What [`Code::scratch_bytes`] gives.
    pub scratch: usize,
}

/// A plan and its code.
#[derive(Clone)]
pub struct Artifact {
    /// What to do.
    pub plan: Arc<Plan>,
    /// What does it.
    pub code: Arc<dyn Code>,
}
