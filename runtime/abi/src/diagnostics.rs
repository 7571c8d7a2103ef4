//! Diagnostics of the options that `bnnc` and built executables share.

use bnnc_base::{codes, reports};

codes! {
    /// An option of the command line that cannot be parsed.
    pub BAD_SETTING = "E0601", "bad setting":
        "`--set` needs `ITEM.KEY=VALUE`: the name of an `infer` or `data` item, one of its options, and a value as it \
         would be written in the file.\n\n```\nbnnc model.bnn --set radial.epochs=10 --set yacht.split=7\n```";

    /// A name on the command line that is not the name of an inference block.
    pub NO_INFER = "E0603", "no such inference":
        "`--only` and `--infer` need the names of `infer` items of the program.";
}

reports! {
    /// Returns the diagnostic for a `--set` that is not `ITEM.KEY=VALUE`.
    fn no_setting(word: &str)
        let lacks_item = word.split_once('=').is_some_and(|(key, _)| !key.contains('.'));
        = usage(BAD_SETTING, "`--set {word}` is not `ITEM.KEY=VALUE`")
        .help_if(lacks_item.then(|| format!("name the `infer` or `data` item: `--set NAME.{word}`")));

    /// Returns the diagnostic for the name of an inference block that does not exist.
    fn no_infer(name: &str, known: &[&str])
        = usage(NO_INFER, "`{name}` is not an inference of this program")
        .suggest(name, known.iter().copied())
        .note("the program has {}", known.join(", "));
}
