//! Determines which columns and expressions are inputs.

use crate::diagnostics::{self, Faults};
use crate::table::{Array, ArrayValues, Table};
use crate::{expression, read};
use bnnc_abi::data::{ColumnExpr, Contents, DataSpec};
use bnnc_abi::schema::InputEntry;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::Span;
use std::collections::HashMap;
use std::ops::Range;

/// The source of the values of one input column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// All elements of the array at this index in the table, in order.
    Array(usize),
    /// The values of an expression.
    Computed(ColumnExpr),
    /// An array that is not part of the input vector. It is text, has a new name, or is shared by
    /// all examples. A program can bind such an array only by its name.
    Aside,
}

/// Describes an entry of `inputs = [..]`. `place` is the range of its elements in the vector of all
/// inputs.
pub(crate) fn entry(column: &ColumnExpr, place: Range<usize>, span: Span) -> InputEntry {
    let (name, inner) = match column {
        ColumnExpr::Named(name, inner, _) => (Some(name.clone()), &**inner),
        ColumnExpr::Name(..) | ColumnExpr::Number(_) | ColumnExpr::Apply(..) => (None, column),
    };
    let mut columns: Vec<String> = Vec::new();
    for name in expression::names(inner) {
        if !columns.iter().any(|known| known == name) {
            columns.push(name.to_owned());
        }
    }
    InputEntry {
        name,
        text: expression::text(inner),
        columns,
        computed: !matches!(inner, ColumnExpr::Name(..)),
        span: expression::span(column).unwrap_or(span),
        first: place.start,
        elements: place.len(),
    }
}

/// Returns the inputs if the program does not name any. These are all per-example arrays except the
/// target and the columns that the target is computed from.
fn candidates(spec: &DataSpec, table: &Table, target: Option<usize>) -> Vec<usize> {
    if target.is_none() && spec.format.contents() == Contents::Arrays {
        return Vec::new();
    }
    let used = spec.target.as_ref().map(expression::names).unwrap_or_default();
    let arrays = table.arrays.iter().enumerate();
    let inputs = arrays
        .filter(|(i, array)| array.per_example && Some(*i) != target && !used.contains(&array.name.as_str()));
    inputs.map(|(i, _)| i).collect()
}

/// Returns the input columns. If the program does not name inputs and some column is text, the
/// result is empty. Programs can then bind columns only by name.
pub(crate) fn resolve_inputs(
    spec: &DataSpec,
    table: &Table,
    target: Option<usize>,
) -> Result<Vec<Input>, Faults> {
    if spec.inputs.is_empty() {
        let inputs = candidates(spec, table, target);
        let text = inputs.iter().any(|&i| table.arrays[i].values.is_text());
        return Ok(if text {
            Vec::new()
        } else {
            inputs.into_iter().map(Input::Array).collect()
        });
    }
    // A name is looked up in a map, in constant time. With linear searches, 100,000 names would take a minute.
    let places: HashMap<&str, usize> = table
        .arrays
        .iter()
        .map(|array| array.name.as_str())
        .zip(0..)
        .collect();
    let find = |name: &str, span: Span| match places.get(name) {
        Some(place) => Ok((*place, &table.arrays[*place])),
        None => expression::lookup(table, name, Some(span)),
    };
    let resolved = spec
        .inputs
        .iter()
        .map(|column| resolve_input(table, column, &find));
    let (inputs, faults): (Vec<_>, Vec<_>) = resolved.partition(Result::is_ok);
    let faults: Faults = faults.into_iter().filter_map(Result::err).collect();
    if faults.is_empty() {
        Ok(inputs.into_iter().flatten().collect())
    } else {
        Err(faults)
    }
}

/// A function that finds an array of a table by its name.
type Find<'f, 't> = &'f dyn Fn(&str, Span) -> Result<(usize, &'t Array), Diagnostic>;

fn resolve_input(table: &Table, column: &ColumnExpr, find: Find<'_, '_>) -> Result<Input, Diagnostic> {
    let (name, span) = match column {
        ColumnExpr::Name(name, span) => (name, span),
        ColumnExpr::Named(_, inner, _) => {
            let of_row = |array: &Array| array.per_example && !array.values.is_text();
            return match &**inner {
                ColumnExpr::Name(name, span) if !of_row(find(name, *span)?.1) => Ok(Input::Aside),
                inner => resolve_input(table, inner, find),
            };
        }
        ColumnExpr::Number(_) | ColumnExpr::Apply(..) => return Ok(Input::Computed(column.clone())),
    };
    let (place, array) = find(name, *span)?;
    if array.values.is_text() {
        return Ok(Input::Aside);
    }
    if !array.per_example {
        return Err(diagnostics::shared_by_rows(
            &table.path(),
            name,
            &array.shared_by(table.rows),
            Some(*span),
        ));
    }
    Ok(Input::Array(place))
}

pub(crate) fn named_inputs(
    spec: &DataSpec,
    table: &Table,
    target: Option<usize>,
    inputs: &[Input],
) -> Vec<usize> {
    if spec.inputs.is_empty() {
        let numbers = |i: &usize| !table.arrays[*i].values.is_text();
        return candidates(spec, table, target)
            .into_iter()
            .filter(numbers)
            .collect();
    }
    let plain = inputs.iter().filter_map(|input| match input {
        Input::Array(place) => Some(*place),
        Input::Computed(_) | Input::Aside => None,
    });
    plain.collect()
}

/// If the inputs are one array, returns the axes of one of its rows. Otherwise, returns an empty
/// list.
pub(crate) fn axes<'t>(inputs: &[Input], table: &'t Table) -> &'t [usize] {
    match inputs {
        [Input::Array(place)] => axes_of(&table.arrays[*place], table),
        _ => &[],
    }
}

/// Returns whether the inputs are one array of bytes.
pub(crate) fn are_bytes(inputs: &[Input], table: &Table) -> bool {
    match inputs {
        [Input::Array(place)] => matches!(table.arrays[*place].values, ArrayValues::Byte(_)),
        _ => false,
    }
}

/// Returns the axes of one row of an array, as they are in the file.
pub(crate) fn axes_of<'t>(array: &'t Array, table: &'t Table) -> &'t [usize] {
    match array.name == read::INPUTS && !table.axes.is_empty() {
        true => &table.axes,
        false => array.axes(),
    }
}

/// Returns the number of elements of each channel of an image. The first axis of an image runs over the channels. If an image has only two
/// axes, it has a single channel. `None` if there are fewer than two axes.
pub(crate) fn channel_size(axes: &[usize]) -> Option<usize> {
    match axes {
        [] | [_] => None,
        [height, width] => Some(height * width),
        [_, positions @ ..] => Some(positions.iter().product()),
    }
}

/// If the data item normalises channels, checks that the inputs are images.
pub(crate) fn check_channels(spec: &DataSpec, inputs: &[Input], table: &Table) -> Result<(), Faults> {
    let is_image = |input: &Input| match input {
        Input::Array(place) => channel_size(axes_of(&table.arrays[*place], table)).is_some(),
        Input::Computed(_) | Input::Aside => false,
    };
    match spec.normalise_channels && !inputs.iter().any(is_image) {
        true => Err(vec![diagnostics::no_channels(&table.path(), axes(inputs, table))]),
        false => Ok(()),
    }
}

/// Returns whether the axes of two rows are the same apart from axes of size 1.
pub(crate) fn are_alike(left: &[usize], right: &[usize]) -> bool {
    let long = |size: &&usize| **size != 1;
    left.iter().filter(long).eq(right.iter().filter(long))
}

/// Describes the values of one row for a message.
pub(crate) fn of_shape(axes: &[usize]) -> String {
    match axes {
        [] => "one number".to_owned(),
        _ => format!("an array of shape {axes:?}"),
    }
}
