//! Code that tests of the whole workspace share: the root folder, the crates and the files of the
//! workspace.
//!
//! Tests of the command line are next to the binary, in `compiler/cli/tests`.

pub mod book;
pub mod compile;
pub mod crates;
pub mod cycles;
pub mod emulated;
pub mod files;
pub mod imports;
pub mod items;
pub mod modules;
pub mod step;

use std::path::PathBuf;

/// Returns the folder that contains the `Cargo.toml` of the workspace.
pub fn root() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map(PathBuf::from).unwrap_or(tests)
}
