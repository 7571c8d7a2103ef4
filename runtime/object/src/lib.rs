//! Loads relocatable objects as code of this process. Copies sections into memory, applies
//! relocations, and makes kernels callable through the trait `KernelCode`.
//!
//! [`load`] reads an ELF object for the processor that it runs on. The loader does not trust the
//! file: it checks every offset, size and number, and returns a [`bnnc_base::fault::Fault`] if one
//! is invalid. The loader does not check the instructions themselves, so the file
//! must come from a trusted code generator. A page is never writable and executable at the same
//! time.

mod code;
mod features;
mod image;
mod load;
mod math;
mod memory;
mod target;

pub use code::LoadedCode;
pub use features::missing_features;
pub use load::{Loaded, load};
