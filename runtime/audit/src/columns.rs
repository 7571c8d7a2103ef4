//! Checks for columns that do not contain measurements, and for rows that repeat other rows.

use super::Column;
use crate::diagnostics::data as codes;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Dataset;
use bnnc_data::read::is_missing_text;
use std::collections::BTreeMap;

/// With fewer rows than this, a pattern of whole numbers may be due to chance.
const LEAST: usize = 20;

/// Returns the number of different keys. The keys are sorted for this, because a set would take several times the eight bytes per key.
fn different(mut keys: Vec<u64>) -> usize {
    keys.sort_unstable();
    keys.dedup();
    keys.len()
}

fn distinct(values: &[f64]) -> usize {
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

/// Returns a warning if two conditions hold: at least a third of the training rows equal an earlier row in inputs and target, and their
/// number is larger than chance would produce among rounded values.
pub(super) fn repeated(inputs: &[Column], targets: &[&Column]) -> Option<Diagnostic> {
    let inputs: Vec<&Column> = inputs.iter().collect();
    let rows = inputs.iter().chain(targets).next()?.train.len();
    if inputs
        .iter()
        .chain(targets)
        .any(|column| column.train.len() != rows)
    {
        return None;
    }
    let all: Vec<&Column> = inputs.iter().chain(targets).copied().collect();
    let once = kinds(&all, rows);
    let is_repeated = rows >= LEAST && 3 * (rows - once) >= rows;
    let is_more = || {
        // The number of different rows that is expected if every row is drawn uniformly from all pairs of an input and a target.
        let pairs = kinds(&inputs, rows) as f64 * kinds(targets, rows) as f64;
        let by_chance = -pairs * (-(rows as f64) / pairs).exp_m1();
        (once as f64) < 0.75 * by_chance
    };
    (is_repeated && is_more()).then(|| codes::repeated_training_rows(rows - once, rows))
}

/// Returns the number of different rows in some columns. Rows are compared by checksums. The probability that two of a million different rows
/// have the same checksum is 3e-8.
fn kinds(columns: &[&Column], rows: usize) -> usize {
    let key = |at: usize| {
        let mut checksum = Checksum::default();
        columns
            .iter()
            .for_each(|column| checksum.add(&column.train[at].to_bits().to_le_bytes()));
        checksum.value()
    };
    different((0..rows).map(key).collect())
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
