//! The diagnostics of this crate. Each diagnostic has a code and a small function that creates it.

use bnnc_base::diagnostic::Code;
use bnnc_base::quoted::quoted;
use std::fmt::Display;

/// Declares codes, and the list `CODES` of these codes, in the form of [`bnnc_base::codes!`]. The long
/// explanation of a code ends with a wrong program and the corrected program.
macro_rules! codes_with_programs {
    ($(
        $name:ident = $id:literal, $title:literal:
            $what:literal,
            wrong $wrong:literal,
            right $right:literal;
    )*) => {
        bnnc_base::codes! {
            $(
                #[doc = concat!("`", $id, "`: ", $title, ".")]
                pub $name = $id, $title: concat!(
                    $what,
                    "\n\nWrong:\n\n```bnn\n",
                    $wrong,
                    "\n```\n\nRight:\n\n```bnn\n",
                    $right,
                    "\n```\n"
                );
            )*
        }
    };
}

pub mod bind;
pub mod composed;
pub mod elaborate;
pub mod folds;
pub mod infer;
pub mod layer_arguments;
pub mod model;
pub mod names;
pub mod running;
pub mod statements;
pub mod types;

/// The codes of errors in the elaboration, which needs the data: one list for each module.
pub static ELABORATE: &[&[&Code]] = &[bind::CODES, elaborate::CODES];

/// Returns the codes of the check of programs, in order.
pub fn codes() -> Vec<&'static Code> {
    let mut codes = [
        names::CODES,
        types::CODES,
        running::CODES,
        folds::CODES,
        layer_arguments::CODES,
        composed::CODES,
        statements::CODES,
        model::CODES,
        infer::CODES,
    ]
    .concat();
    codes.sort_by_key(|code| code.id);
    codes
}

/// Formats a number with a noun: `1 argument`, `2 arguments`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// Lists the parameters of a callee or a model in a note.
fn its_parameters(names: impl IntoIterator<Item = impl Display>) -> String {
    match quoted(names) {
        none if none.is_empty() => "it has no parameters".to_owned(),
        all => format!("its parameters are {all}"),
    }
}
