//! The parts that tests of the whole workspace share: the root, the crates and the files of the workspace.
//!
//! Tests of the command line are beside the binary, in `compiler/cli/tests`.

pub mod book;
pub mod compile;
pub mod crates;
pub mod emulated;
pub mod files;
pub mod imports;
pub mod items;
pub mod modules;
pub mod step;

use std::path::PathBuf;

/// Returns the folder of the workspace's `Cargo.toml`.
pub fn root() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map(PathBuf::from).unwrap_or(tests)
}
