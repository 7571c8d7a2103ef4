//! Diagnostics of the options that `bnnc` and built executables share.

use bnnc_base::codes;
use bnnc_base::diagnostic::Diagnostic;

codes! {
    /// An option of the command line that cannot be parsed.
    pub BAD_SETTING = "E0601", "bad setting":
        "`--set` needs `ITEM.KEY=VALUE`: the name of an `infer` or `data` item, one of its options, and a value as it \
         would be written in the file.\n\n```\nbnnc model.bnn --set radial.epochs=10 --set yacht.split=7\n```";

    /// A name on the command line that is not the name of an inference block.
    pub NO_INFER = "E0603", "no such inference":
        "`--only` and `--infer` need the names of `infer` items of the program.";
}

/// Returns the diagnostic for a `--set` that is not `ITEM.KEY=VALUE`.
pub fn no_setting(word: &str) -> Diagnostic {
    let text = format!("`--set {word}` is not `ITEM.KEY=VALUE`");
    let diagnostic = Diagnostic::usage(&BAD_SETTING, text);
    match word.split_once('=') {
        Some((key, _)) if !key.contains('.') => {
            diagnostic.help(format!("name the `infer` or `data` item: `--set NAME.{word}`"))
        }
        _ => diagnostic,
    }
}

/// Returns the diagnostic for the name of an inference block that does not exist.
pub fn no_infer(name: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::usage(&NO_INFER, format!("`{name}` is not an inference of this program"))
        .suggest(name, known.iter().copied())
        .note(format!("the program has {}", known.join(", ")))
}
