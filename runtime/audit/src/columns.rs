//! Checks for columns that do not contain measurements.

use super::Column;
use crate::diagnostics::data as codes;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Dataset;
use bnnc_data::read::is_missing_text;
use std::collections::BTreeMap;

/// With fewer rows than this, a pattern of whole numbers may be due to chance.
const LEAST: usize = 20;

/// Returns the number of different keys. The keys are sorted for this, because a set would take several times the eight bytes per key.
pub(super) fn different(mut keys: Vec<u64>) -> usize {
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

pub(super) fn distinct(values: &[f64]) -> usize {
    different(values.iter().map(|value| value.to_bits()).collect())
}

/// Returns a warning if a column holds dates that are written as whole numbers, such as 20240131.
pub(super) fn dates(column: &Column) -> Option<Diagnostic> {
    let is_date = |value: &f64| {
        let (year, rest) = ((value / 10_000.0).floor(), value % 10_000.0);
        let (month, day) = ((rest / 100.0).floor(), rest % 100.0);
        value.fract() == 0.0
            && (1800.0..2200.0).contains(&year)
            && (1.0..=12.0).contains(&month)
            && (1.0..=31.0).contains(&day)
    };
    let is_dates = column.train.iter().all(is_date) && distinct(&column.train) >= 5;
    is_dates.then(|| codes::dates(&column.name, column.train[0]))
}

/// Returns a warning if a column holds the whole numbers of a range, each exactly once and not in sorted order. A column of this kind
/// probably numbers the rows.
pub(super) fn identifier(column: &Column) -> Option<Diagnostic> {
    let values: Vec<f64> = column.train.iter().chain(&column.test).copied().collect();
    let (low, high) = super::range(&values);
    let is_whole = values.iter().all(|value| value.fract() == 0.0);
    let is_numbering = is_whole
        && values.len() >= LEAST
        && high - low == (values.len() - 1) as f64
        && distinct(&values) == values.len();
    let is_sorted = column.train.windows(2).all(|pair| pair[0] < pair[1])
        || column.train.windows(2).all(|pair| pair[0] > pair[1]);
    (is_numbering && !is_sorted).then(|| codes::identifier(&column.name, values.len()))
}

/// Returns the warnings about text columns that have two levels with different capitalisation, but
/// otherwise equal text.
pub(super) fn same_levels(names: &[&str], dataset: &Dataset) -> Vec<Diagnostic> {
    let levels = &dataset.preparation.levels;
    let of_column = |(name, levels): &(String, Vec<String>)| {
        let mut known: BTreeMap<String, &String> = BTreeMap::new();
        levels.iter().find_map(|level| {
            let first = known.insert(level.to_lowercase(), level)?;
            Some(codes::same_levels(name, first, level))
        })
    };
    levels
        .iter()
        .filter(|(name, _)| names.contains(&name.as_str()))
        .filter_map(of_column)
        .collect()
}

/// Returns the warnings about text columns with a level that often marks missing values.
pub(super) fn missing_levels(names: &[&str], dataset: &Dataset) -> Vec<Diagnostic> {
    // Python writes `None`. In capital letters, it is rarely the name of a group.
    let is_mark = |level: &&String| is_missing_text(level) || *level == "None";
    let levels = dataset.preparation.levels.iter();
    let of_column = |(name, levels): &(String, Vec<String>)| {
        let mark = levels.iter().find(is_mark)?;
        Some(codes::missing_as_level(name, mark))
    };
    levels
        .filter(|(name, _)| names.contains(&name.as_str()))
        .filter_map(of_column)
        .collect()
}
