//! The long explanation of every code contains a wrong program that raises the code, and a
//! corrected program that does not.
#![allow(clippy::unwrap_used)]

use super::{Checked, check};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_hir::diagnostics::codes;
use bnnc_hir::elaborate::joint_density;
use bnnc_hir::tree::LocalKind;

fn parts(explain: &str) -> (&str, &str) {
    let mut blocks = explain
        .split("```bnn\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap());
    (blocks.next().unwrap(), blocks.next().unwrap())
}

/// Returns the codes of a program's diagnostics. For diagnostics that depend on the sizes of the
/// data, every dimension is set to six.
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
    assert!(codes().is_sorted_by(|a, b| a.id < b.id));
    assert!(codes().iter().all(|code| code.id.starts_with("E02")));
}

#[test]
fn the_wrong_program_raises_its_code_and_the_right_one_does_not() {
    let mut faults = Vec::new();
    for code in codes() {
        let (wrong, right) = parts(code.explain);
        let found = check(right);
        if !found.errors().is_empty() || with_sizes(&found).contains(&code.id) {
            faults.push(format!("{} right: {}", code.id, found.text()));
        }
        // If the wrong program would be too long, the explanation contains a description in
        // parentheses instead. Other tests raise the codes of such explanations.
        let found = check(wrong);
        if !wrong.starts_with('(') && !with_sizes(&found).contains(&code.id) {
            faults.push(format!("{} wrong: {}", code.id, found.text()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
