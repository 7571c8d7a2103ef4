//! The errors that data can contain. Each error has its own function, which adds the code and the advice.

mod codes;
mod images;
mod item;
mod values;

pub use codes::CODES;
pub use images::{
    colour_among_greyscale, endless_link, images_beside_folders, no_images_in, not_an_image,
    other_image_format, other_image_size, place_of_image, split_folder, split_without_classes,
    too_many_pixels, unsupported_image,
};
pub use item::{
    absent_output, bad_function, bad_option, bad_split_file, column_differs, constant_columns, domain,
    extra_column, file_count, large_integer, large_squares, missing_column, no_channels, no_files, no_images,
    no_such_split, not_a_column, not_an_integer, not_pixels, other_axes, other_channels, other_inputs,
    other_width, outside, pattern_of_pairs, reached, reached_in_step, records_differ, row_counts,
    scored_target, selected, shared_by_rows, shared_differs, split_index, split_rows, standardised_class,
    text_column, too_few_rows, unknown_column, unseen_level,
};
pub use values::{outside_type, standardised_outside_type, two_spellings};

use crate::file::{is_pattern, matching};
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::nearest::nearest;
use bnnc_base::number::exact;
use bnnc_base::quoted::first_quoted;
use bnnc_base::reports;
use std::path::Path;

/// A list of diagnostics. If it is the error of a `Result`, the list is not empty.
pub type Faults = Vec<Diagnostic>;

/// A place in a data file. Rows and columns are counted from 1. The number 0 means all rows or all
/// columns.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The path of the file.
    pub path: &'a Path,
    /// The row, counted from 1, or 0 for all rows.
    pub row: usize,
    /// The column, counted from 1, or 0 for all columns.
    pub column: usize,
}

impl<'a> At<'a> {
    /// Returns the place of a whole file.
    pub fn file(path: &'a Path) -> At<'a> {
        At::row(path, 0)
    }

    /// Returns the place of a whole row.
    pub fn row(path: &'a Path, row: usize) -> At<'a> {
        At { path, row, column: 0 }
    }
}

impl From<At<'_>> for Place {
    fn from(At { path, row, column }: At<'_>) -> Place {
        let path = path.to_owned();
        Place::File { path, row, column }
    }
}

/// Returns the file's name without its folder. Messages that name a second file use this name to
/// stay short.
fn short(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Shortens the text of a cell for a message. The result is one line of at most 40 characters.
fn shown(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(40)
        .collect();
    if text.chars().count() > 40 {
        format!("{line}…")
    } else {
        line
    }
}

/// An error: a file cannot be opened or read. If the file does not exist, the help suggests similar
/// names.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    match std::fs::read_link(path) {
        _ if error.kind() != std::io::ErrorKind::NotFound => not_readable(path, error),
        Ok(target) => broken_link(path, &target),
        Err(_) if is_pattern(path) => match matching(path).first() {
            Some(first) if first != path => pattern_for_file(path, first),
            _ => unmatched(path),
        },
        Err(_) => missing_file(path),
    }
}

reports! {
    /// An error: a path is a pattern, and no file matches the pattern.
    fn unmatched(path: &Path)
        = data(codes::MISSING_FILE, path, "the pattern matches no file")
        .help("`*` stands for any characters in the name of a file, but not in names of folders")
        .notes(similar_files(path));

    /// An error: a pattern is given where a single file is needed. `first` is a file that matches.
    fn pattern_for_file(path: &Path, first: &Path)
        = data(codes::MISSING_FILE, path, "a pattern is given where one file is needed")
        .help("name one of the matching files, such as `{}`", first.display());

    /// An error: a path is a link to a file that does not exist.
    fn broken_link(path: &Path, target: &Path)
        = data(codes::MISSING_FILE, path, "the file is a link to `{}`, which does not exist", target.display())
        .help("restore that file, or name another one");

    /// An error: a file exists but cannot be read.
    fn not_readable(path: &Path, error: &std::io::Error)
        = data(codes::UNREADABLE, path, "cannot read the file: {error}")
        .help("check that it is a file and that you may read it");

    /// An error: a file does not exist.
    fn missing_file(path: &Path)
        let folder = folder_of(path);
        let names = names_in(folder);
        = data(codes::MISSING_FILE, path, "the file does not exist")
        .help(match nearest(&short(path), names.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{}`?", path.with_file_name(name).display()),
            None if folder.is_dir() => "paths in a program are relative to the program's folder".to_owned(),
            None => format!("the folder `{}` does not exist either", folder.display()),
        });
}

/// Describes the files in the folder of a pattern that have the same extension as the pattern.
fn similar_files(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    let mut names = names_in(folder);
    names.retain(|name| path.with_file_name(name).extension() == path.extension());
    names.sort_unstable();
    match folder.is_dir() {
        false => Some(format!("the folder `{}` does not exist", folder.display())),
        true => folder_has(&names, MOST_NAMES),
    }
}

/// Names the first `most` of the files in a folder, if there are any.
fn folder_has(names: &[String], most: usize) -> Option<String> {
    let listed = first_quoted(names.iter().map(|name| shown(name)), most);
    (!names.is_empty()).then(|| format!("the folder has {listed}"))
}

/// The maximum number of files that the message about a pattern lists. The limit keeps the message on one line.
const MOST_NAMES: usize = 4;

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns the names of the files in a folder. The list is empty if the folder cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

reports! {
    /// An error: a gzip stream cannot be unpacked.
    fn bad_gzip(path: &Path, error: &std::io::Error)
        = data(codes::BAD_GZIP, path, "cannot unpack the gzip file: {error}")
        .help("the file is damaged or truncated: download or compress it again");

    /// An error: a gzip stream unpacks to more than `limit` bytes.
    fn unpacks_too_large(path: &Path, limit: u64)
        = data(codes::BAD_GZIP, path, "unpacks to more than {limit} bytes")
        .help("unpack it by hand, or use parquet");

    /// An error: the contents of a file need more memory than is left.
    fn too_little_memory(path: &Path, limit: u64)
        = data(codes::TOO_LARGE, path, "the file needs more memory than the {limit} bytes that remain")
        .help("allow more with `--max-memory`, or read fewer rows or columns");
}

/// Returns whether an error reports that there is too little memory.
pub(crate) fn is_too_large(fault: &Diagnostic) -> bool {
    std::ptr::eq(fault.code, &codes::TOO_LARGE)
}

reports! {
    /// An error: a text is not UTF-8.
    fn not_utf8(at: At<'_>)
        = data(codes::NOT_UTF8, at, "the text is not UTF-8")
        .help("save the file with the encoding UTF-8");

    /// An error: a file does not have rows, or does not have columns.
    fn no_rows(path: &Path, what: &str)
        = data(codes::NO_ROWS, path, "the file has no {what}")
        .help("a table needs a header line, at least one column and at least one row");

    /// An error: a file has no bytes.
    fn empty_file(path: &Path)
        = data(codes::NO_ROWS, path, "the file is empty")
        .help("write or download the file again, or name another file");

    /// An error: an array has no rows. The first axis of an array runs over the rows.
    fn no_rows_in_array(path: &Path, shape: &[usize])
        let text = match shape {
            [] => "the array is a single number, without an axis of rows".to_owned(),
            _ => format!("the array has the shape {}, so it is empty", tuple(shape)),
        };
        = data(codes::NO_ROWS, path, "{text}")
        .help("the length of the first axis of an array is the number of rows: write an array with at least one row");
}

/// Writes a shape as Python does: `(40, 1)`, `(40,)`.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [single] => format!("({single},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

reports! {
    /// An error: a row has a different number of cells than the header.
    fn ragged(at: At<'_>, expected: usize, actual: usize)
        = data(codes::RAGGED, at, "expected {expected} cells as in the header, found {actual}")
        .help(match actual > expected {
            true => "a cell that contains a comma needs double quotes around it",
            false => "put a comma between any two cells, even if a cell is empty",
        });

    /// An error: the name of a column is empty or occurs twice.
    fn bad_name(at: At<'_>, name: &str)
        let message = match name {
            "" => "the column has no name".to_owned(),
            _ => format!("two columns are named `{}`", shown(name)),
        };
        = data(codes::DUPLICATE_NAME, at, "{message}")
        .help("give every column a name of its own");

    /// An error: the first column does not have a name. pandas writes such a column as an index.
    fn index_column(at: At<'_>)
        = data(codes::DUPLICATE_NAME, at, "the first column has no name")
        .help("if pandas wrote an index, leave it out: `to_csv(\"file.csv\", index=False)`");

    /// An error: a comment stands above the header.
    fn comment_line(path: &Path)
        = data(codes::NO_HEADER, At::row(path, 1), "expected a header line with column names, found a comment")
        .help("delete the lines above the names of the columns, such as those that start with `#`");

    /// An error: the header line consists of numbers.
    fn no_header(path: &Path)
        = data(codes::NO_HEADER, At::row(path, 1), "expected a header line with column names, found numbers")
        .help("put the names of the columns into the first line");

    /// An error: a cell is empty or null.
    fn missing_value(at: At<'_>, name: &str)
        = data(codes::MISSING_VALUE, at, "expected a value, found none")
        .label("column `{name}`")
        .help("drop the row or fill in a value; missing data are not supported");

    /// An error: a mark for a missing value, such as `NA`, is the first cell of a column.
    fn missing_mark(at: At<'_>, name: &str, text: &str)
        = data(codes::MISSING_VALUE, at, "expected a value, found `{text}`, which marks a missing value")
        .label("column `{name}`")
        .help("drop the row or fill in a value; missing data are not supported");
}

/// Returns whether the error reports a missing value.
pub fn is_missing_value(fault: &Diagnostic) -> bool {
    std::ptr::eq(fault.code, &codes::MISSING_VALUE)
}

/// Extends the diagnostic about one empty cell so that it reports all empty cells of the column. `count` is the number of
/// empty cells, and `read` is the number of rows
/// that were read.
pub fn missing_values(fault: Diagnostic, first: &[usize], (count, read): (usize, usize)) -> Diagnostic {
    let rows: Vec<String> = first.iter().map(usize::to_string).collect();
    let message = format!(
        "expected a value in every row, found none in {count} of {read} rows: {}, ..",
        rows.join(", ")
    );
    Diagnostic { message, ..fault }
}

/// Returns the row and the column of an error. Errors are sorted by this pair.
pub fn place_in_file(fault: &Diagnostic) -> (usize, usize) {
    match &fault.at {
        Place::File { row, column, .. } => (*row, *column),
        Place::Span(_) | Place::Nowhere => (0, 0),
    }
}

reports! {
    /// An error: a cell is NaN or infinite.
    fn not_finite(at: At<'_>, name: &str, text: &str)
        = data(codes::NOT_FINITE, at, "expected a finite number, found `{}`", shown(text))
        .label("column `{name}`")
        .help("drop the row or fill in a value; missing data are not supported");

    /// An error: an element of an array is NaN or infinite. `index` contains its indices, counted from 0. The first axis runs over the rows.
    fn not_finite_at(path: &Path, index: &[usize], value: f64)
        let row = index.first().map_or(0, |row| row + 1);
        = data(codes::NOT_FINITE, At::row(path, row), "expected a finite number, found `{value}`")
        .label("element {index:?} of the array, counted from 0")
        .help("leave the row out or fill in a value; missing data are not supported");

    /// An error: a scaled and standardised value is too large for the precision of a run. For inputs,
    /// the square of the value is too large.
    fn too_large(at: At<'_>, name: &str, value: f64, precision: &str, is_output: bool)
        let what = if is_output { "a value" } else { "the square of a value" };
        = data(codes::NOT_FINITE, at, "{what} that the model reads as {} is too large for `{precision}`", exact(value))
        .label("column `{name}`")
        .help("drop the row or correct the value; standardise columns of large numbers, or divide them in the data item");

    /// An error: a cell in a column of numbers has text.
    fn not_a_number(at: At<'_>, name: &str, text: &str)
        = data(codes::NOT_A_NUMBER, at, "expected a number, found `{}`", shown(text))
        .label("column `{name}`");

    /// An error: the bytes of a file do not have the form that the file format requires.
    fn malformed(at: At<'_>, format: &str, detail: &str)
        = data(codes::MALFORMED, at, "not a valid {format} file: {}", shown_long(detail))
        .help(match detail.contains("between cells") {
            true => "write the table with commas and decimal points: in Python, `pandas.read_csv(file, sep=None, engine=\"python\").to_csv(new, index=False)`",
            false => "check that the file is whole and that the program names the right format",
        });
}

fn shown_long(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(200)
        .collect()
}

reports! {
    /// An error: the length of a file differs from the length that its header states.
    fn wrong_length(path: &Path, expected: &str, actual: usize)
        = data(codes::WRONG_LENGTH, path, "the header states {expected} bytes of data, found {actual}")
        .help("the file is damaged or truncated: download or write it again");

    /// An error: the element type of a file is not supported.
    fn unsupported(at: At<'_>, what: &str, supported: &str)
        = data(codes::UNSUPPORTED, at, "{what} cannot be read")
        .help("use {supported}");

    /// An error: a Parquet file is compressed with an unsupported codec.
    fn unknown_codec(path: &Path, codec: &str)
        = data(codes::UNSUPPORTED, path, "Parquet files that are compressed with {codec} cannot be read")
        .help("write the file with Snappy, gzip, LZ4 or no compression: `write_parquet(.., compression=\"snappy\")` in Polars, `to_parquet(..)` in pandas");

    /// An error: a JSON file is not an object of scalars and arrays.
    fn bad_json(path: &Path, place: &str, message: &str)
        = data(codes::BAD_JSON, path, "{message} at `{place}`")
        .help("the file must be one object whose values are numbers, text, or rectangular arrays");

    /// An error: a list does not have the same length as other lists on the same level.
    fn ragged_json(path: &Path, place: &str, expected: usize, actual: usize)
        = data(codes::BAD_JSON, path, "expected {expected} elements at `{place}`, found {actual}")
        .help("arrays must be rectangular");

    /// An error: a result file cannot be written.
    fn unwritable(path: &Path, error: &std::io::Error)
        = data(codes::UNWRITABLE, path, "cannot write the file: {error}")
        .help("check that the folder exists, that you may write there, and that the disk is not full");
}
