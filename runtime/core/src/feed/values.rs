//! The values of rows in the form that a program reads. Every value is checked against the declared
//! type.

use bnnc_abi::manifest::{Binding, Codes, DataSource};
use bnnc_abi::schema::Elements as Kind;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_data::table::Array;
use bnnc_data::{Dataset, InputValues, Rows, ScaledBytes, diagnostics};
use std::borrow::Cow;
use std::collections::HashSet;

/// Rejects an element of a row that is too large for the precision. An input is too large if its
/// square overflows. An output is too large if the value itself overflows.
pub(super) fn bounded(
    values: &Values<'_>,
    (binding, is_output): (&Binding, bool),
    (rows, dataset): (&Rows, &Dataset),
    precision: Precision,
) -> Result<(), Diagnostic> {
    let largest = match precision {
        Precision::F32 => f64::from(f32::MAX),
        Precision::F64 => f64::MAX,
    };
    let most = if is_output { largest } else { largest.sqrt() };
    let values = match values {
        Values::Byte(bytes) if bytes.is_within(most) => return Ok(()),
        Values::Byte(bytes) => &Cow::Owned(bytes.reals().collect()),
        Values::Real(values) => values,
    };
    let width = (values.len() / rows.count.max(1)).max(1);
    let is_beyond = |value: &f64| value.is_nan() || value.abs() > most;
    let Some(at) = values.iter().position(is_beyond) else {
        return Ok(());
    };
    let element = at % width;
    let name = match &binding.from {
        DataSource::Inputs => dataset.preparation.columns.get(element),
        DataSource::Input(at) => dataset.preparation.columns.get(*at),
        DataSource::Field(name) => Some(name),
        DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => return Ok(()),
    };
    let name = name.unwrap_or(&binding.port);
    Err(diagnostics::too_large(
        rows.at(at / width),
        name,
        values[at],
        &precision.to_string(),
        is_output,
    ))
}

/// The values of a real input or output, in the units of the model.
pub(super) enum Values<'a> {
    Real(Cow<'a, [f64]>),
    /// Bytes that share the memory of the rows.
    Byte(ScaledBytes),
}

/// Returns the values of an input or output. Values that the rows keep as bytes are not converted.
///
/// # Errors
/// Fails if a value does not have the declared type.
pub(super) fn stored<'a>(
    binding: &Binding,
    is_output: bool,
    rows: &'a Rows,
    dataset: &'a Dataset,
) -> Result<Values<'a>, Diagnostic> {
    let bytes = match (&binding.from, &rows.inputs) {
        (DataSource::Inputs, InputValues::Byte(bytes)) => Some(bytes.clone()),
        (DataSource::Field(name), _) => rows
            .bytes(name, is_original(name, is_output, dataset))?
            .filter(|bytes| bytes.reals().all(|value| binding.excludes(value).is_none())),
        _ => None,
    };
    match bytes {
        Some(bytes) => Ok(Values::Byte(bytes)),
        None => column(binding, is_output, rows, dataset).map(Values::Real),
    }
}

/// Returns the values of an input or output, in the form that the model reads.
///
/// # Errors
/// Fails if a value does not have the declared type.
pub fn column<'a>(
    binding: &Binding,
    is_output: bool,
    rows: &'a Rows,
    dataset: &'a Dataset,
) -> Result<Cow<'a, [f64]>, Diagnostic> {
    match &binding.from {
        DataSource::Inputs => Ok(rows.inputs.reals()),
        DataSource::Input(at) => {
            let places = (*at..rows.inputs.len()).step_by(rows.width.max(1));
            Ok(places.map(|place| rows.inputs.real(place)).collect())
        }
        DataSource::Field(name) => prepared(binding, (name, is_output), rows, dataset),
        DataSource::Row => Ok(rows.index.iter().map(|row| *row as f64).collect()),
        DataSource::Whole(name) => match dataset.whole(name) {
            Some(array) => Ok(elements(array).into()),
            None => prepared(binding, (name, is_output), &dataset.train, dataset),
        },
        DataSource::Shared(name) => Ok(dataset.shared(name).map(elements).unwrap_or_default().into()),
    }
}

/// Returns whether the model reads a column in the units of the file. Inputs and the target are standardised. Other observed columns are not.
fn is_original(name: &str, is_output: bool, dataset: &Dataset) -> bool {
    is_output && dataset.preparation.target_name.as_deref() != Some(name)
}

/// Returns a column as the model reads it. Checks that every element has the declared type.
fn prepared<'a>(
    binding: &Binding,
    (name, is_output): (&str, bool),
    rows: &Rows,
    dataset: &Dataset,
) -> Result<Cow<'a, [f64]>, Diagnostic> {
    let values = match is_original(name, is_output, dataset) {
        true => rows.original(name)?,
        false => rows.reals(name).or_else(|_| rows.ints(name).map(as_reals))?,
    };
    let wrong = values.iter().enumerate().find_map(|(at, value)| {
        let expected = binding.excludes(*value)?;
        Some((at, *value, expected))
    });
    match wrong {
        None => Ok(values.into()),
        Some((at, value, expected)) => {
            let width = (values.len() / rows.count.max(1)).max(1);
            let place = rows.at(at / width);
            let original = rows.original(name)?.get(at).copied();
            Err(
                match original.filter(|original| binding.excludes(*original).is_none()) {
                    Some(original) => {
                        diagnostics::standardised_outside_type(place, name, [original, value], &expected)
                    }
                    None => diagnostics::outside_type(place, name, value, &expected),
                },
            )
        }
    }
}

/// Returns a column of integers. Checks that every element has the declared type.
fn typed(binding: &Binding, name: &str, rows: &Rows) -> Result<Vec<i32>, Diagnostic> {
    let values = rows.ints(name)?;
    checked(binding, name, rows, values.iter().copied().map(f64::from))?;
    Ok(values)
}

/// Checks that every value of a column has the declared type.
fn checked(
    binding: &Binding,
    name: &str,
    rows: &Rows,
    values: impl ExactSizeIterator<Item = f64>,
) -> Result<(), Diagnostic> {
    let width = (values.len() / rows.count.max(1)).max(1);
    let mut values = values.enumerate();
    let wrong = values.find_map(|(at, value)| Some((at, value, binding.excludes(value)?)));
    match wrong {
        None => Ok(()),
        Some((at, value, expected)) => Err(diagnostics::outside_type(
            rows.at(at / width),
            name,
            value,
            &expected,
        )),
    }
}

pub(super) fn integers(binding: &Binding, rows: &Rows, dataset: &Dataset) -> Result<Vec<i32>, Diagnostic> {
    let of_column = |name: &str, rows: &Rows| match binding.elements {
        Kind::Index(size) => rows.positions(name, &binding.codes, size),
        Kind::Real | Kind::Int | Kind::Count | Kind::Bool => typed(binding, name, rows),
    };
    let of_array = |array: &Array| {
        let values = elements(array).into_iter().map(|value| value as i32);
        values.collect()
    };
    match &binding.from {
        DataSource::Inputs | DataSource::Input(_) => {
            let values = column(binding, false, rows, dataset)?;
            Ok(values.iter().map(|value| *value as i32).collect())
        }
        DataSource::Field(name) => of_column(name, rows),
        DataSource::Row => match binding.elements {
            Kind::Index(size) => row_numbers(rows, size),
            Kind::Real | Kind::Int | Kind::Count | Kind::Bool => {
                Ok(rows.index.iter().map(|row| *row as i32).collect())
            }
        },
        DataSource::Whole(name) => match dataset.whole(name) {
            Some(array) => Ok(of_array(array)),
            None => of_column(name, &dataset.train),
        },
        DataSource::Shared(name) => Ok(dataset.shared(name).map(of_array).unwrap_or_default()),
    }
}

/// Rejects an integer level that does not occur in the training rows. Text levels are checked when
/// the rows are read.
pub(super) fn seen(
    values: &[i32],
    binding: &Binding,
    (rows, dataset): (&Rows, &Dataset),
) -> Result<(), Diagnostic> {
    let (Codes::Ids(ids), DataSource::Field(name)) = (&binding.codes, &binding.from) else {
        return Ok(());
    };
    let known: HashSet<i32> = integers(binding, &dataset.train, dataset)?.into_iter().collect();
    match values.iter().position(|value| !known.contains(value)) {
        None => Ok(()),
        Some(at) => {
            let width = (values.len() / rows.count.max(1)).max(1);
            let id = ids.get(values[at] as usize).copied().unwrap_or_default();
            Err(diagnostics::unseen_level(
                rows.at(at / width),
                name,
                &id.to_string(),
                "test",
                None,
            ))
        }
    }
}

/// Returns the row numbers as positions along an axis that has one element per row.
fn row_numbers(rows: &Rows, size: usize) -> Result<Vec<i32>, Diagnostic> {
    match rows.index.iter().position(|row| *row >= size) {
        None => Ok(rows.index.iter().map(|row| *row as i32).collect()),
        Some(at) => Err(diagnostics::outside(
            rows.at(at),
            "row",
            rows.index[at] as i64,
            size,
        )),
    }
}

fn as_reals(values: Vec<i32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

fn elements(array: &Array) -> Vec<f64> {
    (0..array.values.len()).map(|at| array.values.real(at)).collect()
}
