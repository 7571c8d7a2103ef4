//! Reads comma-separated values. A file has a header line, followed by rows of decimal numbers or
//! text.

use super::column::Column;
use super::opening::{MARK, OpeningMarks};
use super::spellings::Spellings;
use super::{Parsed, Reading, bytes};
use crate::diagnostics::{self, At, Faults};
use crate::levels::Levels;
use crate::table::{Array, ArrayValues, Jump};
use bnnc_base::diagnostic::Diagnostic;
use csv::{ByteRecord, ReaderBuilder};
use std::collections::HashSet;
use std::path::Path;

/// The line number of the first row, if no blank line stands before this row. The header is line 1.
const FIRST_ROW: usize = 2;

/// Reading stops after this number of errors.
const MOST_FAULTS: usize = 10;

/// If a column has more empty cells than this, one diagnostic reports all of them. If a column has
/// at most this number of empty cells, each of the cells has its own diagnostic.
const FEW_EMPTY: usize = 3;

/// Reads a CSV file.
pub(super) fn read(path: &Path, _: Option<&str>, reading: &Reading) -> Result<Parsed, Faults> {
    let text = bytes(path, reading)?;
    let parsed = parsed(path, &text, reading)?;
    reading.free(text.len());
    Ok(parsed)
}

/// Reads the columns of a CSV file whose bytes are in memory.
fn parsed(path: &Path, bytes: &[u8], reading: &Reading) -> Result<Parsed, Faults> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text);
    let mut record = ByteRecord::new();
    let mut last = None;
    if !next(path, &mut reader, &mut record)? {
        return Err(vec![diagnostics::no_rows(path, "columns")]);
    }
    let names = counted_header(path, &record, reading)?;
    // Memory is reserved for this number of rows. Each cell takes at least two bytes of the file,
    // so the size of the file limits the number of rows. Without this limit, gigabytes would be
    // reserved for a file with many names in the header and many blank lines below it.
    let lines = lines(text);
    let rows = lines.min(text.len() / (2 * names.len()) + 1);
    let texts: Vec<bool> = names.iter().map(|name| reading.is_text(name)).collect();
    let column = |name: &String| GrowingColumn::new(name, rows, reading);
    let mut columns: Vec<GrowingColumn> = names.iter().map(column).collect();
    let (mut read, mut jumps) = (0, Vec::new());
    let mut faults = Vec::new();
    while faults.len() < MOST_FAULTS && next(path, &mut reader, &mut record)? {
        let row = line(text, &record);
        last = record.position().map(|position| (position.byte() as usize, row));
        let lines = row.saturating_sub(FIRST_ROW + read);
        if jumps.last().map_or(0, |last: &Jump| last.lines) < lines {
            reading.grow(path, &mut jumps, 0).map_err(|fault| vec![fault])?;
            jumps.push(Jump { row: read, lines });
        }
        if record.len() != names.len() && names[0].starts_with('#') && faults.is_empty() {
            return Err(vec![diagnostics::comment_line(path)]);
        }
        if record.len() != names.len() {
            faults.push(diagnostics::ragged(
                At { path, row, column: 0 },
                names.len(),
                record.len(),
            ));
            continue;
        }
        read += 1;
        for (i, (column, cell)) in columns.iter_mut().zip(&record).enumerate() {
            let at = At {
                path,
                row,
                column: i + 1,
            };
            match column.push(at, &names[i], cell, read - 1, reading) {
                Err(fault) if diagnostics::is_too_large(&fault) => return Err(vec![fault]),
                pushed => faults.extend(pushed.err()),
            }
        }
    }
    columns.iter_mut().for_each(GrowingColumn::end);
    faults.extend(last.and_then(|last| unclosed(path, text, last)));
    if faults.len() >= MOST_FAULTS
        && let Some(last) = faults.pop()
    {
        faults.push(last.note("the rest of the file was not checked"));
    }
    let (columns, empty): (Vec<(Column, Spellings)>, Vec<Empty>) = columns
        .into_iter()
        .map(|column| ((column.column, column.spellings), column.empty))
        .unzip();
    faults.extend(empty.into_iter().flat_map(|empty| empty.reported(read)));
    if !faults.is_empty() {
        faults.sort_by_key(diagnostics::place_in_file);
        return Err(faults);
    }
    if read == 0 {
        return Err(vec![diagnostics::no_rows(path, "rows")]);
    }
    let arrays = arrays_of(names, columns, (&texts, reading));
    Ok(Parsed {
        first_row: FIRST_ROW,
        arrays,
        rows: read,
        jumps,
    })
}

/// Returns whether a rejected cell stands for a missing value. Such a cell is empty, or contains
/// `NaN` or a mark such as `NA`.
fn is_gap(fault: &Diagnostic, cell: &[u8]) -> bool {
    diagnostics::is_missing_value(fault) || cell.trim_ascii().eq_ignore_ascii_case(b"nan")
}

/// Returns the columns that were read as arrays with names.
fn arrays_of(
    names: Vec<String>,
    columns: Vec<(Column, Spellings)>,
    (texts, reading): (&[bool], &Reading),
) -> Vec<Array> {
    let all = names.into_iter().zip(columns.into_iter().zip(texts));
    let read = all.filter(|(_, ((column, _), _))| !matches!(column, Column::LeftOut));
    let array = |(name, ((mut column, spellings), is_text)): (String, ((Column, Spellings), &bool))| {
        column.fit(reading);
        let is_of_text = matches!(column, Column::Text(_));
        let values = reading.filled(&name, column.finish(*is_text));
        let words = is_of_text && !values.is_text();
        // Spellings matter only if all values are integers.
        let spellings = spellings
            .finish()
            .filter(|_| matches!(values, ArrayValues::Int(_)));
        Array {
            spellings,
            ..Array::column(name, values).with_words(words)
        }
    };
    read.map(array).collect()
}

/// Returns the number of lines that end with `\n`, `\r\n` or `\r`.
fn lines(text: &[u8]) -> usize {
    let ends = |(at, byte): (usize, &u8)| match byte {
        b'\n' => true,
        b'\r' => text.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    text.iter().enumerate().filter(|place| ends(*place)).count()
}

fn next(path: &Path, reader: &mut csv::Reader<&[u8]>, record: &mut ByteRecord) -> Result<bool, Faults> {
    reader
        .read_byte_record(record)
        .map_err(|e| vec![diagnostics::malformed(At::file(path), "csv", &e.to_string())])
}

/// Returns the line number of a record's first byte. The blank lines before the record are counted,
/// as in an editor.
fn line(text: &[u8], record: &ByteRecord) -> usize {
    let Some(position) = record.position() else {
        return 0;
    };
    let start = (position.byte() as usize).min(text.len());
    let blank = text[start..]
        .iter()
        .take_while(|byte| matches!(byte, b'\n' | b'\r'));
    position.line() as usize + blank.filter(|&&byte| byte == b'\n').count()
}

/// Reports a quote that is never closed, because all rows below it become part of one cell. Only
/// the last record of a file can have such a quote. The arguments `start` and `row` are the first
/// byte and the line of this record. To find an open quote, a line is appended to the record. The
/// quote is open if the appended line does not become a separate record.
fn unclosed(path: &Path, text: &[u8], (start, row): (usize, usize)) -> Option<Diagnostic> {
    let longer = [text.get(start..)?, b"\n0\n"].concat();
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(&*longer);
    let is_open = reader.byte_records().count() == 1;
    let detail = "a quote that opens in this row is never closed";
    is_open.then(|| diagnostics::malformed(At { path, row, column: 0 }, "csv", detail))
}

/// Returns the names of the columns. First counts the memory that the names and the columns will
/// need.
fn counted_header(path: &Path, record: &ByteRecord, reading: &Reading) -> Result<Vec<String>, Faults> {
    // Each column needs memory for its name, for a copy of the name in the set of known names, and
    // for its elements.
    let column_bytes = 2 * size_of::<String>() + size_of::<GrowingColumn>();
    let bytes = record.len().saturating_mul(column_bytes) + record.as_slice().len();
    reading.take(path, bytes).map_err(|fault| vec![fault])?;
    header(path, record)
}

fn header(path: &Path, record: &ByteRecord) -> Result<Vec<String>, Faults> {
    let mut names: Vec<String> = Vec::new();
    // A name is looked up in a set, in constant time. With linear searches, 40,000 columns would be slow.
    let mut known = HashSet::new();
    let mut faults = Vec::new();
    for (i, cell) in record.iter().enumerate() {
        let at = At {
            path,
            row: 1,
            column: i + 1,
        };
        match std::str::from_utf8(cell).map(str::trim) {
            Err(_) => faults.push(diagnostics::not_utf8(at)),
            Ok("") if i == 0 && record.len() > 1 => faults.push(diagnostics::index_column(at)),
            Ok(name) if name.is_empty() || !known.insert(name.to_owned()) => {
                faults.push(diagnostics::bad_name(at, name));
            }
            Ok(name) => names.push(name.to_string()),
        }
    }
    if faults.is_empty()
        && names
            .iter()
            .all(|name| name.parse::<f64>().is_ok_and(f64::is_finite))
    {
        faults.push(diagnostics::no_header(path));
    }
    let foreign = [("semicolons", ';'), ("tabs", '\t')];
    if let [only] = names.as_slice()
        && let Some((separator, _)) = foreign.iter().find(|(_, c)| only.contains(*c))
    {
        let detail = format!("expected commas between cells, found {separator}");
        faults.push(diagnostics::malformed(
            At {
                path,
                row: 1,
                column: 0,
            },
            "csv",
            &detail,
        ));
    }
    if faults.is_empty() { Ok(names) } else { Err(faults) }
}

/// A column while the file is read.
struct GrowingColumn {
    column: Column,
    empty: Empty,
    opening: OpeningMarks,
    spellings: Spellings,
}

impl GrowingColumn {
    /// Creates a column without cells. Memory will be reserved for `rows` rows.
    fn new(name: &str, rows: usize, reading: &Reading) -> GrowingColumn {
        GrowingColumn {
            column: match reading.is_text(name) {
                _ if !reading.reads(name) => Column::LeftOut,
                true => Column::Text(Levels::default()),
                false => Column::Unknown(rows),
            },
            empty: Empty::default(),
            opening: OpeningMarks::default(),
            spellings: Spellings::default(),
        }
    }

    /// Adds the cell at `at`, which belongs to the row `row` of the table. Missing values are recorded
    /// and are not errors.
    fn push(
        &mut self,
        at: At<'_>,
        name: &str,
        cell: &[u8],
        row: usize,
        reading: &Reading,
    ) -> Result<(), Diagnostic> {
        if self.opening.keep(&self.column, cell, (at.row, row)) {
            // If there is too little memory for the mark, the error is reported at the next row.
            let _ = reading.take(at.path, MARK);
            return Ok(());
        }
        for mark in self.opening.settle(Some(cell), &mut self.column) {
            if !reading.gap(name, mark.row) {
                let at = At { row: mark.line, ..at };
                let fault = diagnostics::missing_mark(at, name, &mark.text);
                self.empty.push(mark.line, fault);
            }
        }
        match self.column.push(at, name, (cell, reading)) {
            Err(fault) if is_gap(&fault, cell) && reading.gap(name, row) => Ok(()),
            Err(fault) if diagnostics::is_missing_value(&fault) => {
                self.empty.push(at.row, fault);
                Ok(())
            }
            Ok(()) => {
                if let Column::Int(values) = &self.column {
                    self.spellings.add(cell, values);
                }
                Ok(())
            }
            pushed => pushed,
        }
    }

    /// Ends the column. If all of its cells are marks, the marks become texts.
    fn end(&mut self) {
        self.opening.settle(None, &mut self.column);
    }
}

/// The empty cells of a column.
#[derive(Default)]
struct Empty {
    count: usize,
    rows: Vec<usize>,
    first: Vec<Diagnostic>,
}

impl Empty {
    fn push(&mut self, row: usize, fault: Diagnostic) {
        self.count += 1;
        // Marks that precede the first value of the column may be reported only after later empty cells.
        let at = self.rows.partition_point(|known| *known < row);
        self.rows.insert(at, row);
        self.first.insert(at, fault);
        self.rows.truncate(FEW_EMPTY);
        self.first.truncate(FEW_EMPTY);
    }

    /// If a column has few empty cells, returns one diagnostic per empty cell. Otherwise, returns a
    /// single diagnostic for all of them.
    fn reported(mut self, read: usize) -> Vec<Diagnostic> {
        if self.count > FEW_EMPTY {
            self.first.truncate(1);
        }
        let all = |fault| match self.count > FEW_EMPTY {
            true => diagnostics::missing_values(fault, &self.rows, (self.count, read)),
            false => fault,
        };
        self.first.into_iter().map(all).collect()
    }
}
