//! Every code's long text holds a program that raises it and one that does not.
#![allow(clippy::unwrap_used)]

use super::{Checked, check};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_hir::elaborate::joint_density;
use bnnc_hir::report::CODES;
use bnnc_hir::tree::LocalKind;

fn parts(explain: &str) -> (&str, &str) {
    let mut blocks = explain
        .split("```bnn\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap());
    (blocks.next().unwrap(), blocks.next().unwrap())
}

/// The diagnostics of a program, those that need the sizes of its data among them: six of each.
fn with_sizes(found: &Checked) -> Vec<&'static str> {
    let models = found.module.models.ids().flat_map(|id| {
        let locals = found.module.models[id].locals.iter();
        let dims = locals.filter(|local| local.kind == LocalKind::Dim);
        let dims = dims.map(|local| (local.name.clone(), 6)).collect();
        joint_density::dependences(&found.module, id, &dims)
    });
    let all: Vec<Diagnostic> = found.diagnostics.iter().cloned().chain(models).collect();
    all.iter().map(|one| one.code.id).collect()
}

#[test]
fn codes_are_sorted_and_unique() {
    assert!(CODES.is_sorted_by(|a, b| a.id < b.id));
    assert!(CODES.iter().all(|code| code.id.starts_with("E02")));
}

#[test]
fn the_wrong_program_raises_its_code_and_the_right_one_does_not() {
    let mut faults = Vec::new();
    for code in CODES {
        let (wrong, right) = parts(code.explain);
        let found = check(right);
        if !found.errors().is_empty() || with_sizes(&found).contains(&code.id) {
            faults.push(format!("{} right: {}", code.id, found.text()));
        }
        // A text in parentheses says what cannot be shown in a few lines; tests of their own raise these.
        let found = check(wrong);
        if !wrong.starts_with('(') && !with_sizes(&found).contains(&code.id) {
            faults.push(format!("{} wrong: {}", code.id, found.text()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
