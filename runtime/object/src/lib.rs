//! Loads relocatable objects as code of this process: copies sections into memory, applies relocations, and makes kernels callable through
//! the `KernelCode` trait.
//!
//! [`load`] reads an ELF object for the processor it runs on. Nothing in the file is trusted: every offset, size and number is checked, and
//! an invalid one is a [`bnnc_base::fault::Fault`]. The instructions themselves are not checked, so the file must come from a trusted code
//! generator. No page is ever writable and executable at once.

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
