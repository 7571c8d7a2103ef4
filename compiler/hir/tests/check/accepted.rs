//! The whole library and the programs of the language's design check without errors.
#![allow(clippy::unwrap_used)]

use super::{LIBRARY, check, context};
use bnnc_base::diagnostic::Severity;
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
fn the_library_has_nothing_to_report() {
    let (module, diagnostics) = bnnc_hir::check::check(&LIBRARY.modules, &ast::Module::default(), &context());
    assert_eq!(diagnostics, []);
    assert_eq!(bnnc_hir::verify::verify(&module), Vec::<String>::new());
}

#[test]
fn the_ten_programs_report_only_methods_that_are_not_built() {
    let programs = programs();
    assert_eq!(programs.len(), 10);
    for (name, text) in programs {
        let checked = check(&text);
        for one in &checked.diagnostics {
            assert_eq!(
                (one.code.id, one.severity),
                ("E0255", Severity::Warning),
                "{name}: {}",
                checked.text()
            );
        }
        assert_eq!(
            bnnc_hir::verify::verify(&checked.module),
            Vec::<String>::new(),
            "{name}"
        );
        if name.starts_with("07") || name.starts_with("08") {
            assert_eq!(checked.text(), "", "{name}");
        }
    }
}

#[test]
fn methods_that_are_not_built_are_errors_in_a_run() {
    let mut context = context();
    context.allow_unbuilt = false;
    let (_, text) = programs()
        .into_iter()
        .find(|(name, _)| name.starts_with("01"))
        .unwrap();
    let text = text.replace("= laplace(Hetero", "= collapsed(Hetero");
    let checked = super::check_with(&text, &context);
    let codes: Vec<&str> = checked.errors().iter().map(|one| one.code.id).collect();
    assert_eq!(codes, ["E0255"]);
}

#[test]
fn the_examples_have_nothing_to_report() {
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
