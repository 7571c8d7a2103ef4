//! Readers of data files, with one module per format. All readers return arrays with names.

mod cifar;
mod column;
mod csv;
mod idx;
mod images;
mod json;
mod marks;
mod npy;
mod open;
mod opening;
mod parquet;
mod reading;
mod spellings;

use crate::diagnostics::{self, Faults};
use crate::file;
use crate::table::{Array, ArrayValues, Jump, Table};
use bnnc_abi::data::Format;
use bnnc_base::diagnostic::Diagnostic;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use marks::is_missing_text;
pub(crate) use open::bytes;
pub use reading::{Gaps, Reading};

/// The name of the field that holds the inputs in `idx` and `npy` data.
pub const INPUTS: &str = "inputs";
/// The name of the field that holds the target in `idx` and `npy` data.
pub const TARGET: &str = "target";

/// The contents of a file that consists of columns or of named arrays.
struct Parsed {
    /// The number that messages give to the first row of the file.
    first_row: usize,
    arrays: Vec<Array>,
    /// The number of rows.
    rows: usize,
    /// The lines of the file that are not rows.
    jumps: Vec<Jump>,
}

impl Parsed {
    /// Returns a file whose lines are all rows, so that row numbers equal line numbers.
    fn plain(arrays: Vec<Array>, rows: usize) -> Parsed {
        Parsed {
            first_row: 1,
            arrays,
            rows,
            jumps: Vec::new(),
        }
    }
}

/// The shape and the elements of an array.
type ShapedValues = (Vec<usize>, ArrayValues);

/// A reader for one of two files that belong together. It returns the shape and the elements of the array in the file.
type Half = fn(&Path, &[u8]) -> Result<ShapedValues, Diagnostic>;

/// The reader of a format.
enum Reader {
    /// A reader for formats with one file per table. The second argument is the name of the target;
    /// `None` if the name is not known.
    Table(fn(&Path, Option<&str>, &Reading) -> Result<Parsed, Faults>),
    /// A reader for formats with two files per table: one of inputs, and one of targets.
    Pair(Half),
    /// A reader for formats with the inputs and the targets in one file or in one folder.
    Both(fn(&Path, &Reading) -> Result<Table, Faults>),
}

fn reader(format: Format) -> Reader {
    match format {
        Format::Cifar => Reader::Both(cifar::read),
        Format::Csv => Reader::Table(csv::read),
        Format::Idx => Reader::Pair(idx::array),
        Format::Images => Reader::Both(images::read),
        Format::Json => Reader::Table(json::read),
        Format::Npy => Reader::Pair(npy::array),
        Format::Parquet => Reader::Table(parquet::read),
    }
}

/// Reads files of one format as one table. The files are either shards of rows, or pairs of a file of inputs and a file of targets (`idx`, `npy`).
/// The names of shards may be patterns.
///
/// `target` is the name of the target; `None` if the name is not known. In JSON data, the length of
/// the array with this name is the number of examples.
pub fn read(
    format: Format,
    files: &[PathBuf],
    target: Option<&str>,
    reading: &Reading,
) -> Result<Table, Faults> {
    let mut tables = Vec::new();
    let mut faults = Vec::new();
    let per_table = files_per_table(format);
    let matching: Vec<PathBuf>;
    let files = match per_table {
        1 => {
            matching = files.iter().flat_map(|file| file::matching(file)).collect();
            &matching
        }
        _ => {
            let patterns = files.iter().filter(|file| file::is_pattern(file));
            let faults: Faults = patterns
                .map(|file| diagnostics::pattern_of_pairs(file, format.word()))
                .collect();
            if !faults.is_empty() {
                return Err(faults);
            }
            files
        }
    };
    if let (Some(first), false) = (files.first(), files.len().is_multiple_of(per_table)) {
        return Err(vec![diagnostics::file_count(first, format.word(), files.len())]);
    }
    for group in files.chunks(per_table) {
        match read_group(format, group, target, reading) {
            Ok(table) => {
                // The first file decides whether a column holds text. Later files do not change
                // this.
                let texts = table.arrays.iter().filter(|array| array.values.is_text());
                reading.know_texts(texts.map(|array| &array.name));
                tables.push(table);
            }
            Err(found) => faults.extend(found),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut tables = tables.into_iter();
    let first = tables.next().ok_or_else(|| vec![diagnostics::no_files("data")])?;
    tables.try_fold(first, Table::join)
}

/// Reads the rows to predict as one table. The rows come from the file with this name, or from all files that match the pattern. The columns of the
/// target may be missing.
pub fn read_new_rows(
    format: Format,
    file: &Path,
    target: Option<&str>,
    reading: &Reading,
) -> Result<Table, Faults> {
    let files = file::matching(file);
    let mut tables = files
        .iter()
        .map(|file| read_inputs(format, file, target, reading));
    let first = tables
        .next()
        .unwrap_or_else(|| Err(vec![diagnostics::no_files("data")]))?;
    tables.try_fold(first, |all, next| all.join(next?))
}

/// Reads one file of rows to predict, without targets. The columns of the target may be missing in
/// the file.
pub fn read_inputs(
    format: Format,
    file: &Path,
    target: Option<&str>,
    reading: &Reading,
) -> Result<Table, Faults> {
    match reader(format) {
        Reader::Table(read) => table(file, read(file, target, reading)?),
        Reader::Pair(read) => Ok(pair(file, half(read, file, reading)?, None)),
        Reader::Both(read) => read(file, reading),
    }
}

fn files_per_table(format: Format) -> usize {
    match reader(format) {
        Reader::Table(_) | Reader::Both(_) => 1,
        Reader::Pair(_) => 2,
    }
}

fn read_group(
    format: Format,
    group: &[PathBuf],
    target: Option<&str>,
    reading: &Reading,
) -> Result<Table, Faults> {
    match (reader(format), group) {
        (Reader::Table(read), [file]) => table(file, read(file, target, reading)?),
        (Reader::Pair(read), [inputs, targets]) => read_pair(read, inputs, targets, reading),
        (Reader::Both(_), [file]) => read_inputs(format, file, target, reading),
        (_, [file, ..]) => Err(vec![diagnostics::file_count(file, format.word(), group.len())]),
        (_, []) => Err(vec![diagnostics::no_files("data")]),
    }
}

/// Builds the table of a file that consists of columns or of named arrays.
fn table(file: &Path, parsed: Parsed) -> Result<Table, Faults> {
    let mut known = HashSet::new();
    let faults: Faults = parsed
        .arrays
        .iter()
        .filter(|array| !known.insert(array.name.as_str()))
        .map(|array| diagnostics::bad_name(diagnostics::At::file(file), &array.name))
        .collect();
    match faults.is_empty() {
        true => {
            Ok(Table::of_rows(file, parsed.first_row, (parsed.arrays, parsed.rows)).with_jumps(parsed.jumps))
        }
        false => Err(faults),
    }
}

fn read_pair(read: Half, inputs: &Path, targets: &Path, reading: &Reading) -> Result<Table, Faults> {
    let (x, y) = match (half(read, inputs, reading), half(read, targets, reading)) {
        (Ok(x), Ok(y)) => (x, y),
        (x, y) => return Err([x.err(), y.err()].into_iter().flatten().flatten().collect()),
    };
    let (expected, actual) = (x.0[0], y.0[0]);
    if expected != actual {
        let fault = diagnostics::row_counts((inputs, expected), (targets, actual));
        return Err(vec![fault]);
    }
    Ok(pair(inputs, x, Some(y)))
}

/// Builds a table of inputs and targets. The table stores the axes of the inputs.
fn pair(file: &Path, inputs: ShapedValues, targets: Option<ShapedValues>) -> Table {
    let axes = inputs.0[1..].to_vec();
    let targets = targets.map(|targets| flattened(TARGET, targets));
    let arrays = std::iter::once(flattened(INPUTS, inputs)).chain(targets);
    Table {
        axes,
        ..Table::new(file, 1, arrays.collect())
    }
}

/// Reads the shape and the elements of one file of a pair.
fn half(read: Half, file: &Path, reading: &Reading) -> Result<(Vec<usize>, ArrayValues), Faults> {
    let bytes = bytes(file, reading)?;
    let (shape, values) = read(file, &bytes).map_err(|fault| vec![fault])?;
    let taken = reading.take(file, values.element_bytes() * values.len());
    reading.free(bytes.len());
    taken.map_err(|fault| vec![fault])?;
    if shape.is_empty() || values.is_empty() {
        return Err(vec![diagnostics::no_rows_in_array(file, &shape)]);
    }
    Ok((shape, values))
}

/// Reshapes an array to one vector per example. A target that has one value per example remains a
/// scalar.
fn flattened(name: &str, (shape, values): (Vec<usize>, ArrayValues)) -> Array {
    let rows = shape[0];
    let inputs_or_rank = name == INPUTS || shape.len() > 1;
    let shape = if inputs_or_rank {
        vec![rows, shape[1..].iter().product()]
    } else {
        vec![rows]
    };
    Array {
        name: name.to_string(),
        per_example: true,
        shape,
        values,
        words: false,
        spellings: None,
    }
}
