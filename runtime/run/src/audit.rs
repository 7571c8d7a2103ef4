//! Data and settings from which no run can conclude what it seems to: leaks, copies, gaps between training and test rows.
//!
//! Every check is exact or has a wide margin, so that sound data pass it, and takes one pass over the rows.

mod relation;

use crate::codes::audit as codes;
use crate::feed::examples;
use bnnc_abi::data::{DataSpec, Elements, Test};
use bnnc_abi::manifest::{Binding, Codes, DataSource, Infer, Output, OutputKind, Work};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::{Dataset, Rows};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Cells of inputs above which columns are not examined: images and the like, where a column means little by itself.
const CELLS: usize = 20_000_000;
/// Input columns above which they are not examined.
const COLUMNS: usize = 500;

/// A column of reals that the model reads, in its own units.
struct Column {
    name: String,
    train: Vec<f64>,
    test: Vec<f64>,
}

/// Returns the warnings about an infer and the rows that it is about to use.
pub fn warnings(infer: &Infer, spec: &DataSpec, dataset: &Dataset) -> Vec<Diagnostic> {
    let mut found = settings(infer);
    if examples(&infer.bindings, &dataset.train) != dataset.train.count {
        return found;
    }
    let targets: Vec<(&Output, Column)> = infer
        .outputs
        .iter()
        .filter_map(|output| Some((output, target(infer, output, dataset)?)))
        .collect();
    found.extend(
        targets
            .iter()
            .filter_map(|(output, column)| variation(output, column)),
    );
    found.extend(
        infer
            .bindings
            .iter()
            .filter_map(|binding| untrained(infer, binding, dataset)),
    );
    let columns = inputs(infer, spec, dataset);
    for (output, target) in &targets {
        let leaks = columns.iter().filter_map(|column| {
            let relation = relation::between(&column.train, &target.train)?;
            Some(codes::leak(&column.name, &output.name, relation))
        });
        found.extend(leaks);
    }
    let reals = targets
        .iter()
        .filter(|(output, _)| output.kind == OutputKind::Real);
    let measured = columns.iter().chain(reals.map(|(_, column)| column));
    found.extend(measured.filter_map(missing_as_number));
    let targets: Vec<Column> = targets.into_iter().map(|(_, column)| column).collect();
    found.extend(copies(&columns, &targets, &dataset.test));
    found.extend(columns.iter().filter_map(extrapolation));
    if matches!(spec.test, Test::Fraction(_)) && columns.len() > 1 {
        let is_counting = |column: &&Column| counts_rows(column, dataset);
        found.extend(
            columns
                .iter()
                .find(is_counting)
                .map(|column| codes::ordered_rows(&column.name)),
        );
    }
    found
}

/// Returns the warnings that follow from the options alone.
fn settings(infer: &Infer) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    match &infer.work {
        Work::Sample(sampling) if sampling.chains == 1 => found.push(codes::one_chain(&infer.name)),
        Work::Ensemble(ensemble) if ensemble.members == 1 => found.push(codes::one_member(&infer.name)),
        _ => {}
    }
    // 5 % of the draws are fewer than one.
    let is_few = infer.predictive_draws < 20;
    let draws = matches!(infer.work, Work::Train(_) | Work::Sample(_) | Work::Swag(_));
    let has_quantiles = |output: &Output| matches!(output.kind, OutputKind::Real | OutputKind::Count);
    if is_few && draws && infer.outputs.iter().any(has_quantiles) {
        found.push(codes::few_predictive_draws(&infer.name, infer.predictive_draws));
    }
    found
}

/// A position that test rows select and no training row does. Levels of the data are rejected where they are read.
fn untrained(infer: &Infer, binding: &Binding, dataset: &Dataset) -> Option<Diagnostic> {
    let (Elements::Index(_), Codes::Positions, DataSource::Field(name)) =
        (binding.elements, &binding.codes, &binding.from)
    else {
        return None;
    };
    let is_single = dataset.train.field(name).is_some_and(|field| field.width() == 1);
    if infer.outputs.iter().any(|output| output.name == binding.port) || !is_single || dataset.test.count == 0
    {
        return None;
    }
    let train: HashSet<i32> = dataset.train.ints(name).ok()?.into_iter().collect();
    let test = dataset.test.ints(name).ok()?;
    let level = *test.iter().find(|level| !train.contains(level))?;
    let rows = test.iter().filter(|found| **found == level).count();
    Some(codes::untrained_level(name, level, rows))
}

/// The values of an output with one element per row.
fn target(infer: &Infer, output: &Output, dataset: &Dataset) -> Option<Column> {
    let binding = infer
        .bindings
        .iter()
        .find(|binding| binding.port == output.name)?;
    match &binding.from {
        DataSource::Field(name) => field(name, dataset),
        _ => None,
    }
}

/// A numeric field with one element per row.
fn field(name: &str, dataset: &Dataset) -> Option<Column> {
    let single = dataset
        .train
        .field(name)
        .is_some_and(|field| field.width() == 1 && !field.values.is_text());
    let of = |rows: &Rows| rows.original(name).ok();
    single.then_some(())?;
    let test = match dataset.test.count {
        0 => Vec::new(),
        _ => of(&dataset.test)?,
    };
    Some(Column {
        name: name.to_owned(),
        train: of(&dataset.train)?,
        test,
    })
}

/// The numeric columns that the model reads, but for its outputs.
fn inputs(infer: &Infer, spec: &DataSpec, dataset: &Dataset) -> Vec<Column> {
    let width = dataset.train.width;
    if width > COLUMNS || width * dataset.train.count > CELLS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for binding in &infer.bindings {
        if infer.outputs.iter().any(|output| output.name == binding.port) {
            continue;
        }
        match &binding.from {
            DataSource::Inputs => found.extend((0..width).map(|at| element(at, spec, dataset))),
            DataSource::Input(at) => found.push(element(*at, spec, dataset)),
            DataSource::Field(name) => found.extend(field(name, dataset)),
            DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => {}
        }
    }
    found
}

/// One of the inputs of the data item, in its own units.
fn element(at: usize, spec: &DataSpec, dataset: &Dataset) -> Column {
    let preparation = &dataset.preparation;
    let map = preparation
        .inputs
        .get(at)
        .copied()
        .unwrap_or(bnnc_data::Standardisation::IDENTITY);
    let of = |rows: &Rows| -> Vec<f64> {
        let values = (0..rows.count).map(|row| rows.input(row)[at]);
        values.map(|value| map.undo(value) / spec.scale).collect()
    };
    Column {
        name: preparation
            .columns
            .get(at)
            .cloned()
            .unwrap_or_else(|| format!("input {at}")),
        train: of(&dataset.train),
        test: if dataset.test.width == dataset.train.width {
            of(&dataset.test)
        } else {
            Vec::new()
        },
    }
}

/// Whether the target of the training rows varies, and has all classes.
fn variation(output: &Output, column: &Column) -> Option<Diagnostic> {
    let distinct: BTreeSet<u64> = column.train.iter().map(|value| value.to_bits()).collect();
    let classes = match output.kind {
        OutputKind::Classes(classes) => classes,
        OutputKind::Bool => 2,
        OutputKind::Real | OutputKind::Count => 1,
    };
    match (distinct.len(), column.train.first()) {
        (1, Some(value)) if column.train.len() > 1 => {
            Some(codes::constant_target(&output.name, *value, column.train.len()))
        }
        (found, Some(_)) if found < classes => Some(codes::absent_classes(&output.name, found, classes)),
        _ => None,
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values
        .iter()
        .fold(start, |(low, high), value| (low.min(*value), high.max(*value)))
}

/// A value of nines at the end of a column, in two rows or more, further from the others than three times their range.
fn missing_as_number(column: &Column) -> Option<Diagnostic> {
    const CODES: [f64; 6] = [99.0, 999.0, 9999.0, 99999.0, 999_999.0, 9_999_999.0];
    let (low, high) = range(&column.train);
    [low, high].into_iter().find_map(|code| {
        let others: Vec<f64> = column
            .train
            .iter()
            .copied()
            .filter(|value| *value != code)
            .collect();
        let rows = column.train.len() - others.len();
        let (low, high) = range(&others);
        let distance = (low - code).abs().min((high - code).abs());
        let is_code = CODES.contains(&code.abs()) && rows > 1 && others.len() > rows;
        (is_code && distance > 3.0 * (high - low)).then(|| codes::missing_as_number(&column.name, code, rows))
    })
}

/// Test rows that equal a training row in every column, where a column is continuous: most of its values occur once.
fn copies(inputs: &[Column], targets: &[Column], test: &Rows) -> Option<Diagnostic> {
    let columns: Vec<&Column> = inputs.iter().chain(targets).collect();
    let rows = columns.first()?.train.len();
    let is_continuous = columns.iter().any(|column| {
        let distinct: BTreeSet<u64> = column.train.iter().map(|value| value.to_bits()).collect();
        2 * distinct.len() > rows
    });
    if inputs.is_empty() || !is_continuous || columns.iter().any(|column| column.test.len() != test.count) {
        return None;
    }
    let key = |of: &dyn Fn(&Column) -> f64| -> Vec<u64> {
        columns.iter().map(|column| of(column).to_bits()).collect()
    };
    let train: HashMap<Vec<u64>, usize> = (0..rows)
        .map(|row| (key(&|column| column.train[row]), row))
        .collect();
    let copied: Vec<usize> = (0..test.count)
        .filter(|row| train.contains_key(&key(&|column| column.test[*row])))
        .collect();
    if copied.len() < 2 || 10 * copied.len() < test.count {
        return None;
    }
    let (path, row) = test.place(copied[0]);
    let example = format!("row {row} of {}", path.display());
    Some(codes::repeated_rows(copied.len(), test.count, &example))
}

/// A column that is beyond its training range by half of it in a fifth of the test rows.
fn extrapolation(column: &Column) -> Option<Diagnostic> {
    let (low, high) = range(&column.train);
    let margin = 0.5 * (high - low);
    let is_outside = |value: &&f64| **value < low - margin || **value > high + margin;
    let outside = column.test.iter().filter(is_outside).count();
    let test = column.test.len();
    let is_far = outside > 1 && 5 * outside >= test;
    is_far.then(|| codes::extrapolation(&column.name, (outside, test), [(low, high), range(&column.test)]))
}

/// Whether a column has the same step from each row of the file to the next.
fn counts_rows(column: &Column, dataset: &Dataset) -> bool {
    let rows = dataset.train.index.iter().chain(&dataset.test.index).copied();
    let mut values: Vec<(usize, f64)> = rows
        .zip(column.train.iter().chain(&column.test).copied())
        .collect();
    values.sort_by_key(|(row, _)| *row);
    let [(first, start), .., (last, end)] = values[..] else {
        return false;
    };
    let step = (end - start) / (last - first).max(1) as f64;
    let is_on_line = |(row, value): &(usize, f64)| {
        (value - start - step * (row - first) as f64).abs() <= 1e-9 * (end - start).abs()
    };
    values.len() >= 10 && step != 0.0 && values.iter().all(is_on_line)
}
