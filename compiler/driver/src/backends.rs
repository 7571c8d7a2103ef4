//! The list of backends.

use crate::diagnostics;
use bnnc_backend_cranelift::Cranelift;
pub use bnnc_backend_cranelift::entry;
use bnnc_backend_mlir::Mlir;
#[cfg(feature = "cuda")]
use bnnc_backend_mlir::gpu::Cuda;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_loops::backend::Backend;
use bnnc_loops::reference::Reference;

/// The name of the backend that generates code if `--backend` is not given.
pub const DEFAULT: &str = "cranelift";

/// The backend for NVIDIA GPUs.
pub const DEVICE: &str = "cuda";

/// Every backend of this build. The default backend comes first. A build without a worker process
/// for MLIR lists `mlir` and `cuda`, but cannot use them.
pub static ALL: &[&(dyn Backend + Sync)] = &[
    &Cranelift,
    &Reference,
    &MLIR,
    #[cfg(feature = "cuda")]
    &CUDA,
];

/// The backend that compiles with MLIR. This backend also provides the code for GPUs.
pub(crate) static MLIR: Mlir = Mlir::new();
#[cfg(feature = "cuda")]
static CUDA: Cuda = Cuda(Mlir::new());

/// Returns the backend of a compilation.
///
/// # Errors
/// Fails if the name is unknown, or if the backend is not available in this build.
pub fn chosen(name: &str) -> Result<&'static (dyn Backend + Sync), Diagnostic> {
    #[cfg(not(feature = "cuda"))]
    if name == DEVICE {
        return Err(diagnostics::no_cuda());
    }
    let backend = lookup(name).ok_or_else(|| diagnostics::no_backend(name, &names()))?;
    match backend.is_available() {
        true => Ok(backend),
        false => Err(diagnostics::no_worker(name)),
    }
}

/// Returns the backend with this name.
pub fn lookup(name: &str) -> Option<&'static (dyn Backend + Sync)> {
    ALL.iter().copied().find(|backend| backend.name() == name)
}

/// Returns the names of the backends that work in this build. Messages list them.
pub fn names() -> Vec<&'static str> {
    let available = ALL.iter().filter(|backend| backend.is_available());
    available.map(|backend| backend.name()).collect()
}
