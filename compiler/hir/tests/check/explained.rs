//! Every code's long text holds a program that raises it and one that does not.
#![allow(clippy::unwrap_used)]

use super::check;
use bnnc_hir::report::CODES;

fn parts(explain: &str) -> (&str, &str) {
    let mut blocks = explain
        .split("```bnn\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap());
    (blocks.next().unwrap(), blocks.next().unwrap())
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
        if !found.errors().is_empty() || found.diagnostics.iter().any(|one| one.code.id == code.id) {
            faults.push(format!("{} right: {}", code.id, found.text()));
        }
        // A text in parentheses says what cannot be shown in a few lines; tests of their own raise these.
        let found = check(wrong);
        if !wrong.starts_with('(') && !found.diagnostics.iter().any(|one| one.code.id == code.id) {
            faults.push(format!("{} wrong: {}", code.id, found.text()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
