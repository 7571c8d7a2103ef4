//! `bnnc explain`: the long text of a diagnostic.

use crate::arguments::Explain;
use crate::session::{OK, all_codes};
use bnnc_base::nearest::nearest;

/// Runs the command.
pub fn run(arguments: &Explain) -> u8 {
    let codes = all_codes();
    let wanted = arguments.code.to_uppercase();
    match codes.iter().find(|code| code.id == wanted) {
        Some(code) => {
            println!("{}: {}\n\n{}", code.id, code.title, code.explain);
            OK
        }
        None => {
            eprintln!("error: there is no diagnostic `{}`", arguments.code);
            if let Some(near) = nearest(&wanted, codes.iter().map(|code| code.id)) {
                eprintln!("   = help: did you mean `{near}`?");
            }
            2
        }
    }
}
