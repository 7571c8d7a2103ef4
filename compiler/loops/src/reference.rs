//! The backend `reference`. It interprets programs in `f64`. Tests compare the other backends with
//! this backend.

use crate::backend::{Backend, BackendOptions};
use crate::interp::interpret;
use crate::ir::LoopProgram;
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_base::diagnostics::OTHER_BACKEND;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use std::sync::Arc;

/// The backend that interprets programs with precision `f64`.
pub struct Reference;

impl Backend for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn fixed_precision(&self) -> Option<Precision> {
        Some(Precision::F64)
    }

    fn compile(&self, program: &LoopProgram, _: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        match program.plan.precision {
            Precision::F64 => Ok(Arc::new(Interpreted(program.clone()))),
            Precision::F32 => Err(Fault::limit(
                &OTHER_BACKEND,
                "the reference backend computes in f64".to_owned(),
            )),
        }
    }
}

struct Interpreted(LoopProgram);

impl KernelCode for Interpreted {
    unsafe fn launch(&self, kernel: usize, args: &KernelArgs) {
        // SAFETY: the caller gives the guarantee that `interpret` needs.
        unsafe { interpret(&self.0.kernels[kernel], args) }
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        true
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}
