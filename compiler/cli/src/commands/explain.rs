//! `bnnc explain`: the long text of a diagnostic.

use crate::arguments::Explain;
use crate::session::all_codes;
use bnnc_base::nearest::nearest;
use bnnc_command::terminal::{OK, complain, say};

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
            if let Some(near) = nearest(&wanted, codes.iter().map(|code| code.id)) {
                complain(&format!("   = help: did you mean `{near}`?"));
            }
            2
        }
    }
}
