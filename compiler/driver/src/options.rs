//! What the command line says about a compilation.

use bnnc_abi::code::{Artifact, Attach};
use bnnc_abi::symbols::Address;
pub use bnnc_backend_mlir::gpu::chip::{self, Chip};
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
pub use bnnc_loops::backend::ObjectFormat;
use bnnc_loops::backend::{self, Backend, Form};
use bnnc_loops::ir;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of every random number.
    pub seed: u64,
    /// The width of reals, if not left to the method.
    pub precision: Option<Precision>,
    /// The backend's name.
    pub backend: String,
    /// `ITEM.KEY=VALUE`, as given.
    pub settings: Vec<String>,
    /// `NAME=PATH` pairs; several for one name are shards (or inputs and target).
    pub data: Vec<(String, PathBuf)>,
    /// Only these infers (and those they need); empty means all.
    pub only: Vec<String>,
    /// Rewrites that are switched off.
    pub without: Vec<String>,
    /// Whether to verify what every pass leaves. Debug builds do it unasked.
    pub verify: bool,
    /// Whether to record rewrites.
    pub trace: bool,
    /// The runtime's array primitives.
    pub symbols: Vec<Address>,
    /// The oldest graphics processor that has to run code for one.
    pub gpu: Chip,
    /// Code as objects of this format, instead of in memory of this process.
    pub objects: Option<ObjectFormat>,
    /// What puts compiled code on a device, if it is to run on one.
    pub attach: Option<Attach>,
    /// Jacobians of the outputs for every Laplace approximation, also where neither its fit nor its predictions need them.
    pub jacobians: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            precision: None,
            backend: "cranelift".to_owned(),
            settings: Vec::new(),
            data: Vec::new(),
            only: Vec::new(),
            without: Vec::new(),
            verify: false,
            trace: false,
            symbols: Vec::new(),
            gpu: chip::DEFAULT,
            objects: None,
            attach: None,
            jacobians: false,
        }
    }
}

impl Options {
    /// Machine code of a program; where it becomes an object, the symbols of its kernels begin with `prefix`.
    pub(crate) fn code(
        &self,
        program: ir::Program,
        backend: &dyn Backend,
        prefix: String,
    ) -> Result<Artifact, Fault> {
        let form = self
            .objects
            .map_or(Form::Memory, |format| Form::Object { prefix, format });
        let options = backend::Options {
            symbols: self.symbols.clone(),
            form,
            gpu: Some(self.gpu.name),
        };
        let mut code = backend.compile(&program, &options)?;
        if let Some(attach) = self.attach {
            code = attach(code)?;
        }
        Ok(Artifact {
            plan: Arc::new(program.plan),
            code,
        })
    }
}
