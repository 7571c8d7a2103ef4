//! Checks for rows that repeat other rows: test rows that also occur among the training rows, and training rows that repeat earlier training rows.

use super::columns::{different, distinct};
use super::{Column, replicates};
use crate::diagnostics::data as codes;
use bnnc_abi::data::{Contents, DataSpec};
use bnnc_abi::manifest::{DataSource, InferenceBlock};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::{Dataset, Rows};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

/// With fewer rows than this, a pattern of whole numbers may be due to chance.
const LEAST: usize = 20;

/// Rows of an array are compared as a whole if they have at least this number of elements. The elements of an image have few different values, but
/// two different images hardly ever agree in all of them.
const WIDE: usize = 16;

/// The check for different elements reads at most this number of rows.
const LOOKED_AT: usize = 100;

/// Returns whether the rows are compared as a whole. This is the case if the only input of the model is an array with a
/// height and a width. It is also the case for an array that has too many columns to examine one by one, unless the array may
/// be a code for a few levels, such as a one-hot code.
pub(super) fn are_whole(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> bool {
    let is_output = |port: &str| infer.outputs.iter().any(|output| output.name == port);
    let mut inputs = infer.bindings.iter().filter(|binding| !is_output(&binding.port));
    let are_arrays = inputs.all(|binding| matches!(binding.from, DataSource::Inputs));
    let train = &dataset.train;
    let is_code =
        |row: usize| different(train.input(row).iter().map(|value| value.to_bits()).collect()) < WIDE;
    let is_flat = dataset.preparation.input_axes.len() < 2;
    let has_columns = super::has_columns(dataset) || (0..train.count.min(LOOKED_AT)).all(is_code);
    are_arrays && spec.format.contents() == Contents::Pair && train.width >= WIDE && !(is_flat && has_columns)
}

/// Returns the warnings about copies among the rows of an array. There is one warning if at least a tenth of the test rows are
/// training rows, and another if at least a tenth of the training rows repeat an earlier row. Copies have the same target. A grid of
/// points that is measured several times has few different
/// inputs, and the targets of the same point agree only by chance. Such rows are not compared.
pub(super) fn of_arrays(dataset: &Dataset, targets: &[&Column]) -> Vec<Diagnostic> {
    let (train, test) = (&dataset.train, &dataset.test);
    let has_rows = |column: &&Column| column.train.len() == train.count && column.test.len() == test.count;
    if targets.is_empty() || !targets.iter().all(has_rows) {
        return Vec::new();
    }
    let values = |of: fn(&Column) -> &[f64]| targets.iter().map(|column| of(column)).collect::<Vec<_>>();
    let (mut known, mut repeats) = (HashSet::new(), Vec::new());
    for (row, key) in keys(train, &values(|column| &column.train))
        .into_iter()
        .enumerate()
    {
        if !known.insert(key) {
            repeats.push(row);
        }
    }
    let points = different(keys(train, &[]));
    let of_grid = by_chance(train.count, (points, kinds(targets, train.count)));
    if 2 * points < train.count && !are_fewer(known.len(), of_grid) {
        return Vec::new();
    }
    let tests = keys(test, &values(|column| &column.test)).into_iter().enumerate();
    let copied: Vec<usize> = tests
        .filter_map(|(row, key)| known.contains(&key).then_some(row))
        .collect();
    let mut found = Vec::new();
    if train.count >= LEAST && 10 * repeats.len() >= train.count {
        let example = place(train, repeats[0]);
        found.push(codes::repeated_training_rows(
            repeats.len(),
            train.count,
            Some(&example),
        ));
    }
    found.extend(tested(&copied, test));
    found
}

/// Returns the expected number of different rows, if every row is drawn uniformly from all pairs of an input and a target.
fn by_chance(rows: usize, (inputs, targets): (usize, usize)) -> f64 {
    let pairs = inputs as f64 * targets as f64;
    -pairs * (-(rows as f64) / pairs).exp_m1()
}

/// Returns whether the number of different rows is clearly below the number that is expected by chance.
pub(super) fn are_fewer(different: usize, expected: f64) -> bool {
    (different as f64) < 0.75 * expected
}

/// Returns a number that is the same for rows with the same elements. The probability that two of a million different rows have the same number is
/// 3e-8.
fn key<'a>(elements: impl Iterator<Item = &'a f64>) -> u64 {
    let mut hash = DefaultHasher::new();
    elements.for_each(|element| hash.write_u64(element.to_bits()));
    hash.finish()
}

/// Returns the [`key`] of each row of arrays: of its inputs and its `targets`.
fn keys(rows: &Rows, targets: &[&[f64]]) -> Vec<u64> {
    let of = |row: usize| {
        let targets = targets.iter().map(|target| &target[row]);
        key(rows.input(row).iter().chain(targets))
    };
    (0..rows.count).map(of).collect()
}

/// Returns the warnings about copies among rows that consist of columns. `reals` are the continuous targets.
pub(super) fn of_columns(
    (inputs, targets): (&[Column], &[&Column]),
    reals: &[&Column],
    test: &Rows,
) -> Vec<Diagnostic> {
    let repeated = repeated(inputs, reals);
    repeated
        .into_iter()
        .chain(copies(inputs, targets, test))
        .collect()
}

/// Returns a warning if two conditions hold. First, at least a third of the training rows have the same inputs and target as an earlier
/// row. Second, there are more such rows than chance would produce among rounded values.
fn repeated(inputs: &[Column], targets: &[&Column]) -> Option<Diagnostic> {
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
    let is_more = || replicates::are_copies(&keys_of(&inputs, rows), targets);
    (is_repeated && is_more()).then(|| codes::repeated_training_rows(rows - once, rows, None))
}

/// Returns the number of different training rows in some columns. Rows are compared by their [`key`].
fn kinds(columns: &[&Column], rows: usize) -> usize {
    different(keys_of(columns, rows))
}

/// Returns the [`key`] of each row of some columns.
fn keys_of(columns: &[&Column], rows: usize) -> Vec<u64> {
    let key = |at: usize| key(columns.iter().map(|column| &column.train[at]));
    (0..rows).map(key).collect()
}

/// Returns a warning about test rows that equal a training row in every column. The check runs only if at least one column is continuous. A column
/// is continuous if it has more different values than half the number of different rows. If values of this column occur several times in the
/// training rows, a warning is returned only if chance does not explain the copies.
fn copies(inputs: &[Column], targets: &[&Column], test: &Rows) -> Option<Diagnostic> {
    let columns: Vec<&Column> = inputs.iter().chain(targets.iter().copied()).collect();
    let rows = columns.first()?.train.len();
    if inputs.is_empty() || columns.iter().any(|column| column.test.len() != test.count) {
        return None;
    }
    let values: Vec<usize> = columns.iter().map(|column| distinct(&column.train)).collect();
    let most = 2 * values.iter().max()?;
    if most <= kinds(&columns, rows) {
        return None;
    }
    let train: HashSet<u64> = (0..rows)
        .map(|row| key(columns.iter().map(|column| &column.train[row])))
        .collect();
    let is_copied = |row: &usize| train.contains(&key(columns.iter().map(|column| &column.test[*row])));
    let copied: Vec<usize> = (0..test.count).filter(is_copied).collect();
    // The probability that a row is a training row, if rows are drawn uniformly from all combinations of the values of the columns.
    let combinations: f64 = values.iter().map(|values| *values as f64).product();
    let chance = -(-(rows as f64) / combinations).exp_m1();
    let is_chance = most <= rows && copied.len() as f64 <= 2.0 * chance * test.count as f64;
    tested(&copied, test).filter(|_| !is_chance)
}

/// Returns a warning if at least a tenth of the test rows are training rows too. `copied` contains these test rows.
fn tested(copied: &[usize], test: &Rows) -> Option<Diagnostic> {
    let is_reported = copied.len() >= 2 && 10 * copied.len() >= test.count;
    is_reported.then(|| codes::repeated_rows(copied.len(), test.count, &place(test, copied[0])))
}

fn place(rows: &Rows, at: usize) -> String {
    let (path, row) = rows.place(at);
    format!("row {row} of {}", path.display())
}
