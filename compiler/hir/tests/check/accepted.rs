//! The library and all sample programs are accepted without diagnostics.
#![allow(clippy::unwrap_used)]

use super::{LIBRARY, check, context};
use bnnc_grammar::ast;

pub fn programs() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_library_has_no_diagnostics() {
    let (module, diagnostics) =
        bnnc_hir::check::check(&LIBRARY.modules, &ast::SourceFile::default(), &context());
    assert_eq!(diagnostics, []);
    assert_eq!(bnnc_hir::verify::verify(&module), Vec::<String>::new());
}

#[test]
fn the_ten_sample_programs_have_no_diagnostics() {
    let programs = programs();
    assert_eq!(programs.len(), 10);
    for (name, text) in programs {
        let checked = check(&text);
        assert_eq!(checked.text(), "", "{name}");
        let faults = bnnc_hir::verify::verify(&checked.module);
        assert_eq!(faults, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_examples_have_no_diagnostics() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let folders = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    for folder in folders {
        for file in std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if file.extension().is_some_and(|extension| extension == "bnn") {
                let checked = check(&std::fs::read_to_string(&file).unwrap());
                assert_eq!(checked.text(), "", "{}", file.display());
            }
        }
    }
}
