//! Diagnostics of the options that `bnnc` and built executables share.

use bnnc_base::{codes, reports};

codes! {
    /// An option that the method or the data item does not have.
    pub UNKNOWN_OPTION = "E0257", "an unknown option":
        "The method, the data item or its target has no such option. bnnc never ignores an option silently.\n\n\
         Wrong:\n\n```bnn\ndata d = csv(\"d.csv\") { tarket = y }\n```\n\n\
         Right:\n\n```bnn\ndata d = csv(\"d.csv\") { target = y }\n```\n";

    /// A value that an option does not allow.
    pub OPTION_VALUE = "E0258", "an option with the wrong value":
        "The option exists, but its value has the wrong type or is out of range.\n\n\
         Wrong:\n\n```bnn\ndata d = csv(\"d.csv\") { validation = 2 }\n```\n\n\
         Right:\n\n```bnn\ndata d = csv(\"d.csv\") { validation = 0.2 }\n```\n";

    /// A name on the command line that is not the name of an inference or a data item.
    pub UNKNOWN_OVERRIDE = "E0260", "`--set` or `--data` with an unknown name":
        "`--set NAME.KEY=VALUE` needs the name of an inference or a data item of the program. `--data NAME=PATH` needs the name \
         of a data item.\n\nWrong: `bnnc run file.bnn --set nobody.epochs=10` where the program has no `nobody`.";

    /// An option of the command line that cannot be parsed.
    pub BAD_SETTING = "E0601", "bad setting":
        "`--set` needs `ITEM.KEY=VALUE`: the name of an `infer` or `data` item, one of its options, and a value as it \
         would be written in the file.\n\n```\nbnnc model.bnn --set radial.epochs=10 --set yacht.split=7\n```";

    /// Options that cannot be used together.
    pub OPTIONS_APART = "E0614", "options that cannot be combined":
        "Each option is valid by itself, but the values of these options contradict each other. For example, a \
         penalty that corrects for the noise of its estimated variance needs enough batches to estimate this noise. \
         Another example is a schedule whose times do not suit the number of steps.\n\n\
         Wrong: `penalty = corrected, batches = 2`.\n\n\
         Right: `penalty = corrected, batches = 10`.";

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
