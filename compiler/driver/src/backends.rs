//! The list of backends.

use bnnc_backend_cranelift::Cranelift;
pub use bnnc_backend_cranelift::entry;
use bnnc_backend_mlir::Mlir;
use bnnc_loops::backend::Backend;
use bnnc_loops::reference::Reference;

/// What generates code where nothing is said.
pub const DEFAULT: &str = "cranelift";

/// Every backend, the default first. `mlir` says so where this build has no worker for it.
pub static ALL: &[&(dyn Backend + Sync)] = &[&Cranelift, &Reference, &MLIR];

/// What lowers MLIR, for graphics processors too.
pub(crate) static MLIR: Mlir = Mlir::new();

/// The backend with this name.
pub fn lookup(name: &str) -> Option<&'static (dyn Backend + Sync)> {
    ALL.iter().copied().find(|backend| backend.name() == name)
}

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|backend| backend.name()).collect()
}
