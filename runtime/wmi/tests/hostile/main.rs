//! Texts that are not problems give a clear error. Problems that are too large give an error or a status that explains why.

#![allow(clippy::unwrap_used)]

mod sizes;
mod statuses;
mod texts;

use bnnc_base::diagnostic::{Diagnostic, FaultyInput, Place};
use bnnc_wmi::integral::IntegrationLimits;
use bnnc_wmi::problem::read;
use bnnc_wmi::solve::{Solution, solve};

fn rejected(text: &str) -> Box<Diagnostic> {
    match read("problem", text) {
        Ok(_) => panic!("not refused: {}", &text[..text.len().min(200)]),
        Err(diagnostic) => {
            assert_eq!(diagnostic.fault, FaultyInput::Program);
            diagnostic
        }
    }
}

/// Checks that the text is rejected with this code at this line and column. The message must contain these words.
fn assert_rejected(text: &str, code: &str, place: (usize, usize), words: &str) {
    let diagnostic = rejected(text);
    let Place::File { row, column, .. } = diagnostic.at else {
        panic!("no place: {diagnostic:?}");
    };
    assert_eq!(
        (diagnostic.code.id, row, column),
        (code, place.0, place.1),
        "{text}: {diagnostic:?}"
    );
    assert!(
        diagnostic.message.contains(words),
        "{text}: {}",
        diagnostic.message
    );
}

/// Returns an instance with the reals `x` and `y` in the unit square and with the Boolean `a`.
fn instance(formula: &str, weight: &str) -> String {
    format!(
        r#"{{"reals": [["x", "0", "1"], ["y", "0", "1"]], "bools": ["a"], "formula":
{formula}, "weight":
{weight}}}"#
    )
}

fn solved(text: &str) -> Solution {
    solve(&read("problem", text).unwrap()[0], &IntegrationLimits::default())
}
