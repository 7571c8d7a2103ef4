//! `bnnc explain`: prints the explanation of a diagnostic code.

use crate::arguments::Explain;
use crate::session::all_codes;
use bnnc_base::nearest::nearest;
use bnnc_command::terminal::{OK, complain, say};
use bnnc_driver::manual::documented;

/// Runs the command.
pub fn run(arguments: &Explain) -> u8 {
    let codes = all_codes();
    let wanted = arguments.code.to_uppercase();
    match codes.iter().find(|code| code.id == wanted) {
        Some(code) => {
            say(&format!("{}: {}\n\n{}\n", code.id, code.title, code.explain));
            OK
        }
        None => {
            complain(&format!("error: there is no diagnostic `{}`", arguments.code));
            if let Some(found) = documented(&arguments.code) {
                complain(&format!("   = note: `{}` is {}", arguments.code, found.kind));
                complain(&format!(
                    "   = help: the book describes it in `docs/src/{}`",
                    found.page
                ));
                if found.has_declaration {
                    complain(&format!(
                        "   = help: `:type {}` shows its declaration in `bnnc repl`",
                        arguments.code
                    ));
                }
            } else if let Some(near) = nearest(&wanted, codes.iter().map(|code| code.id)) {
                complain(&format!("   = help: did you mean `{near}`?"));
            } else {
                complain(
                    "   = help: codes such as `E0202` are printed in brackets after `error` or `warning`",
                );
            }
            2
        }
    }
}
