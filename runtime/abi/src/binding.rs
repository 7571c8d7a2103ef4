//! The sources from which the inputs and outputs of a program get their values.

use crate::code::Artifact;
use crate::schema::{Elements, Field, FieldKind, Schema};
use serde::{Deserialize, Serialize};

/// An input buffer that holds data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The name of the program's input buffer.
    pub port: String,
    /// The source of the values.
    pub from: DataSource,
    /// The type of the elements.
    pub elements: Elements,
    /// The interval that the model declares for its reals.
    pub support: Option<(f64, f64)>,
    /// The sizes of the axes. If each example has its own values, the axis of the examples is left
    /// out.
    pub shape: Vec<usize>,
    /// The map from the values of the column to positions along an axis.
    pub codes: Codes,
    /// The intercept that belongs to this input. This is the parameter that the model adds to a
    /// weighted sum of the elements of this input. `None` if the model does not add such a parameter.
    pub intercept: Option<String>,
    /// True if the rows keep the values as bytes. A program reads reals, so the bytes are converted when a batch is gathered. The prediction of the
    /// memory sets this field from the data.
    #[serde(default)]
    pub bytes: bool,
}

/// The map from the values of an `index` column to positions along an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Codes {
    /// An integer is itself the position. The position of a text is the index of its level.
    Positions,
    /// The position of an integer is its index in this list. The list contains the distinct integers of
    /// the column at build time, in ascending order.
    Ids(Vec<i64>),
    /// The position of a text is its index in this list.
    Texts(Vec<String>),
}

/// Returns the inputs of a model whose value for each example is an array of reals with at least two axes, such as an image. `outputs` are the
/// names of the model's outputs.
pub fn images<'a>(
    bindings: &'a [Binding],
    outputs: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = &'a Binding> {
    bindings.iter().filter(move |binding| {
        let is_of_example = matches!(binding.from, DataSource::Inputs | DataSource::Field(_));
        let is_real = binding.elements == Elements::Real;
        is_of_example && is_real && binding.shape.len() > 1 && !outputs(&binding.port)
    })
}

impl Binding {
    /// Checks that a value has the declared type. If the value does not have the type, returns the
    /// text of the type. Otherwise, returns `None`. In this check, the type `real(low, high)`
    /// includes both ends of the interval, because rounding may produce these values.
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

    /// Returns whether rows with this schema keep the values as bytes. Values that all rows share, or that the program reads as integers, are
    /// converted before the run.
    pub fn has_bytes(&self, schema: &Schema) -> bool {
        match &self.from {
            DataSource::Inputs => schema.byte_inputs,
            DataSource::Field(name) => {
                let mut fields = schema.fields.iter();
                fields.any(|field| field.name == *name && field.bytes)
            }
            DataSource::Input(_) | DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => false,
        }
    }

    /// Returns the reason why a column does not fit this input or output; `None` if the column fits.
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
            (Codes::Positions | Codes::Ids(_) | Codes::Texts(_), kind) => self.elements.rejection(name, kind),
        }
    }
}

/// The source of the values of an input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataSource {
    /// The inputs of the data item in order, as one vector per example.
    Inputs,
    /// A field with one value per example.
    Field(String),
    /// One entry of the data item's inputs. The number is the position of the entry's first element among the elements of all inputs.
    Input(usize),
    /// The number of the row in the data.
    Row,
    /// An array from the files of the data item. All examples share this array.
    Whole(String),
    /// A column of the shared table.
    Shared(String),
}

impl DataSource {
    /// Returns whether all examples read the same values.
    pub fn is_shared(&self) -> bool {
        matches!(self, DataSource::Whole(_) | DataSource::Shared(_))
    }

    /// If the input takes its values unchanged from a column of the data item's own files, returns
    /// this column. Otherwise, returns `None`.
    pub fn column(&self) -> Option<&str> {
        match self {
            DataSource::Field(name) | DataSource::Whole(name) => Some(name),
            DataSource::Inputs | DataSource::Input(_) | DataSource::Row | DataSource::Shared(_) => None,
        }
    }
}

/// A program that computes positions along axes from the data, so that the runtime can check them.
/// The positions depend on the rows. Such positions are checked at run time, when the rows are
/// known.
#[derive(Clone, Serialize, Deserialize)]
pub struct Positions {
    /// The program `(data..) -> position/0, ..`. Each output is `[batch, ..]` and has the positions of one check. If check `k` depends on elements
    /// of whole columns, there is a further output `row/k` of the same shape, which contains the rows of these elements.
    pub program: Artifact,
    /// The axes along which positions are checked.
    pub checks: Vec<PositionCheck>,
}

/// An axis, and the values that determine positions along it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionCheck {
    /// The size of the axis.
    pub size: usize,
    /// The inputs, outputs and parameters that determine the positions.
    pub inputs: Vec<String>,
}
