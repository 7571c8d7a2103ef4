//! Stores a column of a CSV file while the file is read.

use super::Reading;
use super::marks::{is_missing_number, is_missing_text};
use crate::diagnostics::{self, At};
use crate::levels::Levels;
use crate::table::ArrayValues;
use bnnc_base::diagnostic::Diagnostic;
use std::path::Path;

/// The words for false and true, with the integers that replace them. A column is replaced only if
/// all its cells are such words.
const TRUTH: &[(&str, i64)] = &[
    ("False", 0),
    ("false", 0),
    ("FALSE", 0),
    ("True", 1),
    ("true", 1),
    ("TRUE", 1),
];

/// A column to which cells are being added. The first cell that does not mark a missing value
/// decides whether the column holds numbers or text.
pub(super) enum Column {
    /// A column that does not have cells yet. Memory will be reserved for this number of rows.
    Unknown(usize),
    Int(Vec<i64>),
    Real(Vec<f64>),
    Text(Levels),
    /// A column that is not read.
    LeftOut,
}

impl Column {
    /// Adds a cell. If missing values are allowed, a mark such as `NA` in a text column is a missing
    /// value; otherwise it is an ordinary string.
    ///
    /// # Errors
    /// Fails if the cell is not a value of the column, or needs more memory than is left.
    pub(super) fn push(
        &mut self,
        at: At<'_>,
        name: &str,
        (cell, reading): (&[u8], &Reading),
    ) -> Result<(), Diagnostic> {
        if matches!(self, Column::LeftOut) {
            return Ok(());
        }
        let text = std::str::from_utf8(cell)
            .map_err(|_| diagnostics::not_utf8(at))?
            .trim();
        if text.is_empty() {
            return Err(diagnostics::missing_value(at, name));
        }
        if let Column::Text(levels) = self {
            if reading.allows_gaps() && is_missing_text(text) {
                return Err(diagnostics::missing_mark(at, name, text));
            }
            return reading.take(at.path, levels.push(text));
        }
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(value), _) => return self.push_int(value, (at.path, reading)),
            (_, Ok(value)) if value.is_finite() => {
                let expected = self.expected();
                let reals = self.reals();
                reading.grow(at.path, reals, expected)?;
                reals.push(value);
            }
            (_, Ok(_)) => return Err(diagnostics::not_finite(at, name, text)),
            (_, Err(_)) if is_missing_number(text) => return Err(diagnostics::missing_mark(at, name, text)),
            (_, Err(_)) if matches!(self, Column::Unknown(_)) => {
                let mut levels = Levels::default();
                reading.take(at.path, levels.push(text))?;
                *self = Column::Text(levels);
            }
            (_, Err(_)) => {
                return Err(diagnostics::not_a_number(at, name, text)
                    .help("the first row determines the type: a column that starts with a number must hold only numbers"));
            }
        }
        Ok(())
    }

    fn push_int(&mut self, value: i64, (path, reading): (&Path, &Reading)) -> Result<(), Diagnostic> {
        match self {
            Column::Unknown(rows) => {
                let mut values = Vec::new();
                reading.grow(path, &mut values, *rows)?;
                values.push(value);
                *self = Column::Int(values);
            }
            Column::Int(values) => {
                reading.grow(path, values, 0)?;
                values.push(value);
            }
            Column::Real(values) => {
                reading.grow(path, values, 0)?;
                values.push(value as f64);
            }
            Column::Text(_) | Column::LeftOut => unreachable!("these take any cell"),
        }
        Ok(())
    }

    /// Returns the number of rows for which an empty column needs memory.
    fn expected(&self) -> usize {
        match self {
            Column::Unknown(rows) => *rows,
            Column::Int(_) | Column::Real(_) | Column::Text(_) | Column::LeftOut => 0,
        }
    }

    /// Releases the memory that was reserved for more rows than the file has.
    pub(super) fn fit(&mut self, reading: &Reading) {
        match self {
            Column::Int(values) => reading.fit(values),
            Column::Real(values) => reading.fit(values),
            Column::Unknown(_) | Column::Text(_) | Column::LeftOut => {}
        }
    }

    /// Returns the elements as reals. If all elements so far are integers, they are first converted
    /// to reals.
    fn reals(&mut self) -> &mut Vec<f64> {
        let so_far = match self {
            // The two element types have the same size, so the conversion reuses the allocation.
            Column::Int(values) => std::mem::take(values)
                .into_iter()
                .map(|value| value as f64)
                .collect(),
            Column::Real(values) => std::mem::take(values),
            Column::Unknown(_) | Column::Text(_) | Column::LeftOut => Vec::new(),
        };
        *self = Column::Real(so_far);
        match self {
            Column::Real(values) => values,
            Column::Unknown(_) | Column::Int(_) | Column::Text(_) | Column::LeftOut => {
                unreachable!("assigned above")
            }
        }
    }

    /// Returns the elements. If all cells are `true` or `false`, the column becomes numbers. A
    /// column that is known to hold text stays text.
    pub(super) fn finish(self, is_text: bool) -> ArrayValues {
        match self {
            Column::Unknown(_) | Column::LeftOut => ArrayValues::Int(Vec::new()),
            Column::Int(values) => ArrayValues::Int(values),
            Column::Real(values) => ArrayValues::Real(values),
            Column::Text(levels) if is_text => levels.finish(),
            Column::Text(levels) => truth(levels.finish()),
        }
    }
}

/// Converts a column that holds only the words `true` and `false` to 1 and 0, as in a JSON file.
/// Other columns are returned unchanged.
fn truth(values: ArrayValues) -> ArrayValues {
    let ArrayValues::Level { codes, levels } = values else {
        return values;
    };
    let number = |level: &String| TRUTH.iter().find(|(word, _)| word == level);
    let numbers: Option<Vec<i64>> = levels
        .iter()
        .map(|level| number(level).map(|(_, value)| *value))
        .collect();
    match numbers {
        Some(numbers) => ArrayValues::Int(codes.iter().map(|code| numbers[*code as usize]).collect()),
        None => ArrayValues::Level { codes, levels },
    }
}
