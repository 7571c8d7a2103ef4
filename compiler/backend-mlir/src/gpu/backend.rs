//! The backend `cuda`: programs as images for graphics processors, which a runtime attaches to one.

use super::chip;
use crate::backend::Mlir;
use bnnc_abi::code::{Code, KernelArgs};
use bnnc_abi::device;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, Form, Options};
use bnnc_loops::ir::Program;
use std::sync::Arc;

/// Compiles to PTX for [`chip::DEFAULT`] and later processors.
#[derive(Clone, Debug, Default)]
pub struct Cuda(pub Mlir);

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn compile(&self, program: &Program, options: &Options) -> Result<Arc<dyn Code>, Fault> {
        if options.form != Form::Memory {
            return Err(Fault::Limit(
                "programs of the backend cuda cannot be built into executables".to_owned(),
            ));
        }
        Ok(Arc::new(Images(super::compile(&self.0, program, chip::DEFAULT)?)))
    }
}

/// Kernels that run on a device only.
struct Images(device::Program);

impl Code for Images {
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

    fn device(&self) -> Option<&device::Program> {
        Some(&self.0)
    }
}
