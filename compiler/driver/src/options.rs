//! What the command line says about a compilation.

use bnnc_abi::symbols::Address;
pub use bnnc_backend_mlir::gpu::chip::{self, Chip};
use bnnc_base::dtype::Precision;
pub use bnnc_loops::backend::ObjectFormat;
use std::path::PathBuf;

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
    /// Whether to record rewrites.
    pub trace: bool,
    /// The runtime's array primitives.
    pub symbols: Vec<Address>,
    /// The graphics processor that `bnnc emit ptx` makes code for.
    pub gpu: Chip,
    /// Code as objects of this format, instead of in memory of this process.
    pub objects: Option<ObjectFormat>,
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
            trace: false,
            symbols: Vec::new(),
            gpu: chip::DEFAULT,
            objects: None,
        }
    }
}
