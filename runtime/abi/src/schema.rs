//! The schema of a data item: the fields of its files, and the numbers of its rows.

use bnnc_base::source::Span;
use serde::{Deserialize, Serialize};

/// The type of the elements of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FieldKind {
    /// The elements are reals.
    Real,
    /// Integers with their smallest and largest value (classes, counts, indices).
    Int(i64, i64),
    /// Strings, with their levels in order of first appearance.
    Levels(Vec<String>),
}

/// The type that the elements of a model's input or output have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Elements {
    /// The elements are reals.
    Real,
    /// The elements are integers.
    Int,
    /// The elements are integers from 0.
    Count,
    /// The elements are 0 or 1.
    Bool,
    /// Integers from 0 up to, but not including, this number; or text with this number of levels.
    Index(usize),
}

impl Elements {
    /// Checks that a value has this type. If the value does not have the type, returns the text of
    /// the type. Otherwise, returns `None`. Values of the type `index`
    /// are checked by [`Codes`](crate::binding::Codes)
    /// instead.
    pub fn excludes(self, value: f64) -> Option<&'static str> {
        let is_whole = value.fract() == 0.0;
        match self {
            Elements::Bool if value != 0.0 && value != 1.0 => Some("`bool`, 0 or 1"),
            Elements::Count if value < 0.0 || !is_whole => Some("`count`, an integer from 0"),
            Elements::Int if !is_whole => Some("`int`"),
            Elements::Real | Elements::Int | Elements::Count | Elements::Bool | Elements::Index(_) => None,
        }
    }

    /// Returns the reason why a column of this name and kind does not have elements of this type;
    /// `None` if its elements have the type.
    pub fn rejection(self, name: &str, kind: &FieldKind) -> Option<String> {
        match (self, kind) {
            (Elements::Index(_), FieldKind::Int(low, _)) if *low < 0 => {
                Some(format!("`index` counts from 0, but `{name}` holds {low}"))
            }
            (Elements::Index(size), FieldKind::Int(_, high)) => {
                let fits = usize::try_from(*high).is_ok_and(|high| high < size);
                let last = size.saturating_sub(1);
                (!fits).then(|| format!("`index({size})` holds 0 to {last}, but `{name}` holds {high}"))
            }
            (Elements::Index(size), FieldKind::Levels(levels)) => {
                (levels.len() != size).then(|| format!("`{name}` has {} levels, not {size}", levels.len()))
            }
            (Elements::Index(_), FieldKind::Real) => {
                Some(format!("`index` needs integers, but `{name}` holds reals"))
            }
            (Elements::Bool, FieldKind::Int(low, high)) if *low >= 0 && *high <= 1 => None,
            (Elements::Bool, FieldKind::Int(..) | FieldKind::Real) => {
                Some(format!("`bool` needs 0 and 1, but `{name}` holds other numbers"))
            }
            (Elements::Count, FieldKind::Int(low, _)) if *low < 0 => Some(format!(
                "`count` needs non-negative integers, but `{name}` holds {low}"
            )),
            (Elements::Count | Elements::Int, FieldKind::Real) => {
                Some(format!("integers are needed, but `{name}` holds reals"))
            }
            (
                Elements::Real | Elements::Count | Elements::Int | Elements::Bool,
                FieldKind::Levels(levels),
            ) => Some(format!(
                "numbers are needed, but `{name}` holds text such as `{}`; text fits `index` only",
                word(levels)
            )),
            (Elements::Real, _) | (Elements::Count | Elements::Int, FieldKind::Int(..)) => None,
        }
    }
}

/// Returns the first level that is not a number. This level is the reason why a column of numbers
/// was read as text.
pub fn word(levels: &[String]) -> &str {
    let mut words = levels.iter().filter(|level| level.parse::<f64>().is_err());
    words.next().or(levels.first()).map_or("", String::as_str)
}

/// One named field: a column, or an array of a JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// The type of the elements.
    pub kind: FieldKind,
    /// The distinct integers in ascending order. `None` if every integer between the smallest and
    /// the largest occurs.
    pub distinct: Option<Vec<i64>>,
    /// The sizes of the axes, without the axis of examples if `per_example`.
    pub shape: Vec<usize>,
    /// True if each example has its own values.
    pub per_example: bool,
    /// The row of the first text that is not a number. Rows are counted as in messages.
    #[serde(default)]
    pub text_row: Option<usize>,
    /// The least and the largest element of a field of reals.
    #[serde(default)]
    pub extent: Option<(f64, f64)>,
    /// True if the file contains the words `false` and `true` instead of the integers 0 and 1.
    #[serde(default)]
    pub words: bool,
    /// True if the elements are unsigned bytes, each of which takes one byte of memory.
    #[serde(default)]
    pub bytes: bool,
}

impl Field {
    /// Returns a phrase for messages. The phrase states the property of the values because of which
    /// this is a field of reals instead of integers.
    pub fn reals(&self) -> &'static str {
        let is_beyond = |end: f64| end.abs() >= i64::MAX as f64;
        match self.extent {
            Some((low, high)) if is_beyond(low) || is_beyond(high) => {
                "numbers beyond 9223372036854775807: write identifiers as text, such as `id18446744073709551000`"
            }
            _ => "fractions",
        }
    }

    /// The least and the largest element of a field of numbers.
    pub fn extent(&self) -> Option<(f64, f64)> {
        match self.kind {
            FieldKind::Int(low, high) => Some((low as f64, high as f64)),
            FieldKind::Real => self.extent,
            FieldKind::Levels(_) => None,
        }
    }

    /// Returns the distinct integers in ascending order; empty for a field of reals or text.
    pub fn integers(&self) -> impl Iterator<Item = i64> + '_ {
        let all = match (&self.kind, &self.distinct) {
            (FieldKind::Int(low, high), None) => Some(*low..=*high),
            (FieldKind::Int(..) | FieldKind::Real | FieldKind::Levels(_), _) => None,
        };
        all.into_iter()
            .flatten()
            .chain(self.distinct.iter().flatten().copied())
    }
}

/// An entry of `inputs = [..]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputEntry {
    /// The name that the program gives to the entry, if it gives a name.
    pub name: Option<String>,
    /// The expression as text, without the name.
    pub text: String,
    /// The columns from which the entry is computed, without duplicates.
    pub columns: Vec<String>,
    /// True if the entry is an expression rather than a column.
    pub computed: bool,
    /// The place of the entry in the program.
    pub span: Span,
    /// The position of the first element of the entry among the elements of all inputs.
    pub first: usize,
    /// The number of elements of the entry. The number is 0 for a renamed column of text, because
    /// such a column is not part of the vector of reals.
    pub elements: usize,
}

/// Returns the axes of an array as `rank` axes. Axes of size 1 are added or removed at the front. Returns `None` if an
/// axis of another size would have to be removed.
pub fn with_rank(axes: &[usize], rank: usize) -> Option<Vec<usize>> {
    let spare = axes.len().saturating_sub(rank);
    let (left_out, kept) = axes.split_at_checked(spare)?;
    let ones = std::iter::repeat_n(1, rank.saturating_sub(axes.len()));
    let is_kept = left_out.iter().all(|size| *size == 1);
    is_kept.then(|| ones.chain(kept.iter().copied()).collect())
}

/// The schema of a data item. It is determined from the headers of the files and a scan of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The name of the data item.
    pub name: String,
    /// The number of rows in all shards, including the rows that become test rows.
    pub rows: usize,
    /// The number of training rows (of the first split).
    pub train: usize,
    /// The number of test rows (of the first split).
    pub test: usize,
    /// The number of validation rows.
    pub validation: usize,
    /// The number of outlier rows.
    pub outliers: usize,
    /// The number of splits that the run visits.
    pub splits: usize,
    /// All fields of the file.
    pub fields: Vec<Field>,
    /// The number of input columns: the size `d` of an input `real[d]`. The input columns are
    /// listed in `inputs = [..]`. Without this option, they are all columns except the target.
    pub inputs: usize,
    /// If the inputs are one array, the axes of one of its rows. Otherwise empty.
    #[serde(default)]
    pub axes: Vec<usize>,
    /// True if the inputs are one array of bytes, such as pixels. Rows keep such inputs as bytes.
    #[serde(default)]
    pub byte_inputs: bool,
    /// The names that the program gives to the input columns; empty if some of them are elements of an array.
    pub columns: Vec<String>,
    /// The entries of `inputs = [..]`, in order.
    pub entries: Vec<InputEntry>,
    /// The name of the target, if the program names a target.
    pub target: Option<String>,
    /// Fields of the shared table.
    pub shared: Vec<Field>,
}
