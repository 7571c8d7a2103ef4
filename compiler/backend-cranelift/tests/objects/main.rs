//! Compiles kernels to objects, and loads these objects as executables do. Compares the results
//! with the reference interpreter.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "../conformance/harness.rs"]
mod harness;
#[path = "../conformance/kernels.rs"]
mod kernels;
#[path = "../../../loops/tests/random/mod.rs"]
mod random;
#[path = "../conformance/random_kernels.rs"]
mod random_kernels;
#[path = "../conformance/sweeps.rs"]
mod sweeps;

use bnnc_abi::code::KernelCode;
use bnnc_backend_cranelift::Cranelift;
use bnnc_base::fault::Fault;
use bnnc_loops::backend::{Backend, BackendOptions, CodePlacement, ObjectFormat};
use bnnc_loops::ir::LoopProgram;
use bnnc_object::LoadedCode;
use std::sync::Arc;

/// The Cranelift backend, except that its code is written to an object file and loaded from there.
pub struct Loaded;

impl Backend for Loaded {
    fn name(&self) -> &'static str {
        "loaded"
    }

    fn compile(&self, program: &LoopProgram, options: &BackendOptions) -> Result<Arc<dyn KernelCode>, Fault> {
        let form = CodePlacement::Object {
            prefix: "kernel_".to_owned(),
            format: ObjectFormat::Elf,
        };
        let symbols = options.symbols.clone();
        let code = Cranelift.compile(
            program,
            &BackendOptions {
                symbols,
                form,
                gpu: None,
            },
        )?;
        let object = code.object().unwrap();
        assert_eq!(
            bnnc_object::missing_features(&object.features),
            Vec::<String>::new()
        );
        Ok(Arc::new(LoadedCode::load(object, &options.symbols)?))
    }
}

/// The backend under test.
pub static BACKEND: Loaded = Loaded;

/// The number of random kernels that are compared in each precision.
pub const RANDOM_KERNELS: u64 = 300;
