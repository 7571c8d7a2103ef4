//! Describes the columns from which an input or an output is computed, as text.

use crate::dataset::Preparation;
use crate::expression;
use crate::standardise::Standardisation;
use bnnc_abi::data::{ColumnExpr, DataSpec};
use bnnc_abi::manifest::DataSource;
use bnnc_abi::schema::InputEntry;

/// For each element of a model input or output, returns a description: its column or expression,
/// and the mean and standard deviation over the training rows.
pub fn feeds(
    from: &DataSource,
    spec: &DataSpec,
    entries: &[InputEntry],
    preparation: &Preparation,
) -> Vec<String> {
    match from {
        DataSource::Inputs => (0..preparation.inputs.len())
            .map(|at| element(at, spec, entries, preparation))
            .collect(),
        DataSource::Input(at) => vec![element(*at, spec, entries, preparation)],
        DataSource::Field(name) => {
            let named = preparation.named.iter().find(|(known, _)| known == name);
            let map = match named {
                Some((_, maps)) => maps.first(),
                None => {
                    Some(&preparation.target).filter(|_| preparation.target_name.as_deref() == Some(name))
                }
            };
            let scale = map.map_or_else(String::new, |map| standardised(*map));
            vec![format!("column {name}{scale}")]
        }
        DataSource::Row => vec!["the row number".to_owned()],
        DataSource::Whole(name) => vec![format!("all of {name}")],
        DataSource::Shared(name) => vec![format!("all of {name} in the shared table")],
    }
}

/// Describes one element of the inputs.
fn element(at: usize, spec: &DataSpec, entries: &[InputEntry], preparation: &Preparation) -> String {
    let map = preparation.inputs.get(at).copied();
    let scale = standardised(map.unwrap_or(Standardisation::IDENTITY));
    let entry = entries
        .iter()
        .position(|entry| entry.computed && entry.first == at && entry.elements == 1);
    let Some(entry) = entry else {
        let name = preparation.columns.get(at).map_or("", String::as_str);
        return format!("column {name}{scale}");
    };
    let calls = |column: &ColumnExpr| expression::scored(column).len();
    let first: usize = spec.inputs[..entry].iter().map(calls).sum();
    let count = spec.inputs.get(entry).map_or(0, calls);
    let scores: String = preparation
        .zscores
        .iter()
        .skip(first)
        .take(count)
        .map(|map| format!(" ({})", moments(*map)))
        .collect();
    format!("{}{scores}{scale}", entries[entry].text)
}

/// For each call of `zscore` in the input expression `name`, returns the mean and the standard deviation
/// that the call uses.
pub fn scores<'a>(
    name: &str,
    spec: &DataSpec,
    preparation: &'a Preparation,
) -> impl Iterator<Item = &'a Standardisation> {
    let is_named = |column: &ColumnExpr| expression::text(column) == name;
    let at = spec.inputs.iter().position(is_named);
    let (before, own) = at.map_or((0, 0), |at| {
        let calls = |column: &ColumnExpr| expression::scored(column).len();
        (spec.inputs[..at].iter().map(calls).sum(), calls(&spec.inputs[at]))
    });
    preparation.zscores.iter().skip(before).take(own)
}

fn standardised(map: Standardisation) -> String {
    match map == Standardisation::IDENTITY {
        true => String::new(),
        false => format!(", standardised ({})", moments(map)),
    }
}

fn moments(map: Standardisation) -> String {
    format!("mean {}, sd {}", digits(map.mean), digits(map.sd))
}

/// Formats a number with four significant digits.
fn digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    match rounded == 0.0 || (1e-4..1e7).contains(&rounded.abs()) {
        true => rounded.to_string(),
        false => format!("{rounded:e}"),
    }
}
