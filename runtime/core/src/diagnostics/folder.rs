//! Diagnostics about the folder of a run, and about predictions from a saved run.

use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use std::path::Path;

codes! {
    /// The folder contains the results of another run.
    pub(super) HOLDS_ANOTHER_RUN = "E0514", "the folder holds another run":
        "The folder given with `--out` holds results or a checkpoint of another run: of another program, or of the same \
         program with other options, data or seed. The new run would destroy them, so bnnc does not start it. The notes \
         list the differences.\n\n\
         Wrong: `bnnc run b.bnn --out runs/a`, where `runs/a` is a run of `a.bnn`.\n\n\
         Right: `bnnc run b.bnn --out runs/b`, or `bnnc run b.bnn --out runs/a --overwrite` if the earlier run is not \
         needed any more. The earlier results are replaced only when the new results are complete.";

    /// A run would replace files that were not written by a run.
    pub(super) FOREIGN_FILES = "E0515", "files in the output folder that no run wrote":
        "A run writes files such as `predictions.csv` and `report.html` into the folder given with `--out`, and its checkpoint into the \
         folder `checkpoint` there. Files with these names exist, but the folder's `manifest.json` does not name them, so they may be \
         yours. bnnc replaces and deletes only files that a run wrote, and does not follow links. It never replaces a file that the \
         same command reads, not even with `--overwrite`.\n\n\
         `bnnc predict -o FILE` and the commands `:predict` and `:plot` of the REPL replace a file only if it is of the same kind: a table with the same columns, \
         an array of the same sizes, or a plot. `bnnc build -o FILE` does not replace the program or its data.\n\nWrong: `bnnc run a.bnn --out .`, where `./predictions.csv` is a file of your own.\n\n\
         Right: `bnnc run a.bnn --out runs/a`, or `--overwrite` to replace the files that the message names.";

    /// A file in the folder of a run is damaged.
    pub(super) DAMAGED_PART = "E0516", "the folder of a run is damaged":
        "`bnnc predict` reads `manifest.json`, `program.json` and `posterior.safetensors`. `manifest.json` holds \
         checksums of the other two, so that predictions are made only from unchanged files of one run. Either a \
         file was changed, truncated or copied from another run, or a run was killed while its results replaced \
         earlier ones.\n\n\
         Wrong: `cp other/posterior.safetensors run/`, then `bnnc predict run --data new.csv`.\n\n\
         Right: copy the whole folder. To finish a run that was killed, use `bnnc run PROGRAM --resume run`.";

    /// The saved run was made with another version of bnnc or of its library.
    pub(super) OTHER_LIBRARY = "E0518", "the run was made by another version of bnnc":
        "A run's folder holds the text of its program. `bnnc predict` compiles this text again. The library of distributions and layers, or \
         the compiler, has changed since the run, so predictions may differ from the predictions of the run.\n\n\
         Wrong: `bnnc predict RUN --data new.csv` after an update of bnnc.\n\n\
         Right: predict with the version of bnnc that made the run, or run again with this version.";

    /// Some outputs do not have predictions in tables.
    pub(super) NO_PREDICTIONS = "E0519", "the outputs have no predictions":
        "A table of predictions has the mean of each output, and its quantiles if the distribution of the output has a sampler. This \
         inference cannot have a table, for one of three reasons. First, the distributions of the model may lack both `mean` and `draw`, so \
         that the table would contain only row numbers. Second, an output may have several values per row, such as `-> y: real[2]`, which do \
         not fit into one column. Third, the model may take whole columns, such as `-> y: real[n]`. It then describes only the rows that it \
         was trained on, not new rows.\n\n\
         Wrong: `dist D(loc: real) on real { log_density(x) = .. }`.\n\n\
         Right: the same `dist` with `mean = loc`, or with `draw = loc + standard_normal()`.";
}

reports! {
    /// An error: the results or the checkpoint of another run would be lost. `what` is the name of
    /// these results or of this checkpoint. Each of
    /// `differences` is one line that describes how the runs differ.
    fn holds_another_run(folder: &Path, what: &str, differences: &[String])
        = usage(HOLDS_ANOTHER_RUN, "`{}` holds the {what} of another run", folder.display())
        .notes(differences)
        .help("write into another folder, or add `--overwrite` to replace the run");

    /// An error: a run would replace files that were not written by a run.
    fn foreign_files(folder: &Path, names: &[&str])
        let (verb, what) = match names {
            [_] => ("was", "it"),
            _ => ("were", "them"),
        };
        = usage(FOREIGN_FILES, "{} in `{}` {verb} not written by a run, and this run would replace {what}",
            quoted(names), folder.display())
        .help("write into another folder, or add `--overwrite` to replace {what}");

    /// An error: the results of a run would replace a file that the run reads.
    fn reads_its_results(folder: &Path, file: &Path)
        = usage(FOREIGN_FILES, "the run reads `{}`, but its results in `{}` would replace this file",
            file.display(), folder.display())
        .help("write into another folder, or first copy the file to another folder");

    /// An error: an output file, such as a table of predictions or an executable, would replace a file that the command reads.
    fn replaces_its_source(file: &Path)
        = usage(FOREIGN_FILES, "the output file would replace `{}`, which this command reads", file.display())
        .help("write into another file");

    /// An error: predictions or a plot would replace a file of another kind.
    fn replaces_another_file(file: &Path, help: &'static str)
        = usage(FOREIGN_FILES, "`{}` exists, but bnnc did not write it as an output of this kind", file.display())
        .help(help);

    /// An error: the path of one of the run's folders or files is a link.
    fn is_a_link(path: &Path)
        = usage(FOREIGN_FILES, "`{}` is a link, which a run does not follow", path.display())
        .help("remove the link, or write into another folder");

    /// An error: a file of a saved run has been modified or damaged, so predictions cannot be made from
    /// it.
    fn damaged_part(path: &Path, why: &str)
        = of_data(DAMAGED_PART, "`{}` is not the file that its run wrote: {why}", path.display())
        .help("restore the file, or run again with `--out DIR --overwrite`");

    /// An error: a process ended while it was replacing the results in the folder.
    fn half_replaced(folder: &Path)
        = of_data(DAMAGED_PART, "the run in `{}` was killed while its results replaced earlier ones",
            folder.display())
        .help("finish it: `bnnc run PROGRAM --resume {}`", folder.display());

    /// A warning: bnnc or its library has changed since the saved run was made.
    fn other_library(folder: &Path)
        = usage(OTHER_LIBRARY, "`{}` was written by another version of bnnc or of its library", folder.display())
        .as_warning()
        .help("run again with this version, or predict with the version that wrote the run");
}

/// The reason why an output does not have columns of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpredicted {
    /// All rows of the data form one example of the model.
    Whole,
    /// Each row has this number of values, but a column of a table has one value per row.
    Vector(usize),
    /// The distribution does not have a mean or a sampler.
    NoMoments,
}

reports! {
    /// An error: an inference block cannot predict new rows in a table.
    fn no_predictions(infer: &str, outputs: &[&str], reason: Unpredicted)
        let outputs = quoted(outputs);
        let why = match reason {
            Unpredicted::Whole => format!("its model takes all rows of the training data as one example, with one element of {outputs} per row"),
            Unpredicted::Vector(count) => format!("{outputs} has {count} values per row, but a table of predictions has one value per row"),
            Unpredicted::NoMoments => format!("the distribution of {outputs} has neither `mean` nor `draw`"),
        };
        = of_program(NO_PREDICTIONS, "`{infer}` has no predictions for new rows: {why}")
        .help(match reason {
            Unpredicted::Whole => "write the model for one row, such as `-> y: real`, and run again: then each new row can be predicted",
            Unpredicted::Vector(_) => "give each value an output of its own, such as `-> y1: real, y2: real`, and run again",
            Unpredicted::NoMoments => "give the `dist` a `mean`, a `draw` or both, and run again",
        });

    /// A note: an output does not have columns of predictions.
    fn unpredicted_output(infer: &str, output: &str, reason: Unpredicted)
        let text = match reason {
            Unpredicted::Vector(count) => format!("has no table of predictions: `{output}` has {count} values per row, but a table has one value per row"),
            Unpredicted::Whole | Unpredicted::NoMoments => format!("has no predictions: the distribution of `{output}` has neither `mean` nor `draw`"),
        };
        = of_program(NO_PREDICTIONS, "`{infer}` {text}")
        .as_note()
        .note(match reason {
            Unpredicted::Vector(_) => "the metrics of this run use the predictions of all values, but `bnnc predict` has nothing to write",
            Unpredicted::Whole | Unpredicted::NoMoments => "the only metric of this run is the log likelihood, and `bnnc predict` has nothing to write",
        })
        .help(match reason {
            Unpredicted::Vector(_) => "give each value an output of its own, such as `-> y1: real, y2: real`",
            Unpredicted::Whole | Unpredicted::NoMoments => "give the `dist` a `mean`, a `draw` or both",
        });
}
