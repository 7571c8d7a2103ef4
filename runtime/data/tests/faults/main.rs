//! Each invalid data file is rejected with one short, exact message.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

#[path = "../folder/mod.rs"]
mod folder;

mod arrays;
mod columns;
mod csv;
mod files;
mod parquet;

use bnnc_abi::data::{DataSpec, Format};
use bnnc_data::LoadedData;
use folder::{Folder, reported, spec};

/// Returns the diagnostics of one file.
fn check(format: Format, file: &str, bytes: impl AsRef<[u8]>) -> Vec<String> {
    let folder = Folder::new();
    faults(&spec(format, &[&folder.file(file, bytes)]))
}

fn faults(spec: &DataSpec) -> Vec<String> {
    let found = LoadedData::read(spec).and_then(|source| source.dataset(0, 1).map(|_| ()));
    let found = found.expect_err("the data are accepted");
    assert!(
        found.iter().all(|fault| !fault.help.is_empty()),
        "no help: {found:?}"
    );
    found.iter().map(reported).collect()
}
