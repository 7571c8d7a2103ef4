//! Compiled kernels behind one trait.

use crate::accelerator::Accelerator;
use crate::device;
use crate::plan::{Amount, Extent, Plan};
use bnnc_base::fault::Fault;
use bnnc_math::philox;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::sync::Arc;

/// The arguments of one call of a kernel. The call computes iterations `start..end` of the kernel's
/// outermost axis.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelArgs {
    /// The base address of the buffer bound to each buffer slot.
    pub buffers: *const *mut u8,
    /// The integer bound to each integer slot.
    pub ints: *const i64,
    /// First iteration of the outermost axis.
    pub start: i64,
    /// One past the last iteration.
    pub end: i64,
    /// Scratch memory of this thread. It has at least [`KernelCode::scratch_bytes`] bytes, and is
    /// aligned to 64 bytes.
    pub scratch: *mut u8,
}

/// The machine code (or the interpreter) of a plan's kernels.
pub trait KernelCode: Send + Sync {
    /// Runs a kernel.
    ///
    /// # Safety
    /// The addresses must point to live buffers of the plan, which are resolved with the sizes in
    /// `ints`.
    ///
    /// # Panics
    /// Panics if [`KernelCode::ready`] fails.
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs);

    /// Compiles the kernels if they are not compiled yet. Threads that call this at the same time share the work, and all of
    /// them wait until the code is complete. Later calls return at once, with the same result. Call this before the first launch.
    ///
    /// # Errors
    /// Fails if the kernels cannot be compiled. [`KernelCode::launch`] must then not be called.
    fn ready(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// Returns the number of bytes of scratch memory that one invocation needs.
    fn scratch_bytes(&self, kernel: usize) -> usize;

    /// Returns whether library calls must use the naive reference implementations of the primitives
    /// instead of the fast versions. The result is true only for the reference interpreter.
    fn is_reference(&self) -> bool;

    /// Returns the generated code as text, for `bnnc emit`.
    fn text(&self) -> String;

    /// Returns the program for a device if the kernels were compiled for a device. [`Attach`]
    /// transfers the kernels to the device.
    fn device(&self) -> Option<&device::DeviceProgram> {
        None
    }

    /// Returns the device on which the kernels run; `None` if they run on the host. If this returns
    /// `None`, [`KernelCode::launch`] runs the kernels.
    fn accelerator(&self) -> Option<&dyn Accelerator> {
        None
    }

    /// Returns the code as an object, if it was compiled to an object. The object can be stored, and another process can load it.
    fn object(&self) -> Option<&Object> {
        None
    }
}

/// Kernels that one process can store and another process can load. Stored kernels are either a
/// relocatable object, which calls the functions of the runtime by name ([`crate::symbols`]), or
/// images for a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// The object file; empty if the kernels are linked into an executable or compiled for a device.
    pub bytes: Vec<u8>,
    /// The extensions that the processor needs, such as `avx2`. The names are those that
    /// `std::arch` uses.
    pub features: Vec<String>,
    /// The kernels of the plan, in order.
    pub kernels: Vec<ObjectKernel>,
    /// The kernels for a device. If they are present, the device runs all kernels of the plan.
    pub device: Option<device::DeviceProgram>,
}

impl Object {
    /// Returns the symbols of the kernels, one per line.
    pub fn text(&self) -> String {
        let symbols = self.kernels.iter().map(|kernel| &*kernel.symbol);
        symbols.collect::<Vec<_>>().join("\n")
    }
}

/// One kernel of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectKernel {
    /// The global symbol of the kernel, which is a function that takes the address of [`KernelArgs`]. Empty if the kernel is for
    /// a device.
    pub symbol: String,
    /// The result of [`KernelCode::scratch_bytes`].
    pub scratch: usize,
    /// The integer slots of the kernel that hold the keys of noise sites. The keys depend on the
    /// seed.
    pub keys: Vec<u32>,
}

/// The code of an object that is not loaded. Such code cannot be run, but it can be stored, loaded
/// or transferred to a device.
pub struct Detached(pub Object);

impl KernelCode for Detached {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {
        unreachable!("an object is loaded before its kernels are launched")
    }

    fn scratch_bytes(&self, kernel: usize) -> usize {
        self.0.kernels[kernel].scratch
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        self.0.text()
    }

    fn device(&self) -> Option<&device::DeviceProgram> {
        self.0.device.as_ref()
    }

    fn object(&self) -> Option<&Object> {
        Some(&self.0)
    }
}

/// Transfers code to a device. The result runs the same plan, but on the device. A program that has
/// access to devices passes this function to the compiler.
pub type Attach = fn(Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault>;

/// A plan and its code.
#[derive(Clone)]
pub struct Artifact {
    /// The plan that the code implements.
    pub plan: Arc<Plan>,
    /// The code of the kernels.
    pub code: Arc<dyn KernelCode>,
}

impl Artifact {
    /// Replaces the keys of all noise sites for the seed `from` by the keys for the seed `to`.
    ///
    /// Only an [`Object`] records which integers are keys. Other code is left unchanged.
    pub fn reseed(&mut self, from: u64, to: u64) {
        let Some(object) = self.code.object() else { return };
        Arc::make_mut(&mut self.plan).each_launch(&mut |launch| {
            let keys = object
                .kernels
                .get(launch.kernel as usize)
                .map(|kernel| &kernel.keys);
            for slot in keys.into_iter().flatten() {
                let Some(amount) = launch.ints.get_mut(*slot as usize) else {
                    continue;
                };
                if let Some(key) = amount.as_fixed() {
                    let key = philox::with_seed(key.cast_unsigned(), from, to);
                    *amount = Amount::one(Extent::fixed(key.cast_signed()));
                }
            }
        });
    }
}

/// An artifact is serialised as its plan and the object of its code. Serialisation fails if the code is not an object.
impl Serialize for Artifact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = self.code.object();
        let object = object.ok_or_else(|| ser::Error::custom("its code cannot leave this process"))?;
        (&self.plan, object).serialize(serializer)
    }
}

/// The code of the result is [`Detached`].
impl<'de> Deserialize<'de> for Artifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Artifact, D::Error> {
        let (plan, object) = <(Arc<Plan>, Object)>::deserialize(deserializer)?;
        let on_device = object.device.as_ref().map(|program| program.kernels.len());
        if plan.kernels != object.kernels.len() || on_device.is_some_and(|kernels| kernels != plan.kernels) {
            return Err(de::Error::custom("a plan and its code have different kernels"));
        }
        let code = Arc::new(Detached(object));
        Ok(Artifact { plan, code })
    }
}
