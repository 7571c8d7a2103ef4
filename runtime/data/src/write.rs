//! Writes result files. While a file is written, it has a temporary name in the same folder. It is
//! renamed when it is complete.

mod pending;
pub mod png;
pub mod stan_csv;
pub mod zarr;

use crate::diagnostics;
use bnnc_base::diagnostic::Diagnostic;
use pending::Pending;
use std::io::{self, Read, Write};
use std::path::Path;

/// Writes a file atomically. A reader sees either the old content or the new content, but never a
/// part of the new content.
pub fn atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diagnostic> {
    written(path, Pending::create(path), fill)
}

fn written(
    path: &Path,
    file: io::Result<Pending>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diagnostic> {
    let written = file.and_then(|mut file| {
        fill(&mut file)?;
        file.finish()
    });
    written.map_err(|error| diagnostics::unwritable(path, &error))
}

/// Writes a file like [`atomically`], but replaces anything that already has its name. An existing
/// link is replaced, not followed.
pub fn in_place_of(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diagnostic> {
    written(path, Pending::in_place_of(path), fill)
}

/// Returns whether a file with this name exists and its content does not begin with `beginning`.
/// Such a file may be the user's work, so it must not be replaced.
pub fn holds_other_content(path: &Path, beginning: &[u8]) -> bool {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    let begins = || {
        let mut found = vec![0; beginning.len()];
        std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut found))?;
        Ok::<_, io::Error>(found == beginning)
    };
    is_file && !begins().unwrap_or(false)
}

/// A column of a result table.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultColumn {
    /// Integers, such as row numbers and classes.
    Int(Vec<i64>),
    /// Real numbers.
    Real(Vec<f64>),
    /// Texts, such as levels.
    Text(Vec<String>),
}

impl ResultColumn {
    /// Returns the number of cells.
    pub fn len(&self) -> usize {
        match self {
            ResultColumn::Int(values) => values.len(),
            ResultColumn::Real(values) => values.len(),
            ResultColumn::Text(values) => values.len(),
        }
    }

    /// Returns whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn cell(&self, row: usize) -> String {
        match self {
            ResultColumn::Int(values) => values[row].to_string(),
            ResultColumn::Real(values) => number(values[row]),
            ResultColumn::Text(values) => values[row].clone(),
        }
    }
}

/// Writes a table such as `predictions.csv`. If columns have different lengths, all are cut to the
/// shortest length.
pub fn csv(path: &Path, columns: &[(String, ResultColumn)]) -> Result<(), Diagnostic> {
    atomically(path, |writer| writer.write_all(csv_text(columns).as_bytes()))
}

/// Returns the text of a table, as [`csv()`] writes it.
pub fn csv_text(columns: &[(String, ResultColumn)]) -> String {
    let rows = columns.iter().map(|(_, column)| column.len()).min().unwrap_or(0);
    let mut table = ::csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = table.write_record(columns.iter().map(|(name, _)| name));
    for row in 0..rows {
        let _ = table.write_record(columns.iter().map(|(_, column)| column.cell(row)));
    }
    let bytes = table.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes an array of doubles as a NumPy file of version 1.0.
pub fn npy(path: &Path, sizes: &[usize], values: &[f64]) -> Result<(), Diagnostic> {
    let header = npy_header(sizes);
    atomically(path, |writer| {
        writer.write_all(&header)?;
        values
            .iter()
            .try_for_each(|value| writer.write_all(&value.to_le_bytes()))
    })
}

/// Returns the bytes that precede the values in a NumPy file. The values form an array of doubles.
pub fn npy_header(sizes: &[usize]) -> Vec<u8> {
    let sizes: String = sizes.iter().map(|size| format!("{size}, ")).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({sizes}), }}");
    // NumPy requires that the values start at a multiple of 64 bytes. Ten bytes precede the header,
    // and a newline ends it.
    let length = (header.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = length - 1).into_bytes());
    bytes
}

/// Returns the shortest text that reads back as the same number. The text is valid JSON. A number
/// that is not finite becomes `null`.
pub fn number(value: f64) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else {
        "null".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn numbers_read_back() {
        for value in [
            0.1,
            -0.0,
            1.0,
            1e300,
            5e-324,
            1.0 / 3.0,
            f64::MAX,
            123456789012345680.0,
        ] {
            let read: f64 = serde_json::from_str(&number(value)).unwrap();
            assert_eq!(read.to_bits(), value.to_bits(), "{}", number(value));
        }
        assert_eq!([f64::NAN, f64::INFINITY].map(number), ["null", "null"]);
    }

    #[test]
    fn a_table_is_written_whole_and_nothing_else_stays() {
        let folder = std::env::temp_dir().join(format!("bnnc-data-write-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("predictions.csv");
        let columns = [
            ("row".to_string(), ResultColumn::Int(vec![3, 5])),
            ("mean".to_string(), ResultColumn::Real(vec![0.1, -2.0])),
            (
                "class".to_string(),
                ResultColumn::Text(vec!["a,b".into(), "c".into()]),
            ),
        ];
        csv(&path, &columns).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "row,mean,class\n3,0.1,\"a,b\"\n5,-2.0,c\n"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        let fault = csv(&folder.join("no/folder.csv"), &columns).unwrap_err();
        assert_eq!(fault.code.id, "E0432");
        fs::remove_dir_all(&folder).unwrap();
    }
}
