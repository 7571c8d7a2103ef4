//! The diagnostics of `bnnc new`.

use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::nearest::nearest;
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use bnnc_data::diagnostics::At;
use std::path::Path;

codes! {
    /// A file that does not contain a table, or whose path cannot be written in a program.
    NO_TABLE = "E0660", "`bnnc new` cannot use the file":
        "`bnnc new` writes a program for a table: a CSV file with a header line, a Parquet file, or a JSON object of arrays. CSV and \
         JSON files may be compressed with gzip. Files of arrays such as `idx` and `npy` come in pairs and do not have columns. The \
         book shows programs for them. The path of the file must be text without double quotes, because the program names it in double \
         quotes.\n\n\
         Wrong: `bnnc new images.npy`.\n\n\
         Right: `bnnc new cars.csv`.";

    /// A column that does not exist.
    NO_OUTPUT = "E0661", "the output of `bnnc new` is not a column":
        "`--output` names the column that the model predicts, spelled exactly as in the header of the file. Without this option, the last \
         column is the output.\n\n\
         ```\nbnnc new cars.csv --output price\n```";

    /// A table with too few rows.
    TOO_FEW = "E0662", "too few rows for a model":
        "`bnnc new` guesses the type of a column from its values, and a model learns from the differences between rows. \
         The guess and the model each need at least two rows. Rows with a missing value do not count.";

    /// A program that already exists.
    EXISTS = "E0663", "`bnnc new` does not replace files":
        "The program, or the table of complete rows beside it, exists already. The existing file may hold your own changes, so `bnnc new` \
         replaces it only with `--overwrite`. A table is replaced only together with a program that reads \
         it.\n\n\
         ```\nbnnc new cars.csv second.bnn\nbnnc new cars.csv --overwrite\n```";

    /// An output that the models of `bnnc new` cannot predict.
    UNUSABLE = "E0664", "the column cannot be an output":
        "An output must not have the same value in all rows. An output of text must consist of classes that each \
         have several rows. An identifier has a different value in almost every row, so it cannot be an output. A \
         column whose name has a double quote or a line break cannot be named in a program. Without `--output`, \
         the last column is the output. If the only problem of this column is that it has missing values, or \
         numbers that are written as text, bnnc reports this problem and does not choose another column.\n\n\
         Wrong: `bnnc new cars.csv --output licence_plate`.\n\n\
         Right: `bnnc new cars.csv --output price`.";
}

reports! {
    /// Reports a column that cannot be the output. The error points at the name of the column in the
    /// header. `place` is the position of the column, counted from 1.
    fn unusable(path: &Path, column: usize, name: &str, why: &str, remedy: String)
        = data(UNUSABLE, At { path, row: 1, column }, "`{name}` cannot be the output: {why}")
        .help(remedy);

    /// Reports that `--output` does not name a column.
    fn no_output<'a>(path: &Path, wanted: &str, names: impl Iterator<Item = &'a str> + Clone)
        let near = nearest(wanted, names.clone());
        = data(NO_OUTPUT, path, "the file has no column `{wanted}`")
        .help(match near {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("its columns are {}", quoted(names.take(8))),
        });

    /// Reports that the table of complete rows would replace a file that the earlier program does not
    /// read.
    fn table_exists(path: &Path, overwrite: bool)
        let rule = "`--overwrite` replaces a table only if it also replaces a program that reads this table";
        let last = if overwrite { "rename this file" } else { "replace both files with `--overwrite`" };
        = data(EXISTS, path, "the table of complete rows would replace this file")
        .notes(overwrite.then_some(rule))
        .help("give the program another name with `bnnc new FILE PROGRAM.bnn`, or {last}");

    /// Reports a file whose format does not have columns.
    fn no_table(path: &Path, ending: &str)
        = data(NO_TABLE, path, "`bnnc new` reads tables, but a file that ends in `.{ending}` is not one")
        .help("name a CSV, Parquet or JSON file; for images and arrays, begin with a program of the book");

    /// Reports a path that cannot be written in a program.
    fn unwritable_path(path: &Path)
        = data(NO_TABLE, path, "the path has characters that cannot appear in a string of a program: double quotes, a line break, or bytes that are not UTF-8")
        .help("rename the file or its folder");
}

/// Reports a table with fewer than two rows. `dropped` is the number of rows with missing values.
pub fn too_few(path: &Path, rows: usize, dropped: usize) -> Diagnostic {
    let count = match rows {
        1 => "only one row".to_owned(),
        rows => format!("{rows} rows"),
    };
    match dropped {
        0 => Diagnostic::data(
            &TOO_FEW,
            path,
            format!("the file has {count}, but a model needs at least two"),
        )
        .help("add rows to the file"),
        _ => {
            let message = format!(
                "the file has {count} with a value in every column, but a model needs at least two such rows"
            );
            Diagnostic::data(&TOO_FEW, path, message)
                .note(format!("a value is missing in {dropped} rows"))
                .help("fill in the missing values, or delete the columns that have few values")
        }
    }
}

reports! {
    /// Reports that the command would replace an existing file.
    fn exists(path: &Path)
        = data(EXISTS, path, "the file exists already")
        .help("give the program another name with `bnnc new FILE PROGRAM.bnn`, or replace this file with `--overwrite`");
}
