//! The memory limit for reading the files of a data item, and the state that their readers share.

use crate::diagnostics;
use crate::table::ArrayValues;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rows without a value, by the name of the column. Rows are counted from 0 and in ascending
/// order.
pub type Gaps = BTreeMap<String, Vec<usize>>;

/// The number of elements for which an empty vector reserves space if no larger number is expected.
const FEWEST: usize = 16;

/// The limits and options for reading the files of a data item, and the results of reading.
#[derive(Debug)]
pub struct Reading {
    limit: u64,
    used: Cell<u64>,
    checksums: RefCell<BTreeMap<PathBuf, Checksum>>,
    texts: RefCell<Vec<String>>,
    /// The first file whose format has several kinds of records, and its kind.
    records: RefCell<Option<(PathBuf, &'static str)>>,
    /// The number of channels of all images, if it was known before they were read.
    all_channels: Option<usize>,
    /// The number of channels of the images that were read, by the name of the column.
    channels: RefCell<BTreeMap<String, usize>>,
    /// The names of the columns to read, or `None` to read all columns.
    only: Option<HashSet<String>>,
    /// The names of columns that the files contain but that were not read.
    unread: RefCell<BTreeSet<String>>,
    /// The missing values that were found, or `None` if missing values are errors.
    gaps: Option<RefCell<Gaps>>,
}

impl Reading {
    /// Creates the state for reading files with at most `limit` bytes of memory.
    pub fn within(limit: Option<u64>) -> Reading {
        Reading {
            limit: limit.unwrap_or(u64::MAX),
            used: Cell::new(0),
            checksums: RefCell::default(),
            texts: RefCell::default(),
            records: RefCell::default(),
            all_channels: None,
            channels: RefCell::default(),
            only: None,
            unread: RefCell::default(),
            gaps: None,
        }
    }

    /// Allows missing values. In the table, each missing value is replaced by zero, or by the first
    /// level of a text column. [`Reading::gaps`] returns the rows of the missing values.
    pub fn with_gaps(self) -> Reading {
        Reading {
            gaps: Some(RefCell::default()),
            ..self
        }
    }

    /// Returns the missing values that were found so far, by column. Columns without missing values
    /// are left out.
    pub fn gaps(&self) -> Gaps {
        self.gaps
            .as_ref()
            .map(|gaps| gaps.borrow().clone())
            .unwrap_or_default()
    }

    /// Returns whether missing values are allowed.
    pub(super) fn allows_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// Records a missing value. Returns whether missing values are allowed.
    pub(super) fn gap(&self, column: &str, row: usize) -> bool {
        if let Some(gaps) = &self.gaps {
            let mut gaps = gaps.borrow_mut();
            let rows = gaps.entry(column.to_owned()).or_default();
            // A mark before the first number of a column is recorded late.
            rows.insert(rows.partition_point(|known| *known < row), row);
        }
        self.gaps.is_some()
    }

    /// Returns the values of a column. Each missing value is replaced by a placeholder.
    pub(super) fn filled(&self, column: &str, values: ArrayValues) -> ArrayValues {
        match &self.gaps {
            Some(gaps) => with_gaps(values, gaps.borrow().get(column).map_or(&[], Vec::as_slice)),
            None => values,
        }
    }

    /// Restricts reading to the columns with these names. If `names` is `None`, all columns are read. The cells of
    /// other columns are not examined.
    pub fn with_only(self, names: Option<HashSet<String>>) -> Reading {
        Reading { only: names, ..self }
    }

    /// Returns whether a column is read.
    pub(super) fn reads(&self, column: &str) -> bool {
        let is_read = self.only.as_ref().is_none_or(|only| only.contains(column));
        if !is_read {
            self.unread.borrow_mut().insert(column.to_owned());
        }
        is_read
    }

    /// Returns the names of the columns that have been left out so far.
    pub fn unread(&self) -> Vec<String> {
        self.unread.borrow().iter().cloned().collect()
    }

    /// Treats columns with these names as text, even if their first row looks like a number.
    pub fn with_texts<'a>(self, names: impl Iterator<Item = &'a String>) -> Reading {
        self.know_texts(names);
        self
    }

    /// Treats columns with these names as text, in all files that are read after this call.
    pub(crate) fn know_texts<'a>(&self, names: impl Iterator<Item = &'a String>) {
        self.texts.borrow_mut().extend(names.cloned());
    }

    /// Returns whether a column is already known to hold text.
    pub(super) fn is_text(&self, column: &str) -> bool {
        self.texts.borrow().iter().any(|name| name == column)
    }

    /// Returns the first file whose format has several kinds of records, and its kind; `None` before
    /// such a file was read.
    pub(super) fn records(&self) -> Option<(PathBuf, &'static str)> {
        self.records.borrow().clone()
    }

    /// Stores the kind of records that a file contains, unless an earlier file has set the kind.
    pub(super) fn know_records(&self, path: &Path, kind: &'static str) {
        let mut records = self.records.borrow_mut();
        records.get_or_insert_with(|| (path.to_path_buf(), kind));
    }

    /// Sets the number of channels of all images: 1 for greyscale, or 3 for RGB. Without this call, the first
    /// file that is read sets this number for each column.
    pub(crate) fn with_channels(self, channels: Option<usize>) -> Reading {
        Reading {
            all_channels: channels,
            ..self
        }
    }

    /// Returns the number of channels of the images in a column, if it is known.
    pub(super) fn channels(&self, column: &str) -> Option<usize> {
        let known = self.channels.borrow().get(column).copied();
        known.or(self.all_channels)
    }

    /// Sets the number of channels of the images in a column, for all files that are read after this
    /// call.
    pub(super) fn know_channels(&self, column: &str, channels: usize) {
        self.channels.borrow_mut().insert(column.to_owned(), channels);
    }

    /// Records the checksum of a file's contents. The checksum is computed while the file is read.
    /// A pipe cannot be read again, and a file may change later.
    pub(super) fn keep(&self, path: &Path, contents: Checksum) {
        let mut checksums = self.checksums.borrow_mut();
        checksums.insert(path.to_path_buf(), contents);
    }

    /// Returns the checksums of the files that were read.
    pub(crate) fn checksums(&self) -> BTreeMap<PathBuf, Checksum> {
        self.checksums.borrow().clone()
    }

    /// Returns the number of bytes of memory that may still be used.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.used.get())
    }

    /// Adds to the count of the bytes that the contents of files take in memory.
    ///
    /// # Errors
    /// Fails if more bytes have been counted than the limit allows.
    pub(crate) fn take(&self, path: &Path, bytes: usize) -> Result<(), Diagnostic> {
        let used = self.used.get().saturating_add(bytes as u64);
        self.used.set(used);
        match used > self.limit {
            true => Err(diagnostics::too_little_memory(path, self.limit)),
            false => Ok(()),
        }
    }

    /// Reserves space for at least one more element in a vector. The memory is counted before it is
    /// reserved. An empty vector reserves space for `expected` elements, and a full vector doubles
    /// its capacity.
    ///
    /// # Errors
    /// Fails if the memory exceeds the limit, or if the system does not provide it.
    pub(super) fn grow<T>(
        &self,
        path: &Path,
        elements: &mut Vec<T>,
        expected: usize,
    ) -> Result<(), Diagnostic> {
        if elements.len() < elements.capacity() {
            return Ok(());
        }
        let left = self.left();
        let more = match elements.len() {
            0 => expected.max(FEWEST),
            length => length,
        };
        self.take(path, more.saturating_mul(size_of::<T>()))?;
        elements
            .try_reserve_exact(more)
            .map_err(|_| diagnostics::too_little_memory(path, left))
    }

    /// Releases memory that [`Reading::grow`] reserved for a vector, but that the vector's elements
    /// do not need.
    pub(super) fn fit<T>(&self, elements: &mut Vec<T>) {
        self.free(size_of::<T>() * (elements.capacity() - elements.len()));
        elements.shrink_to_fit();
    }

    /// Releases bytes of memory that were counted.
    pub(super) fn free(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes as u64));
    }
}

/// Returns the values with a placeholder inserted for each of these rows. The rows are in ascending
/// order. The placeholder is zero, or the first level of a text column. A text column without
/// levels becomes zeros.
fn with_gaps(values: ArrayValues, rows: &[usize]) -> ArrayValues {
    if rows.is_empty() {
        return values;
    }
    match values {
        ArrayValues::Level { levels, .. } if levels.is_empty() => ArrayValues::Int(vec![0; rows.len()]),
        ArrayValues::Byte(values) => ArrayValues::Byte(Arc::new(spread(Arc::unwrap_or_clone(values), rows))),
        ArrayValues::Int(values) => ArrayValues::Int(spread(values, rows)),
        ArrayValues::Real(values) => ArrayValues::Real(spread(values, rows)),
        ArrayValues::Level { codes, levels } => ArrayValues::Level {
            codes: spread(codes, rows),
            levels,
        },
    }
}

/// Inserts a zero for each row in `rows`, so that these rows of the result are zero. The row
/// numbers are in ascending order.
fn spread<T: Default>(elements: Vec<T>, rows: &[usize]) -> Vec<T> {
    let mut spread = Vec::with_capacity(elements.len() + rows.len());
    let mut elements = elements.into_iter();
    for row in rows {
        let before = row.saturating_sub(spread.len());
        spread.extend(elements.by_ref().take(before));
        spread.push(T::default());
    }
    spread.extend(elements);
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_stand_in_the_rows_without_values() {
        let filled = |rows: &[usize]| with_gaps(ArrayValues::Int(vec![7, 8]), rows);
        assert_eq!(filled(&[]), ArrayValues::Int(vec![7, 8]));
        assert_eq!(filled(&[0, 3]), ArrayValues::Int(vec![0, 7, 8, 0]));
        assert_eq!(filled(&[1, 2]), ArrayValues::Int(vec![7, 0, 0, 8]));
        let text = |codes: Vec<u32>, levels: &[&str]| ArrayValues::Level {
            codes,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        assert_eq!(
            with_gaps(text(vec![0, 1], &["a", "b"]), &[1]),
            text(vec![0, 0, 1], &["a", "b"])
        );
        assert_eq!(
            with_gaps(text(Vec::new(), &[]), &[0, 1]),
            ArrayValues::Int(vec![0, 0])
        );
    }
}
