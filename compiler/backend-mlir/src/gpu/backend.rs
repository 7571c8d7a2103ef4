//! The backend `cuda`: compiles programs to GPU images. A runtime attaches these images to a
//! device.

use super::chip;
use crate::backend::Mlir;
use bnnc_abi::code::{Detached, KernelArgs, KernelCode, Object, ObjectKernel};
use bnnc_abi::device;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions, CodePlacement, keys};
use bnnc_loops::ir::{Kernel, LoopProgram};
use std::sync::Arc;

/// The backend that compiles to PTX for the requested GPU. If no GPU is requested, it compiles for
/// [`chip::DEFAULT`]. The code also runs on later GPUs.
#[derive(Clone, Debug, Default)]
pub struct Cuda(pub Mlir);

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    /// Products are computed by tensor libraries of the device, which support one axis per side of
    /// an operand.
    fn reads_views(&self) -> bool {
        false
    }

    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        let chip = options.gpu.and_then(chip::lookup).unwrap_or(chip::DEFAULT);
        let images = super::compile(&self.0, program, chip)?;
        Ok(match options.form {
            CodePlacement::Memory => Arc::new(Images(images)),
            CodePlacement::Object { .. } => Arc::new(Detached(Object {
                kernels: program.kernels.iter().map(kernel).collect(),
                device: Some(images),
                ..Object::default()
            })),
        })
    }
}

/// Returns those properties of a kernel that a runtime needs in addition to the images.
fn kernel(kernel: &Kernel) -> ObjectKernel {
    ObjectKernel {
        symbol: String::new(),
        scratch: 0,
        keys: keys(kernel),
    }
}

/// Kernels that can run only on a device.
struct Images(device::DeviceProgram);

impl KernelCode for Images {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {
        unreachable!("code of the backend cuda is attached to a device before it runs");
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        let images = self.0.images.iter().map(|image| &*image.ptx);
        format!("{}{}", self.0, images.collect::<String>())
    }

    fn device(&self) -> Option<&device::DeviceProgram> {
        Some(&self.0)
    }
}
