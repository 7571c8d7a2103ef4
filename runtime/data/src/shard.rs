//! Finds the file of a row, and the number of the row in this file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The range of rows of a table that comes from one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// The path of the file.
    pub path: PathBuf,
    /// The position of the file's first row in the table.
    pub start: usize,
    /// The position in the table that follows the file's last row.
    pub end: usize,
    /// The places where the offset between row numbers and line numbers changes. Changes are caused by lines that do not start a row: blank
    /// lines, and lines inside quoted cells.
    pub jumps: Vec<Jump>,
    /// If each row comes from a file of its own, the file of each row. `path` is then the folder of these files.
    pub files: Option<Arc<[PathBuf]>>,
}

/// An offset between row numbers and line numbers. It applies from one row of a file to the next change of the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The index, within the file, of the first row with this offset.
    pub row: usize,
    /// The offset: the number of lines before this row that do not start a row.
    pub lines: usize,
}

impl Shard {
    /// Returns the number that messages give to a row of the table in this file. The file's first row has the number `first`.
    fn number(&self, row: usize, first: usize) -> usize {
        let row = row - self.start;
        let before = self.jumps.partition_point(|jump| jump.row <= row);
        row + first + before.checked_sub(1).map_or(0, |last| self.jumps[last].lines)
    }

    /// Returns the file of a row of the table, and the number of the row in this file. The number is 0 if the row is the whole file.
    fn place(&self, row: usize, first: usize) -> (&Path, usize) {
        match self.files.as_ref().and_then(|files| files.get(row - self.start)) {
            Some(file) => (file, 0),
            None => (&self.path, self.number(row, first)),
        }
    }
}

/// Returns the file of a row of the table, and the number of the row in this file.
pub(crate) fn place_of(shards: &[Shard], first_row: usize, row: usize) -> (&Path, usize) {
    match shards
        .iter()
        .find(|shard| (shard.start..shard.end).contains(&row))
    {
        Some(shard) => shard.place(row, first_row),
        None => (Path::new(""), 0),
    }
}
