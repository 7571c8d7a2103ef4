//! The runtime of built executables. It provides `bnnc run` without the compiler.
//!
//! `bnnc build` either links this library with the objects of a program, or appends the program to
//! the executable `bnnc-runner`.

mod arguments;
mod conform;
mod embedded;
mod linked;
mod program;
mod run_options;

use bnnc_abi::artefact;
pub use embedded::main as embedded_main;

/// The version and the layout of this runtime: see [`artefact::mark`].
pub const MARK: [u8; artefact::mark_bytes(env!("CARGO_PKG_VERSION"))] =
    artefact::mark(env!("CARGO_PKG_VERSION"));

/// The mark by which `bnnc build` recognises the static library.
#[used]
static MARK_OF_LIBRARY: [u8; MARK.len()] = MARK;
