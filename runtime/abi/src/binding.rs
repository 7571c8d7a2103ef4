//! Where the values of a program's inputs and outputs come from.

use crate::code::Artifact;
use crate::data::{Elements, Field, FieldKind};
use serde::{Deserialize, Serialize};

/// An input buffer that holds data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The name of the program's input buffer.
    pub port: String,
    /// Where its values come from.
    pub from: DataSource,
    /// The type of its elements.
    pub elements: Elements,
    /// The interval of its reals, as the model declares it.
    pub support: Option<(f64, f64)>,
    /// Its axes; without that of examples, where there is one value per example.
    pub shape: Vec<usize>,
    /// Which element of an axis each value of the column selects.
    pub codes: Codes,
    /// A parameter that the model adds to a weighted sum of its elements, if there is one.
    pub intercept: Option<String>,
}

/// Which element of an axis a value of an `index` column selects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codes {
    /// An integer selects the element of that position, text the position of its level.
    Positions,
    /// An integer selects the position that it has among these; at the build they ascend.
    Ids(Vec<i64>),
    /// Text selects the position that it has among these.
    Texts(Vec<String>),
}

impl Binding {
    /// Returns the declared type that a value does not have. The ends of an interval are not excluded: rounding reaches them.
    pub fn excludes(&self, value: f64) -> Option<String> {
        match self.support {
            Some((low, high)) if value < low || value > high => Some(match (low, high) {
                (0.0, f64::INFINITY) => "`positive`".to_owned(),
                (0.0, 1.0) => "`unit`".to_owned(),
                _ => format!("`real({low}, {high})`"),
            }),
            _ => self.elements.excludes(value).map(str::to_owned),
        }
    }

    /// Returns why a column does not hold what this input or output takes.
    pub fn misfit(&self, field: &Field) -> Option<String> {
        let name = &field.name;
        match (&self.codes, &field.kind) {
            (Codes::Ids(ids), FieldKind::Int(..)) => {
                let new = field.integers().find(|id| ids.binary_search(id).is_err());
                new.map(|id| format!("`{name}` holds {id}, which was not among its levels at the build"))
            }
            (Codes::Texts(texts), FieldKind::Levels(levels)) => {
                let new = levels.iter().find(|level| !texts.contains(level));
                new.map(|level| {
                    format!("`{name}` holds `{level}`, which was not among its levels at the build")
                })
            }
            (Codes::Positions | Codes::Ids(_) | Codes::Texts(_), kind) => self.elements.refusal(name, kind),
        }
    }
}

/// Where the values of an input come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataSource {
    /// The data item's inputs in order, as one vector per example.
    Inputs,
    /// A field per example.
    Field(String),
    /// One of the data item's inputs, by its position among their elements.
    Input(usize),
    /// The row number.
    Row,
    /// An array of the data item's own files, of which all examples see all elements.
    Whole(String),
    /// A column of the shared table.
    Shared(String),
}

impl DataSource {
    /// Returns whether all examples see the same values.
    pub fn is_shared(&self) -> bool {
        matches!(self, DataSource::Whole(_) | DataSource::Shared(_))
    }

    /// The column of the data item's own files that it is by itself.
    pub fn column(&self) -> Option<&str> {
        match self {
            DataSource::Field(name) | DataSource::Whole(name) => Some(name),
            DataSource::Inputs | DataSource::Input(_) | DataSource::Row | DataSource::Shared(_) => None,
        }
    }
}

/// Positions that rows select along axes and that only the rows themselves show to be inside.
#[derive(Clone, Serialize, Deserialize)]
pub struct Positions {
    /// `(data..) -> position/0, ..`, each `[batch, ..]`: the positions of each check; `row/0` and so on of the same shape where they come from whole
    /// columns: the elements of these that decide them.
    pub program: Artifact,
    /// The axes.
    pub checks: Vec<Check>,
}

/// An axis, and what its positions are computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The size of the axis.
    pub size: usize,
    /// The inputs, outputs and parameters that decide the positions.
    pub inputs: Vec<String>,
}
