//! Stores rows in the form that the model reads: a matrix of inputs, and fields that are found by name.

use crate::diagnostics::{self, At};
use crate::scaled::{InputValues, ScaledBytes};
use crate::standardise::Standardisation;
use crate::table::{self, Array, ArrayValues, Shard};
use bnnc_abi::data::LARGEST_INTEGER;
use bnnc_abi::manifest::Codes;
use bnnc_base::diagnostic::Diagnostic;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Some rows of a data item, prepared for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The number of rows.
    pub count: usize,
    /// The index of each row over all data files, from 0. Rows of test files are numbered after the
    /// rows of the data files.
    pub index: Vec<usize>,
    /// The number of input columns.
    pub width: usize,
    /// The inputs, `[count, width]`, scaled and standardised as the data item specifies.
    pub inputs: InputValues,
    /// The fields that hold one element per example.
    pub fields: Vec<RowField>,
    /// The rows of each data file. Messages use them to name the file of a row.
    pub(crate) shards: Vec<Shard>,
    /// The number that messages give to the first row of a file.
    pub(crate) first_row: usize,
    /// The names of columns that the file contains but that were not read. Messages use them to name the file
    /// of a row.
    pub(crate) unread: Vec<String>,
}

/// The values of one field in some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowField {
    /// The name of the field.
    pub name: String,
    /// The axes of one example.
    pub shape: Vec<usize>,
    /// The elements as in the file, before scaling and standardisation.
    pub values: ArrayValues,
    /// The factor that scales elements when they are read as reals.
    pub scale: f64,
    /// One standardisation per element of an example. Reals are standardised after they are
    /// multiplied by `scale`.
    pub standardisation: Vec<Standardisation>,
    /// The error to report if a program reads the field, or `None` if the field can be used.
    pub(crate) fault: Option<Box<Diagnostic>>,
}

impl RowField {
    pub(crate) fn new(
        array: &Array,
        values: ArrayValues,
        scale: f64,
        standardisation: Vec<Standardisation>,
    ) -> RowField {
        let (name, shape) = (array.name.clone(), array.axes().to_vec());
        RowField {
            name,
            shape,
            values,
            scale,
            standardisation,
            fault: None,
        }
    }

    /// Returns element `i` of all rows, scaled and standardised as the data item specifies.
    pub fn real(&self, i: usize) -> f64 {
        let map = self.standardisation.get(i % self.width().max(1));
        let map = map.unwrap_or(&Standardisation::IDENTITY);
        map.apply(self.values.real(i) * self.scale)
    }

    /// Returns the elements in the units of the model if they are bytes in memory. If `original` is true, the elements are those of the file,
    /// without scaling or standardisation.
    fn bytes(&self, original: bool) -> Option<ScaledBytes> {
        let ArrayValues::Byte(bytes) = &self.values else {
            return None;
        };
        let (scale, known) = match original {
            true => (1.0, &[][..]),
            false => (self.scale, &*self.standardisation),
        };
        let maps = (0..self.width()).map(|at| known.get(at).copied());
        let maps = maps.map(|map| map.unwrap_or(Standardisation::IDENTITY));
        Some(ScaledBytes::new(bytes.clone(), scale, maps.collect()))
    }

    /// Returns the number of elements per example.
    pub fn width(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Rows {
    /// Creates rows in memory. `inputs` is `[rows, width]`, and every field has one element per
    /// row.
    pub fn of(width: usize, inputs: Vec<f64>, fields: Vec<(String, ArrayValues)>) -> Rows {
        let of_fields = fields.first().map_or(0, |(_, values)| values.len());
        let count = inputs.len().checked_div(width).unwrap_or(of_fields);
        let field = |(name, values)| RowField {
            name,
            shape: Vec::new(),
            values,
            scale: 1.0,
            standardisation: Vec::new(),
            fault: None,
        };
        let nowhere = Shard {
            path: PathBuf::new(),
            start: 0,
            end: count,
            jumps: Vec::new(),
            files: None,
        };
        Rows {
            count,
            index: (0..count).collect(),
            width,
            inputs: InputValues::Real(inputs),
            fields: fields.into_iter().map(field).collect(),
            shards: vec![nowhere],
            first_row: 0,
            unread: Vec::new(),
        }
    }

    /// Returns an empty set of rows with the same number of inputs.
    pub fn none(&self) -> Rows {
        Rows::of(self.width, Vec::new(), Vec::new())
    }

    /// Returns the field of this name.
    pub fn field(&self, name: &str) -> Option<&RowField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the input vector of one row.
    pub fn input(&self, row: usize) -> Cow<'_, [f64]> {
        self.inputs.row(row, self.width)
    }

    /// Returns a field as reals, row by row, scaled and standardised as the data item specifies.
    pub fn reals(&self, name: &str) -> Result<Vec<f64>, Diagnostic> {
        let field = self.usable(name)?;
        if field.values.is_text() {
            return Err(diagnostics::text_column(&self.path(), name, None));
        }
        Ok((0..field.values.len()).map(|i| field.real(i)).collect())
    }

    /// Returns a field as it is in the file, without scaling or standardisation. An example is the
    /// target in original units.
    pub fn original(&self, name: &str) -> Result<Vec<f64>, Diagnostic> {
        let field = self.usable(name)?;
        Ok((0..field.values.len()).map(|i| field.values.real(i)).collect())
    }

    /// Returns a field that is stored as bytes, with the map to the units of the model, or to those of the file if `original` is true. Returns `None`
    /// for other fields.
    ///
    /// # Errors
    /// Fails if the rows do not have the field, or if the field cannot be used.
    pub fn bytes(&self, name: &str, original: bool) -> Result<Option<ScaledBytes>, Diagnostic> {
        Ok(self.usable(name)?.bytes(original))
    }

    /// Returns a field as integers, row by row: counts, classes, indices or the codes of levels. Integers are never standardised.
    pub fn ints(&self, name: &str) -> Result<Vec<i32>, Diagnostic> {
        let field = self.usable(name)?;
        let width = field.width().max(1);
        let convert = |i: usize| {
            let at = self.at(i / width);
            let value = integer(&field.values, i)
                .ok_or_else(|| diagnostics::not_an_integer(at, name, field.values.real(i)))?;
            let fits = value.unsigned_abs() <= LARGEST_INTEGER.unsigned_abs();
            let narrow = i32::try_from(value).ok().filter(|_| fits);
            narrow.ok_or_else(|| diagnostics::large_integer(at, name, value))
        };
        (0..field.values.len()).map(convert).collect()
    }

    /// Returns a field as positions along an axis of length `size`, row by row.
    pub fn positions(&self, name: &str, codes: &Codes, size: usize) -> Result<Vec<i32>, Diagnostic> {
        let field = self.usable(name)?;
        let width = field.width().max(1);
        let at = |i: usize| self.at(i / width);
        let levels = field.values.levels();
        let texts: HashMap<&str, i32> = match codes {
            Codes::Texts(all) => all.iter().map(String::as_str).zip(0..).collect(),
            Codes::Positions | Codes::Ids(_) => HashMap::new(),
        };
        // The ids of a run are sorted. If new rows contain further ids, these are appended, so the
        // ids may be unsorted. Unsorted ids are looked up in a map.
        let places: HashMap<i64, usize> = match codes {
            Codes::Ids(ids) if !ids.is_sorted() => ids.iter().copied().zip(0..).collect(),
            Codes::Ids(_) | Codes::Positions | Codes::Texts(_) => HashMap::new(),
        };
        let of_levels: Vec<Option<i32>> = levels
            .iter()
            .map(|level| texts.get(level.as_str()).copied())
            .collect();
        let position = |i: usize| match (codes, integer(&field.values, i)) {
            (_, None) => Err(diagnostics::not_an_integer(at(i), name, field.values.real(i))),
            (Codes::Positions, Some(value)) => {
                let inside = usize::try_from(value).is_ok_and(|value| value < size);
                let position = i32::try_from(value).ok().filter(|_| inside);
                position.ok_or_else(|| diagnostics::outside(at(i), name, value, size))
            }
            (Codes::Ids(ids), Some(value)) => {
                let position = match places.is_empty() {
                    true => ids.binary_search(&value).ok(),
                    false => places.get(&value).copied(),
                };
                let position = position.map(|position| position as i32);
                position
                    .ok_or_else(|| diagnostics::unseen_level(at(i), name, &value.to_string(), "new", None))
            }
            (Codes::Texts(_), Some(code)) => {
                let known = of_levels.get(code as usize).copied().flatten();
                let text = || {
                    levels
                        .get(code as usize)
                        .cloned()
                        .unwrap_or_else(|| code.to_string())
                };
                known.ok_or_else(|| diagnostics::unseen_level(at(i), name, &text(), "new", None))
            }
        };
        (0..field.values.len()).map(position).collect()
    }

    fn usable(&self, name: &str) -> Result<&RowField, Diagnostic> {
        let names = self.fields.iter().map(|field| field.name.as_str());
        let names = names.chain(self.unread.iter().map(String::as_str));
        let field = self
            .field(name)
            .ok_or_else(|| diagnostics::unknown_column(&self.path(), name, None, names))?;
        match &field.fault {
            Some(fault) => Err(fault.as_ref().clone()),
            None => Ok(field),
        }
    }

    /// Checks that the rows have values of this output. Other outputs depend on these values.
    ///
    /// # Errors
    /// Fails if the rows do not have the column of the output.
    pub fn check_output(&self, name: &str) -> Result<(), Diagnostic> {
        match self.field(name) {
            Some(_) => Ok(()),
            None => Err(diagnostics::absent_output(&self.path(), name)),
        }
    }

    fn path(&self) -> PathBuf {
        self.shards
            .first()
            .map(|shard| shard.path.clone())
            .unwrap_or_default()
    }

    /// For each row, returns the number that messages give to the row in its file. Returns `None` if the
    /// rows come from several files.
    pub fn numbers(&self) -> Option<Vec<usize>> {
        let places = (0..self.count).map(|row| self.place(row));
        let (paths, numbers): (Vec<&Path>, Vec<usize>) = places.unzip();
        paths.windows(2).all(|pair| pair[0] == pair[1]).then_some(numbers)
    }

    /// Returns the file of row `i`, and the number that messages give to the row in this file.
    pub fn place(&self, i: usize) -> (&Path, usize) {
        table::place_of(&self.shards, self.first_row, self.index[i])
    }

    /// Returns the place of row `i` of this part, for diagnostics.
    pub fn at(&self, i: usize) -> At<'_> {
        let (path, row) = self.place(i);
        At::row(path, row)
    }
}

/// Returns an element as an integer if it is a whole number, such as `3` or `3.0`.
fn integer(values: &ArrayValues, i: usize) -> Option<i64> {
    let whole = |real: f64| (real.fract() == 0.0 && real.abs() < 2f64.powi(53)).then_some(real as i64);
    values.int(i).or_else(|| whole(values.real(i)))
}
