//! The rendered text of every diagnostic whose explanation contains a wrong program.

use super::{folder, options};
use bnnc_driver::{diagnostics, program, render};
use std::collections::BTreeSet;

#[test]
fn diagnostics_match_their_snapshots() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join("diagnostics"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut shown = BTreeSet::new();
    for code in diagnostics::all() {
        let Some((_, rest)) = code.explain.split_once("```bnn\n") else {
            continue;
        };
        let wrong = rest.split("\n```").next().unwrap();
        let program = program::load("wrong.bnn", wrong, &options());
        let found = program
            .diagnostics
            .iter()
            .filter(|found| found.code.id == code.id);
        let found: String = found
            .map(|found| render::text(found, &program.sources, false))
            .collect();
        if found.is_empty() {
            continue;
        }
        shown.insert(code.id.to_owned());
        settings.bind(|| insta::assert_snapshot!(code.id, format!("{wrong}\n----\n{found}")));
    }
    let held = std::fs::read_dir(folder().join("diagnostics")).unwrap();
    let held = held.map(|entry| entry.unwrap().path().file_stem().unwrap().display().to_string());
    assert_eq!(held.collect::<BTreeSet<String>>(), shown);
}
