//! `bnnc doc`: describes a word that programs may contain.

use crate::arguments::Doc;
use bnnc_command::terminal::{OK, complain, say};
use bnnc_driver::manual;

/// Runs the command.
pub fn run(arguments: &Doc) -> u8 {
    match manual::entry(&arguments.word) {
        Ok(text) => {
            say(&text);
            OK
        }
        Err(near) => {
            complain(&format!("error: the manual has no entry `{}`", arguments.word));
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "every item of the library, method, option, schedule, data format, metric, function, type and keyword has one; `bnnc explain` describes codes".to_owned(),
            };
            complain(&format!("   = help: {help}"));
            2
        }
    }
}
