//! The layout version of executable bundles must be raised in two cases: if the types in a bundle
//! change, or if the types that compiled code and the runtime share change.
//!
//! The file `tests/layout.txt` contains this version, and the checksum of the code that determines
//! the layout. First raise `LAYOUT` in `runtime/abi/src/artefact.rs`. Then
//! `BNNC_BLESS=1 cargo test --workspace --test layout` writes the new version and checksum.

use bnnc_abi::artefact::LAYOUT;
use bnnc_base::checksum::Checksum;
use bnnc_tests::files::{File, under};
use bnnc_tests::root;
use std::env;
use std::fs;

/// Returns the checksum of the code that determines the layout. Comments, indents and tests are
/// left out.
fn checksum() -> u64 {
    let mut files = under("runtime/abi/src", &["rs"]);
    let own = files.len();
    files.extend(
        under("runtime/base/src", &["rs"])
            .into_iter()
            .filter(has_written_types),
    );
    assert!(files.len() > own + 2, "types of `base` are in bundles");
    let mut checksum = Checksum::default();
    for file in files.iter().filter(|file| !file.is_test()) {
        let lines = file.lines().into_iter().map(|(_, line)| line.trim());
        let code = lines.filter(|line| !line.starts_with("//") && !line.contains("const LAYOUT"));
        code.for_each(|line| checksum.add(line.as_bytes()));
    }
    checksum.value()
}

/// Returns whether a file contains types that are written into bundles.
fn has_written_types(file: &File) -> bool {
    let mut lines = file.text.lines();
    lines.any(|line| line.contains("derive(") && line.contains("Serialize"))
}

#[test]
fn the_layout_has_a_new_version_after_a_change() {
    let path = root().join("tests/layout.txt");
    let found = format!("{LAYOUT} {:016x}\n", checksum());
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    if recorded == found {
        return;
    }
    let version: u64 = recorded
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    assert!(
        version < LAYOUT,
        "the code that decides the layout of bundles has changed: raise `LAYOUT` in runtime/abi/src/artefact.rs above {version}"
    );
    assert!(
        env::var_os("BNNC_BLESS").is_some(),
        "`BNNC_BLESS=1 cargo test --workspace --test layout` records version {LAYOUT}"
    );
    fs::write(&path, found).unwrap();
}
