//! `bnnc new`: writes a first program for a table.

mod columns;
pub mod diagnostics;
mod facts;
mod guess;
mod likelihood;
mod model;
mod names;
mod program;

use crate::arguments::New;
use crate::session::Display;
use bnnc_abi::data::{Contents, Format};
use bnnc_abi::method::declare::{OptionValue, RawOption};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::SourceMap;
use bnnc_command::memory;
use bnnc_command::terminal::{self, OK};
use bnnc_data::read::{self, Reading};
use bnnc_data::write;
use columns::TableColumns;
use program::{ProgramPaths, ProgramPlan};
use std::path::{Path, PathBuf};

/// Errors in the file or the command line.
type Faults = Vec<Diagnostic>;

/// The largest number of columns that the terminal output lists as left out. If there are more, it
/// shows only their number.
const MOST_LISTED: usize = 10;

/// Runs the command.
pub fn run(arguments: &New) -> u8 {
    match project(arguments) {
        Ok(text) => {
            terminal::say(&text);
            OK
        }
        Err(faults) => Display { json: false }.show(&faults, &SourceMap::default()),
    }
}

/// Returns the formatted text of a program, or `None` if the program cannot be parsed.
fn formatted(text: &str) -> Option<String> {
    let source = SourceMap::default().add("new.bnn", text);
    bnnc_driver::program::format(&source).ok()
}

/// Writes the program, and returns the text for the terminal.
fn project(arguments: &New) -> Result<String, Faults> {
    let file = &arguments.file;
    let one = |fault: Diagnostic| vec![fault];
    let format = format_of(file).map_err(one)?;
    let stem = stem(file);
    let target = target(arguments, &stem);
    let complete = complete_of(&target);
    let reading = Reading::within(memory::available()).with_gaps();
    let table = read::read(
        format,
        std::slice::from_ref(file),
        arguments.output.as_deref(),
        &reading,
    )?;
    let columns = TableColumns::of(file, &table, reading.gaps(), arguments.output.as_deref()).map_err(one)?;
    check_free(&target, &complete, &columns, arguments.overwrite).map_err(one)?;
    let folder = target.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)
            .map_err(|error| vec![bnnc_data::diagnostics::unwritable(folder, &error)])?;
    }
    let (data, format) = match columns.is_complete() {
        true => (from_folder(folder, file), format),
        false => (
            complete.file_name().map(PathBuf::from).unwrap_or_default(),
            table_format(TEXT).unwrap_or(format),
        ),
    };
    let data = path_text(&data).ok_or_else(|| vec![diagnostics::unwritable_path(&data)])?;
    let program = target.display().to_string();
    let plan = columns.plan(ProgramPaths { program, data }, format, &stem);
    let text = plan.text();
    let text = formatted(&text).unwrap_or(text);
    if !columns.is_complete() {
        let rows = write::csv_text(&columns.complete());
        write::in_place_of(&complete, |writer| writer.write_all(rows.as_bytes())).map_err(one)?;
    }
    write::in_place_of(&target, |writer| writer.write_all(text.as_bytes())).map_err(one)?;
    Ok(summary(&plan, &columns, &complete))
}

/// Returns the path of the table of complete rows. Its name contains the name of the program, so
/// that several programs for one table have separate files.
fn complete_of(target: &Path) -> PathBuf {
    let program = target.file_stem().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!("{program}-complete.csv"))
}

/// Checks that the command does not replace existing files. With `overwrite`, it may replace an
/// earlier program and the table of complete rows that the earlier program reads.
fn check_free(
    target: &Path,
    complete: &Path,
    columns: &TableColumns,
    overwrite: bool,
) -> Result<(), Diagnostic> {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    if exists(target) && !overwrite {
        return Err(diagnostics::exists(target));
    }
    if columns.is_complete() || !exists(complete) {
        return Ok(());
    }
    let name = complete.file_name().unwrap_or_default().to_string_lossy();
    let program = bnnc_data::file::text(target).unwrap_or_default();
    match overwrite && program.contains(&format!("(\"{name}\")")) {
        true => Ok(()),
        false => Err(diagnostics::table_exists(complete, overwrite)),
    }
}

/// The format of the table of complete rows, and of files whose extension is unknown.
const TEXT: &str = "csv";

/// The extensions of files that are known not to be tables.
const OTHER_FILES: &[&str] = &["bnn", "npz", "xls", "xlsx"];

/// Returns the format of a file, determined by its extension.
fn format_of(file: &Path) -> Result<Format, Diagnostic> {
    let ending = ending(file);
    let is_named = Format::WORDS.contains(&ending.as_str()) || OTHER_FILES.contains(&ending.as_str());
    let word = if is_named { ending.as_str() } else { TEXT };
    table_format(word).ok_or_else(|| diagnostics::no_table(file, &ending))
}

/// Returns the format with this name. Returns `None` if a single file in this format is not a table.
fn table_format(word: &str) -> Option<Format> {
    Format::read(RawOption::Call(word, &[])).filter(|format| format.contents() != Contents::Pair)
}

/// Returns the name of a file without `.gz`.
fn unpacked_name(file: &Path) -> PathBuf {
    let name = PathBuf::from(file.file_name().unwrap_or_default());
    match name
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gz"))
    {
        true => name.with_extension(""),
        false => name,
    }
}

fn ending(file: &Path) -> String {
    let name = unpacked_name(file);
    let ending = name.extension().unwrap_or_default();
    ending.to_string_lossy().to_lowercase()
}

/// Returns the name of a file without folder and extension, such as `cars` for `data/cars.csv.gz` and for `cars_*.csv`.
fn stem(file: &Path) -> String {
    let name = unpacked_name(file);
    let stem = name.file_stem().unwrap_or_default().to_string_lossy();
    match stem.contains('*') {
        true => {
            let plain = stem.replace('*', "");
            let plain = plain.trim_matches(['_', '-', '.']);
            if plain.is_empty() { "data" } else { plain }.to_owned()
        }
        false => stem.into_owned(),
    }
}

/// Returns the path of the program.
fn target(arguments: &New, stem: &str) -> PathBuf {
    let name = format!("{stem}.bnn");
    match &arguments.target {
        None => PathBuf::from(name),
        Some(file) if file.extension().is_some_and(|ending| ending == "bnn") && !file.is_dir() => {
            file.clone()
        }
        Some(folder) => folder.join(name),
    }
}

/// Returns the path of an existing file, relative to an existing folder. Returns an absolute path
/// if the file and the folder do not have a common ancestor.
fn from_folder(folder: &Path, file: &Path) -> PathBuf {
    let here = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let (Ok(here), Ok(file)) = (here.canonicalize(), file.canonicalize()) else {
        return std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    };
    let shared = here
        .components()
        .zip(file.components())
        .take_while(|(a, b)| a == b)
        .count();
    if shared < 2 {
        return file;
    }
    let up = here.components().skip(shared).map(|_| PathBuf::from(".."));
    let down = file
        .components()
        .skip(shared)
        .map(|part| PathBuf::from(part.as_os_str()));
    up.chain(down).collect()
}

/// Returns a path as text for a program, or `None` if the path cannot be written in a program.
fn path_text(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    (!text.contains(['"', '\n', '\r'])).then(|| text.to_owned())
}

/// Returns the text for the terminal.
fn summary(plan: &ProgramPlan, columns: &TableColumns, complete: &Path) -> String {
    let plural = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {several}")),
    };
    let inputs = [
        plural(plan.numbers.len(), "numeric input", "numeric inputs"),
        plural(plan.groups.len(), "column of groups", "columns of groups"),
    ];
    let inputs: Vec<String> = inputs.into_iter().flatten().collect();
    let inputs = match inputs.is_empty() {
        true => "no inputs".to_owned(),
        false => inputs.join(" and "),
    };
    let mut text = format!(
        "wrote `{}`: a model of `{}` ({}) with {inputs}\n",
        plan.paths.program,
        facts::shown(&plan.output.column),
        plan.choice.0.name(),
    );
    if let Some(note) = columns.choice_of_output() {
        text += &format!("  {note}\n");
    }
    let left_out = columns.left_out();
    for (name, why) in left_out.iter().take(MOST_LISTED) {
        text += &format!("  left out `{}`: {why}\n", facts::shown(name));
    }
    if let Some(more @ 1..) = left_out.len().checked_sub(MOST_LISTED) {
        text += &format!("  left out {more} more columns; the program lists them\n");
    }
    if !columns.is_complete() {
        let (rows, all) = columns.rows();
        text += &format!(
            "  `{}` holds the {rows} of {all} rows with a value in every column that is used\n",
            complete.display()
        );
    }
    text + &format!("next: bnnc run {}\n", plan.paths.program)
}

#[cfg(test)]
mod tests {
    use super::stem;
    use std::path::Path;

    #[test]
    fn programs_are_named_after_files_and_patterns() {
        for (file, expected) in [
            ("data/cars.csv", "cars"),
            ("cars.csv.gz", "cars"),
            ("data/cars_*.csv", "cars"),
            ("*-cars.csv", "cars"),
            ("*.csv", "data"),
        ] {
            assert_eq!(stem(Path::new(file)), expected, "{file}");
        }
    }
}
