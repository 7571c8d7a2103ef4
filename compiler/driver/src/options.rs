//! The options of the command line that apply to a compilation.

use crate::background;
use bnnc_abi::code::{Artifact, Attach};
use bnnc_abi::symbols::Address;
pub use bnnc_backend_mlir::gpu::chip::{self, Chip};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
pub use bnnc_hir::check::LibraryItems;
pub use bnnc_loops::backend::ObjectFormat;
use bnnc_loops::backend::{self, Backend, CodePlacement};
use bnnc_loops::ir;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The seed of every random number.
    pub seed: u64,
    /// The precision of reals. `None` selects the default of the method.
    pub precision: Option<Precision>,
    /// The name of the backend.
    pub backend: String,
    /// The arguments of `--set`, each of the form `ITEM.KEY=VALUE`.
    pub settings: Vec<String>,
    /// The `NAME=PATH` pairs of `--data`. Several pairs with the same name are parts of one data
    /// set, or a file of inputs and a file of targets.
    pub data: Vec<(String, PathBuf)>,
    /// The names of the inferences to run. If they depend on other inference blocks, these blocks
    /// also run. An empty list selects all inferences.
    pub only: Vec<String>,
    /// Rewrites that are disabled.
    pub without: Vec<String>,
    /// True if the compiler verifies the result of every pass. Debug builds always do so.
    pub verify: bool,
    /// True if the compiler records the rewrites that it applies.
    pub trace: bool,
    /// The items of the library that are checked together with the program.
    pub library_items: LibraryItems,
    /// The addresses of the runtime's array primitives.
    pub symbols: Vec<Address>,
    /// The oldest GPU on which the GPU code must run.
    pub gpu: Chip,
    /// The format of object files. If `None`, code is compiled into the memory of this process.
    pub objects: Option<ObjectFormat>,
    /// The function that loads compiled code onto a device. `None` if the code does not run on a
    /// device.
    pub attach: Option<Attach>,
    /// True if every Laplace approximation includes the Jacobian program, even if the fit and the
    /// predictions do not need it.
    pub jacobians: bool,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            seed: 0,
            precision: None,
            backend: crate::backends::DEFAULT.to_owned(),
            settings: Vec::new(),
            data: Vec::new(),
            only: Vec::new(),
            without: Vec::new(),
            verify: false,
            trace: false,
            library_items: LibraryItems::Whole,
            symbols: Vec::new(),
            gpu: chip::DEFAULT,
            objects: None,
            attach: None,
            jacobians: false,
        }
    }
}

impl CompileOptions {
    /// Compiles a program to machine code. In an object file, the symbols of kernels begin with `prefix`. Code in the memory of
    /// this process may still be compiled in the background when the function returns.
    pub(crate) fn code(
        &self,
        program: ir::LoopProgram,
        backend: &dyn Backend,
        prefix: String,
    ) -> Result<Artifact, Fault> {
        let form = self
            .objects
            .map_or(CodePlacement::Memory, |format| CodePlacement::Object {
                prefix,
                format,
            });
        let options = backend::BackendOptions {
            symbols: self.symbols.clone(),
            form,
            gpu: Some(self.gpu.name),
        };
        let mut code = backend.compile(&program, &options)?;
        match self.attach {
            Some(attach) => code = attach(code)?,
            None if options.form == CodePlacement::Memory => background::compile(&code),
            None => {}
        }
        Ok(Artifact {
            plan: Arc::new(program.plan),
            code,
        })
    }
}
