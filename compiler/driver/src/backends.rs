//! The list of backends.

use crate::codes;
use bnnc_backend_cranelift::Cranelift;
pub use bnnc_backend_cranelift::entry;
use bnnc_backend_mlir::Mlir;
#[cfg(feature = "cuda")]
use bnnc_backend_mlir::gpu::Cuda;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_loops::backend::Backend;
use bnnc_loops::reference::Reference;

/// What generates code where nothing is said.
pub const DEFAULT: &str = "cranelift";

/// The backend for NVIDIA GPUs.
pub const DEVICE: &str = "cuda";

/// Every backend of this build, the default first. `mlir` and `cuda` report where they have no worker.
pub static ALL: &[&(dyn Backend + Sync)] = &[
    &Cranelift,
    &Reference,
    &MLIR,
    #[cfg(feature = "cuda")]
    &CUDA,
];

/// What lowers MLIR, for graphics processors too.
pub(crate) static MLIR: Mlir = Mlir::new();
#[cfg(feature = "cuda")]
static CUDA: Cuda = Cuda(Mlir::new());

/// The backend of a compilation.
///
/// # Errors
/// A name that none has, or one that cannot work in this build.
pub fn chosen(name: &str) -> Result<&'static (dyn Backend + Sync), Diagnostic> {
    #[cfg(not(feature = "cuda"))]
    if name == DEVICE {
        return Err(codes::no_cuda());
    }
    if [MLIR.name(), DEVICE].contains(&name) && MLIR.program().is_none() {
        return Err(codes::no_worker(name));
    }
    lookup(name).ok_or_else(|| codes::no_backend(name))
}

/// The backend with this name.
pub fn lookup(name: &str) -> Option<&'static (dyn Backend + Sync)> {
    ALL.iter().copied().find(|backend| backend.name() == name)
}

/// The names of those that work in this build, for messages.
pub fn names() -> Vec<&'static str> {
    let has_worker = MLIR.program().is_some();
    let through_mlir = [MLIR.name(), DEVICE];
    let names = ALL.iter().map(|backend| backend.name());
    names
        .filter(|name| has_worker || !through_mlir.contains(name))
        .collect()
}
