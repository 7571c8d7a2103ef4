//! The diagnostics of built executables.

use bnnc_abi::artefact::BundleError;
use bnnc_abi::diagnostics::{OPTION_VALUE, OPTIONS_APART, UNKNOWN_OPTION, UNKNOWN_OVERRIDE};
use bnnc_abi::method::MethodDef;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use std::path::Path;

codes! {
    /// An executable does not contain a program.
    NO_PROGRAM = "E0630", "no program to run":
        "An executable of `bnnc build` holds a compiled program: either linked into it, or appended to the bytes of `bnnc-runner`. This \
         executable may not hold a program. It may have been cut off or changed later. For example, `strip` removes appended bytes. Or \
         its runtime and its program come from different builds of bnnc.\n\n\
         Wrong: `bnnc-runner --seed 1`, a runtime without a program.\n\n\
         Right: `bnnc build model.bnn -o model`, then `./model --seed 1`. After an update of bnnc, build `bnnc-runner` \
         again too: `cargo build --release -p bnnc -p bnnc-runner`.";

    /// The data differ from the data that the program was compiled for.
    OTHER_DATA = "E0631", "data that differ from those of the build":
        "A program is compiled for the sizes that its data had when it was built: the number of inputs, the shapes of arrays, the number of classes \
         or levels, and whether each column holds numbers, integers or text. The number of rows may differ, unless the model takes \
         all rows as one sequence or has a parameter per row.\n\n\
         Wrong: `./model --data d=other.csv` where `other.csv` has an additional column.\n\n\
         Right: build again for these data: `bnnc build model.bnn --data d=other.csv -o model`.";

    /// The processor lacks instruction set extensions that the code uses.
    OTHER_PROCESSOR = "E0632", "another processor":
        "`bnnc build` makes code for the processor of this machine, and uses every extension of this processor, such as AVX2 and FMA. An \
         executable runs only on processors that have all these extensions. The message names the missing extensions.\n\n\
         Build on the oldest machine that the executable has to run on.";

    /// An option of the command line was fixed when the executable was built.
    DECIDED = "E0633", "an option that is fixed at build time":
        "A built executable has the options of `bnnc run` that do not need a compiler: data files, seed, output, resumption, threads, \
         memory and the choice of inferences. `--set` can change an option of an inference if the value is a number and does not affect \
         the compiled code, for example `epochs`, `batch`, `draws` or `chains`. `bnnc build` fixes all other options: options that change the \
         compiled code, the options of data, and values that only the compiler reads (words, names of inferences, optimisers, schedules).\n\n\
         Wrong: `./model --precision f64`, `./model --set fit.optimiser=Adam(1e-2)`.\n\n\
         Right: `bnnc build model.bnn --precision f64 --set 'fit.optimiser=Adam(1e-2)' -o model`, then `./model --set \
         fit.epochs=10`.";
}

reports! {
    /// An error: a program cannot be read from an executable.
    fn no_program(executable: &Path, problem: &BundleError)
        let stripped = "`strip`, and other tools that rewrite an executable, remove the program that `bnnc build --no-linker` appended to it";
        = usage(NO_PROGRAM, "`{}` cannot run: {problem}", executable.display())
        .notes((*problem == BundleError::Unknown).then_some(stripped))
        .help(match problem {
            BundleError::Unknown => "build the executable again: `bnnc build FILE -o EXE`; to make it smaller, strip `bnnc-runner` first, not the executable",
            BundleError::OtherLayout => "build the compiler and the runtime together, `cargo build --release -p bnnc -p bnnc-runner`, and then the executable again",
            BundleError::Truncated | BundleError::Damaged(_) | BundleError::OtherArchitecture(_) => "copy or build it again",
        });

    /// An error: an executable cannot be read.
    fn unreadable(executable: &Path, error: &std::io::Error)
        = of_data(NO_PROGRAM, "cannot read `{}`: {error}", executable.display());

    /// An error: a data item differs from the data that the program was compiled for.
    fn other_data(name: &str, file: &Path, what: &str)
        = data(OTHER_DATA, file, "{what}")
        .note("in the data `{name}`")
        .help("build the executable again for these data: `bnnc build FILE --data NAME=PATH -o EXE`");

    /// An error: this processor does not have the instruction set extensions that the code uses.
    fn other_processor(missing: &[String])
        = of_program(OTHER_PROCESSOR, "this executable needs a processor with {}, which this one lacks", missing.join(", "))
        .help("build it again on this machine");

    /// An error: an option has no effect in a built executable.
    fn decided(option: &str)
        = usage(DECIDED, "`{option}` was fixed when this executable was built")
        .help("pass it to `bnnc build`: `bnnc build FILE {option} .. -o EXE`");
}

/// The reason why an option cannot be changed after the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedReason {
    /// The value of the option changes the compiled code.
    Code,
    /// The value of the option is not a plain number.
    Words,
    /// The option belongs to a data item, not to an inference block.
    Data,
}

reports! {
    /// An error: `--set` names an option that was fixed at the build.
    fn decided_setting(item: &str, key: &str, why: FixedReason)
        let why = match why {
            FixedReason::Code => "it changes the compiled code",
            FixedReason::Words => "only the compiler reads its values",
            FixedReason::Data => "only the compiler reads the options of data",
        };
        = usage(DECIDED, "`{key}` of `{item}` was fixed when this executable was built: {why}")
        .help("pass it to `bnnc build`: `bnnc build FILE --set {item}.{key}=.. -o EXE`");
}

/// An error: `--set` names an item that the program does not have.
pub fn no_settable<'a>(item: &str, infers: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let text = format!("the program has no inference or data item `{item}`");
    Diagnostic::usage(&UNKNOWN_OVERRIDE, text).suggest(item, infers)
}

/// An error: `--set` names an option that the method does not have.
pub fn no_option(method: &MethodDef, key: &str) -> Diagnostic {
    let names = quoted(method.options.iter().map(|option| option.name));
    let text = format!("`{}` has no option `{key}`", method.name);
    let diagnostic = method.suggest(Diagnostic::usage(&UNKNOWN_OPTION, text), key);
    diagnostic.note(format!("its options are {names}"))
}

reports! {
    /// An error: a value in `--set` is not a number, or this option does not allow the number.
    fn bad_number(item: &str, key: &str, expected: &str, found: Option<f64>)
        let found = found.map_or(String::new(), |found| format!(", found {found}"));
        = usage(OPTION_VALUE, "`{key}` must be {expected}{found}")
        .note("in `--set {item}.{key}`");

    /// An error: the options of an inference block cannot be combined.
    fn options_apart(infer: &str, message: &str, help: &str)
        = usage(OPTIONS_APART, "{message}")
        .note("in the inference `{infer}`")
        .help(help);

    /// An error: `--data` names an item that the program does not have.
    fn no_item(item: &str, names: &[&str])
        = usage(UNKNOWN_OVERRIDE, "`{item}` in `--data {item}=..` is not a data item of this program")
        .suggest(item, names.iter().copied());

    /// An error: several files are given where one file is expected.
    fn one_file(item: &str, count: usize)
        = usage(OPTION_VALUE, "`--data {item}.outliers=..` needs one file of inputs, found {count}");
}
