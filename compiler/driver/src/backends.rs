//! The list of backends.

use bnnc_backend_cranelift::Cranelift;
pub use bnnc_backend_cranelift::entry;
use bnnc_loops::backend::Backend;
use bnnc_loops::reference::Reference;

/// Every backend of this build, the default first.
pub static ALL: &[&(dyn Backend + Sync)] = &[&Cranelift, &Reference];

/// The backend with this name.
pub fn lookup(name: &str) -> Option<&'static (dyn Backend + Sync)> {
    ALL.iter().copied().find(|backend| backend.name() == name)
}

/// The names, for messages.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|backend| backend.name()).collect()
}
