//! Stores the marks (such as `NA`) at the beginning of a CSV column. Their meaning depends on the
//! first cell that is not a mark.

use super::column::Column;
use super::marks::{is_missing_number, is_missing_text};
use crate::levels::Levels;

/// An upper bound on the memory that a mark at the beginning of a column takes, in bytes.
pub(super) const MARK: usize = 2 * size_of::<OpeningMark>();

/// The marks at the beginning of a column whose type is not known yet.
#[derive(Default)]
pub(super) struct OpeningMarks {
    marks: Vec<OpeningMark>,
}

/// A mark at the beginning of a column.
pub(super) struct OpeningMark {
    /// The text of the cell.
    pub text: String,
    /// The number of the row in the file.
    pub line: usize,
    /// The index of the row in the table.
    pub row: usize,
}

impl OpeningMarks {
    /// Stores a cell if it is a mark and the type of its column is not known yet. Returns whether the
    /// cell was stored. `line` is the number of the row in the file, and `row` is its index in the table.
    pub(super) fn keep(&mut self, column: &Column, cell: &[u8], (line, row): (usize, usize)) -> bool {
        if !matches!(column, Column::Unknown(_)) {
            return false;
        }
        let text = std::str::from_utf8(cell).map(str::trim).unwrap_or_default();
        let is_kept = is_missing_number(text) && !is_missing_text(text);
        if is_kept {
            self.marks.push(OpeningMark {
                text: text.to_owned(),
                line,
                row,
            });
        }
        is_kept
    }

    /// Decides what the marks mean, and returns those that are missing values. `next` is the first
    /// other cell of the column, or `None` at the end of the file. Before a number, all marks are
    /// missing values. Otherwise they are texts, and the column becomes a column of texts.
    pub(super) fn settle(&mut self, next: Option<&[u8]>, column: &mut Column) -> Vec<OpeningMark> {
        if self.marks.is_empty() {
            return Vec::new();
        }
        let next = next.map(|cell| std::str::from_utf8(cell).map(str::trim).unwrap_or_default());
        if next.is_some_and(|next| next.is_empty() || is_missing_number(next)) {
            return Vec::new();
        }
        let marks = std::mem::take(&mut self.marks);
        if next.is_some_and(|next| next.parse::<f64>().is_ok()) {
            return marks;
        }
        let mut levels = Levels::default();
        for mark in &marks {
            levels.push(&mark.text);
        }
        *column = Column::Text(levels);
        Vec::new()
    }
}
