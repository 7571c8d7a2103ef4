//! Compiled kernels behind one trait.

use crate::accelerator::Accelerator;
use crate::device;
use crate::plan::Plan;
use bnnc_base::fault::Fault;
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

    /// The kernels for a device, where they were compiled for one; [`Attach`] brings them there.
    fn device(&self) -> Option<&device::Program> {
        None
    }

    /// The device that runs the kernels instead of [`Code::launch`], where there is one.
    fn accelerator(&self) -> Option<&dyn Accelerator> {
        None
    }
}

/// Puts code on a device: the result runs the same plan there. Whoever compiles is told how by whoever has devices.
pub type Attach = fn(Arc<dyn Code>) -> Result<Arc<dyn Code>, Fault>;

/// A plan and its code.
#[derive(Clone)]
pub struct Artifact {
    /// What to do.
    pub plan: Arc<Plan>,
    /// What does it.
    pub code: Arc<dyn Code>,
}
