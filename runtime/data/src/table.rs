//! Named arrays, and tables that join the arrays of several files. Every reader returns named arrays.

use crate::diagnostics::{self, At, Faults};
use crate::inputs::{are_alike, of_shape};
use crate::metrics::extent;
use crate::read::INPUTS;
pub(crate) use crate::shard::place_of;
pub use crate::shard::{Jump, Shard};
use bnnc_abi::schema::{Field, FieldKind, word};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The elements of an array, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayValues {
    /// Unsigned bytes, such as pixels. Each takes one byte of memory. Clones share the bytes.
    Byte(Arc<Vec<u8>>),
    /// Integers of 64 bits.
    Int(Vec<i64>),
    /// Real numbers. All of them are finite.
    Real(Vec<f64>),
    /// Strings, stored as indices into the list of distinct strings (levels). Levels are in the order of first appearance.
    Level {
        /// For each element, the index of its string among the levels.
        codes: Vec<u32>,
        /// The distinct strings.
        levels: Vec<String>,
    },
}

impl ArrayValues {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            ArrayValues::Byte(values) => values.len(),
            ArrayValues::Int(values) => values.len(),
            ArrayValues::Real(values) => values.len(),
            ArrayValues::Level { codes, .. } => codes.len(),
        }
    }

    /// Returns the number of bytes of memory that an element takes.
    pub(crate) fn element_bytes(&self) -> usize {
        match self {
            ArrayValues::Byte(_) => 1,
            ArrayValues::Level { .. } => 4,
            ArrayValues::Int(_) | ArrayValues::Real(_) => 8,
        }
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the elements are strings.
    pub fn is_text(&self) -> bool {
        matches!(self, ArrayValues::Level { .. })
    }

    /// Returns the elements at these places. Levels keep their codes.
    pub fn select(&self, places: impl Iterator<Item = usize>) -> ArrayValues {
        match self {
            ArrayValues::Byte(all) => ArrayValues::Byte(Arc::new(places.map(|i| all[i]).collect())),
            ArrayValues::Int(all) => ArrayValues::Int(places.map(|i| all[i]).collect()),
            ArrayValues::Real(all) => ArrayValues::Real(places.map(|i| all[i]).collect()),
            ArrayValues::Level { codes, levels } => ArrayValues::Level {
                codes: places.map(|i| codes[i]).collect(),
                levels: levels.clone(),
            },
        }
    }

    /// Returns the levels of text, in the order of their codes; an empty list for numbers.
    pub(crate) fn levels(&self) -> &[String] {
        match self {
            ArrayValues::Level { levels, .. } => levels,
            ArrayValues::Byte(_) | ArrayValues::Int(_) | ArrayValues::Real(_) => &[],
        }
    }

    /// Returns the known levels, followed by the other levels of this array.
    pub(crate) fn levels_after(&self, known: &[String]) -> Vec<String> {
        let seen: HashSet<&String> = known.iter().collect();
        let new = self.levels().iter().filter(|level| !seen.contains(level));
        known.iter().chain(new).cloned().collect()
    }

    /// Returns element `i` as a real. A string is returned as its code.
    pub fn real(&self, i: usize) -> f64 {
        match self {
            ArrayValues::Byte(values) => f64::from(values[i]),
            ArrayValues::Int(values) => values[i] as f64,
            ArrayValues::Real(values) => values[i],
            ArrayValues::Level { codes, .. } => f64::from(codes[i]),
        }
    }

    /// Returns element `i` as an integer, or `None` for a real. A string is returned as its code.
    pub fn int(&self, i: usize) -> Option<i64> {
        match self {
            ArrayValues::Byte(values) => Some(i64::from(values[i])),
            ArrayValues::Int(values) => Some(values[i]),
            ArrayValues::Real(_) => None,
            ArrayValues::Level { codes, .. } => Some(i64::from(codes[i])),
        }
    }

    /// Returns the kind of the elements. For integers, the kind includes their range; for strings, their levels.
    pub fn kind(&self) -> FieldKind {
        match self {
            ArrayValues::Byte(values) => int_range(values.iter().map(|&value| i64::from(value))),
            ArrayValues::Int(values) => int_range(values.iter().copied()),
            ArrayValues::Real(_) => FieldKind::Real,
            ArrayValues::Level { levels, .. } => FieldKind::Levels(levels.clone()),
        }
    }

    /// Returns the distinct integers in ascending order. Returns `None` if the elements are not integers, or if every integer between the smallest
    /// and the largest occurs.
    pub fn distinct(&self) -> Option<Vec<i64>> {
        let FieldKind::Int(low, high) = self.kind() else {
            return None;
        };
        // If the integers are few and far apart, they are sorted.
        let span = high.checked_sub(low).and_then(|span| usize::try_from(span).ok());
        let span = span.filter(|span| *span <= 8 * self.len() + 256);
        let Some(span) = span else {
            let mut all: Vec<i64> = ints(self).collect();
            all.sort_unstable();
            all.dedup();
            return Some(all);
        };
        let mut occurs = vec![false; span + 1];
        ints(self).for_each(|value| occurs[(value - low) as usize] = true);
        let some = (low..=high).zip(&occurs).filter(|(_, occurs)| **occurs);
        match self.is_empty() || occurs.iter().all(|occurs| *occurs) {
            true => None,
            false => Some(some.map(|(value, _)| value).collect()),
        }
    }

    /// Returns the smallest and the largest real.
    fn extent(&self) -> Option<(f64, f64)> {
        let ArrayValues::Real(values) = self else {
            return None;
        };
        let extent = extent(values.iter().copied());
        (extent.0 <= extent.1).then_some(extent)
    }

    /// Returns the word for this kind of elements in messages.
    fn noun(&self) -> &'static str {
        if self.is_text() { "text" } else { "numbers" }
    }

    /// Appends values. If one side is real and the other side is integers, the result is real. The levels of text are merged. Returns `None` if one
    /// side is text and the other side is numbers.
    fn append(self, other: ArrayValues) -> Option<ArrayValues> {
        match (self, other) {
            (ArrayValues::Byte(mut a), ArrayValues::Byte(b)) => {
                let all = Arc::make_mut(&mut a);
                // Without this line, the memory of the first file would double.
                all.reserve_exact(b.len());
                all.extend_from_slice(&b);
                Some(ArrayValues::Byte(a))
            }
            (
                ArrayValues::Level {
                    mut codes,
                    mut levels,
                },
                ArrayValues::Level {
                    codes: more,
                    levels: names,
                },
            ) => {
                let places: HashMap<String, u32> = levels.iter().cloned().zip(0..).collect();
                let map: Vec<u32> = names
                    .into_iter()
                    .map(|name| code_of(&places, &mut levels, name))
                    .collect();
                codes.extend(more.into_iter().map(|code| map[code as usize]));
                Some(ArrayValues::Level { codes, levels })
            }
            (ArrayValues::Level { .. }, _) | (_, ArrayValues::Level { .. }) => None,
            (
                a @ (ArrayValues::Byte(_) | ArrayValues::Int(_)),
                b @ (ArrayValues::Byte(_) | ArrayValues::Int(_)),
            ) => Some(ArrayValues::Int(
                (0..a.len()).filter_map(|i| a.int(i)).chain(ints(&b)).collect(),
            )),
            (a, b) => Some(ArrayValues::Real(reals(&a).chain(reals(&b)).collect())),
        }
    }
}

fn ints(values: &ArrayValues) -> impl Iterator<Item = i64> + '_ {
    (0..values.len()).filter_map(|i| values.int(i))
}

fn reals(values: &ArrayValues) -> impl Iterator<Item = f64> + '_ {
    (0..values.len()).map(|i| values.real(i))
}

/// Returns the code of a level. A new level is added to `levels` but not to `places`. This suffices, because the levels of a file are distinct, so
/// the same level does not occur again.
fn code_of(places: &HashMap<String, u32>, levels: &mut Vec<String>, name: String) -> u32 {
    places.get(&name).copied().unwrap_or_else(|| {
        levels.push(name);
        (levels.len() - 1) as u32
    })
}

fn int_range(values: impl Iterator<Item = i64>) -> FieldKind {
    let (low, high) = values.fold((i64::MAX, i64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        FieldKind::Int(0, 0)
    } else {
        FieldKind::Int(low, high)
    }
}

/// A named array of a file. A column is an array with a single axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The name of the array.
    pub name: String,
    /// True if the first axis runs over the examples.
    pub per_example: bool,
    /// The sizes of all axes, including the axis of the examples.
    pub shape: Vec<usize>,
    /// The elements.
    pub values: ArrayValues,
    /// True if the file contains the words `false` and `true` instead of the integers 0 and 1.
    pub words: bool,
    /// Two spellings of the same integer in the file, such as `01` and `1`, if there are any.
    pub spellings: Option<[String; 2]>,
}

impl Array {
    /// Creates a column. It has one element per example.
    pub fn column(name: impl Into<String>, values: ArrayValues) -> Array {
        Array {
            name: name.into(),
            per_example: true,
            shape: vec![values.len()],
            values,
            words: false,
            spellings: None,
        }
    }

    /// Sets whether the file contains the words `false` and `true` instead of the integers 0 and 1.
    pub(crate) fn with_words(self, words: bool) -> Array {
        Array { words, ..self }
    }

    /// Returns the sizes of all axes except the axis of the examples.
    pub fn axes(&self) -> &[usize] {
        if self.per_example {
            &self.shape[1..]
        } else {
            &self.shape
        }
    }

    /// Returns a text for messages. The text explains why this array does not have one element for each of `rows` rows.
    pub(crate) fn shared_by(&self, rows: usize) -> String {
        match self.shape.first() {
            None => "it is one value, which all rows share".to_owned(),
            Some(length) => format!("its length is {length}, but there are {rows} rows"),
        }
    }

    /// Returns the number of elements per example. If all examples share the array, returns the number of all its elements.
    pub fn width(&self) -> usize {
        self.axes().iter().product()
    }

    /// Returns the elements of the rows `part`.
    pub fn rows(&self, part: &[usize]) -> ArrayValues {
        let width = self.width();
        match &self.values {
            ArrayValues::Byte(all) => ArrayValues::Byte(Arc::new(chosen(all, part, width))),
            ArrayValues::Int(all) => ArrayValues::Int(chosen(all, part, width)),
            ArrayValues::Real(all) => ArrayValues::Real(chosen(all, part, width)),
            ArrayValues::Level { codes, levels } => ArrayValues::Level {
                codes: chosen(codes, part, width),
                levels: levels.clone(),
            },
        }
    }

    /// Returns the name, the kind and the shape of the array.
    pub fn field(&self) -> Field {
        Field {
            name: self.name.clone(),
            kind: self.values.kind(),
            distinct: self.values.distinct(),
            shape: self.axes().to_vec(),
            per_example: self.per_example,
            text_row: None,
            extent: self.values.extent(),
            words: self.words,
            bytes: matches!(self.values, ArrayValues::Byte(_)),
        }
    }
}

/// Returns the elements of the rows `part` of an array with `width` elements per row, in memory of exactly this size.
pub(crate) fn chosen<T: Copy>(all: &[T], part: &[usize], width: usize) -> Vec<T> {
    let mut elements = Vec::with_capacity(part.len() * width);
    for row in part {
        elements.extend_from_slice(&all[row * width..(row + 1) * width]);
    }
    elements
}

/// The rows of one or more files, as arrays. All files have the same columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The files, in order.
    pub shards: Vec<Shard>,
    /// The number of examples.
    pub rows: usize,
    /// The number that messages give to the first example: 2 if line 1 is a header.
    pub first_row: usize,
    /// The arrays.
    pub arrays: Vec<Array>,
    /// The axes of the inputs of one example in the file. Only formats that store the inputs as one array (`idx`, `npy`) have such axes.
    pub axes: Vec<usize>,
    /// The names of the columns that were not read. Messages about an unknown column suggest them.
    pub unread: Vec<String>,
}

impl Table {
    /// Creates the table of one file.
    pub fn new(path: impl Into<PathBuf>, first_row: usize, arrays: Vec<Array>) -> Table {
        Table::of_rows(path, first_row, (arrays, 1))
    }

    /// Creates the table of one file. The number of rows is an argument, because a file may lack arrays with one element per row.
    pub(crate) fn of_rows(
        path: impl Into<PathBuf>,
        first_row: usize,
        (arrays, rows): (Vec<Array>, usize),
    ) -> Table {
        let rows = arrays
            .iter()
            .find(|array| array.per_example)
            .map_or(rows, |array| array.shape[0]);
        Table {
            shards: vec![Shard {
                path: path.into(),
                start: 0,
                end: rows,
                jumps: Vec::new(),
                files: None,
            }],
            rows,
            first_row,
            arrays,
            axes: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Returns the array of this name, and its index.
    pub fn find(&self, name: &str) -> Option<(usize, &Array)> {
        self.arrays
            .iter()
            .enumerate()
            .find(|(_, array)| array.name == name)
    }

    /// Returns the path of the first file. Messages about the whole table name it.
    pub fn path(&self) -> PathBuf {
        self.shards
            .first()
            .map(|shard| shard.path.clone())
            .unwrap_or_default()
    }

    /// Returns the first cell that is not a number: its row and its text. This cell is the reason why the array is text.
    pub fn first_text<'a>(&self, array: &'a Array) -> Option<(usize, &'a str)> {
        let ArrayValues::Level { codes, levels } = &array.values else {
            return None;
        };
        let text = word(levels);
        let row = codes.iter().position(|code| levels[*code as usize] == text)?;
        Some((row / array.width().max(1), text))
    }

    /// Returns the file of a row, and the number that messages give to the row in this file.
    pub fn place(&self, row: usize) -> At<'_> {
        let (path, row) = place_of(&self.shards, self.first_row, row);
        At::row(path, row)
    }

    /// Sets the places where the offset between row numbers and line numbers changes. The table must consist of one file.
    pub fn with_jumps(mut self, jumps: Vec<Jump>) -> Table {
        if let [shard] = self.shards.as_mut_slice() {
            shard.jumps = jumps;
        }
        self
    }

    /// Sets the file of each row. The table must consist of one folder.
    pub(crate) fn with_files(mut self, files: Vec<PathBuf>) -> Table {
        if let [shard] = self.shards.as_mut_slice() {
            shard.files = Some(files.into());
        }
        self
    }

    /// Appends the rows of `other`. Both tables must have the same columns, possibly in a different order.
    pub fn join(mut self, mut other: Table) -> Result<Table, Faults> {
        let faults = self.disagreements(&other);
        if !faults.is_empty() {
            return Err(faults);
        }
        for array in &mut self.arrays {
            let Some(place) = other.arrays.iter().position(|theirs| theirs.name == array.name) else {
                continue;
            };
            let theirs = other.arrays.swap_remove(place);
            if !array.per_example {
                continue;
            }
            array.words &= theirs.words;
            let mine = std::mem::replace(&mut array.values, ArrayValues::Real(Vec::new()));
            match mine.append(theirs.values) {
                Some(values) => array.values = values,
                None => unreachable!("`disagreements` compares the kinds"),
            }
            array.shape[0] += theirs.shape[0];
        }
        if self.axes != other.axes {
            self.axes.clear();
        }
        let offset = self.rows;
        self.rows += other.rows;
        let moved = |shard: Shard| Shard {
            start: shard.start + offset,
            end: shard.end + offset,
            ..shard
        };
        self.shards.extend(other.shards.into_iter().map(moved));
        Ok(self)
    }

    /// Returns the reasons why `other` cannot be appended.
    fn disagreements(&self, other: &Table) -> Faults {
        let (here, there) = (self.path(), other.path());
        let differs = |name: &str, expected: &str, actual: &str| {
            diagnostics::column_differs(&there, name, expected, actual, &here)
        };
        let mut faults = Vec::new();
        if self.axes.len() > 1 && other.axes.len() > 1 && self.axes != other.axes {
            let [expected, actual] = [&self.axes, &other.axes].map(|axes| format!("{axes:?}"));
            return vec![differs(INPUTS, &expected, &actual)];
        }
        for array in &self.arrays {
            match other.find(&array.name) {
                None => faults.push(diagnostics::missing_column(&there, &array.name, &here)),
                Some((_, theirs)) if theirs.values.is_text() != array.values.is_text() => {
                    let (expected, actual) = (array.values.noun(), theirs.values.noun());
                    faults.push(differs(&array.name, expected, actual));
                }
                Some((_, theirs))
                    if !are_alike(theirs.axes(), array.axes()) || theirs.per_example != array.per_example =>
                {
                    let (expected, actual) = (of_shape(array.axes()), of_shape(theirs.axes()));
                    faults.push(differs(&array.name, &expected, &actual));
                }
                Some((_, theirs)) if unlike(array, theirs) => {
                    faults.push(diagnostics::shared_differs(&there, &array.name, &here));
                }
                Some(_) => {}
            }
        }
        let extra = other
            .arrays
            .iter()
            .filter(|array| self.find(&array.name).is_none());
        faults.extend(extra.map(|array| diagnostics::extra_column(&there, &array.name, &here)));
        faults
    }
}

/// Returns whether two files contradict each other about an array that all examples share. Scalars such as `N` may differ, because they describe a
/// single file.
fn unlike(mine: &Array, theirs: &Array) -> bool {
    !mine.per_example && !mine.shape.is_empty() && mine.values != theirs.values
}
