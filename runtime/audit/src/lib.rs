//! Checks for data and settings that make the results of a run misleading, for example leaks, duplicates, and gaps between training and test rows.
//!
//! Every check is exact or has a wide margin, so that sound data pass it. Every check takes one pass over the rows.

mod blocks;
mod centre;
mod coefficients;
mod collapse;
mod collinear;
mod columns;
mod combination;
mod constant;
mod copies;
pub mod diagnostics;
mod found;
mod improper;
mod inflation;
mod leak;
mod levels;
mod neighbours;
mod order;
mod orthogonal;
mod relation;
mod replicates;
pub mod scales;
mod separation;
mod targets;
mod variation;

use crate::diagnostics::data as codes;
use bnnc_abi::data::{DataSpec, Test};
use bnnc_abi::manifest::{Binding, Codes, DataSource, InferenceBlock, Output, OutputKind};
use bnnc_abi::schema::Elements;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::feed::examples;
use bnnc_data::metrics::extent;
use bnnc_data::{Dataset, Rows};
pub use centre::worse_than_centre;
pub use collapse::collapsed;
pub use constant::ignored_inputs;
pub use found::conflicts;
pub use improper::unbounded;
pub use separation::separated;
use std::collections::{BTreeSet, HashSet};

/// If the inputs have more cells than this, columns are not examined. In such large data, for example images, a single column has little meaning.
const CELLS: usize = 20_000_000;
/// If there are more input columns than this, columns are not examined.
const COLUMNS: usize = 500;

/// A column of real numbers that the model uses, in original units.
struct Column {
    name: String,
    train: Vec<f64>,
    test: Vec<f64>,
}

/// Returns the warnings about an inference block and the rows that it uses.
pub fn warnings(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = order::of_series(infer, dataset).into_iter().collect();
    if examples(&infer.bindings, &dataset.train) != dataset.train.count {
        found.extend(collinear::warnings(infer, spec, dataset));
        return found;
    }
    let mut targets: Vec<(&Output, Column)> = Vec::new();
    for output in &infer.outputs {
        targets.extend(target(infer, output, dataset).map(|column| (output, column)));
    }
    for (output, column) in &targets {
        found.extend(variation(output, column));
    }
    for binding in &infer.bindings {
        found.extend(untrained(infer, binding, dataset));
    }
    let columns = inputs(infer, spec, dataset);
    for (output, target) in &targets {
        found.extend(leak::warnings(&columns, output, target));
    }
    for output in &infer.outputs {
        found.extend(leak::codes_of_classes(infer, output, &dataset.train, &columns));
    }
    let reals = targets
        .iter()
        .filter(|(output, _)| output.kind == OutputKind::Real);
    let reals: Vec<&Column> = reals.map(|(_, column)| column).collect();
    for target in &reals {
        found.extend(targets::cut_off(target, &columns));
    }
    for target in &reals {
        found.extend(targets::sorted(target, spec.limit));
    }
    for output in &infer.outputs {
        found.extend(targets::absent_levels(infer, output, dataset, spec.limit));
    }
    for output in &infer.outputs {
        found.extend(bounded(infer, output, dataset, &columns));
    }
    let measured = columns.iter().chain(reals.iter().copied());
    found.extend(measured.clone().filter_map(missing_as_number));
    found.extend(measured.filter_map(columns::dates));
    found.extend(collinear::warnings(infer, spec, dataset));
    found.extend(columns::same_levels(&fields(infer), dataset));
    found.extend(columns::missing_levels(&fields(infer), dataset));
    if columns.len() > 1 {
        found.extend(columns.iter().filter_map(columns::identifier));
    }
    let targets: Vec<&Column> = targets.iter().map(|(_, column)| column).collect();
    found.extend(match copies::are_whole(infer, spec, dataset) {
        true => copies::of_arrays(dataset, &targets),
        false => copies::of_columns((&columns, &targets), &reals, &dataset.test),
    });
    found.extend(measures(infer, spec, dataset).iter().filter_map(extrapolation));
    if matches!(spec.test, Test::Fraction(_)) && columns.len() > 1 {
        let is_counting = |column: &&Column| counts_rows(column, dataset);
        let ordered = columns.iter().find(is_counting);
        found.extend(ordered.map(|column| codes::ordered_rows(&column.name)));
    }
    found
}

/// The smallest and the largest value of each numeric input column in the training rows, in original units.
pub type Ranges = Vec<(String, (f64, f64))>;

/// For the training rows of an inference block, returns the ranges of the numeric inputs.
pub fn ranges(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Ranges {
    let of_column = |column: Column| (column.name, range(&column.train));
    let found = measures(infer, spec, dataset).into_iter().map(of_column);
    found.filter(|(_, (low, high))| low <= high).collect()
}

/// Returns a warning for each input that is far outside its training range in some of the new rows. A value is far outside if its distance from
/// the range is more than half of the range. The new rows are the test rows of `dataset`.
pub fn far(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset, ranges: &Ranges) -> Vec<Diagnostic> {
    let of_column = |column: Column| {
        let (_, known) = ranges.iter().find(|(name, _)| *name == column.name)?;
        let outside = count_outside(&column.test, *known);
        let (rows, ranges) = (column.test.len(), [*known, range(&column.test)]);
        (outside > 0).then(|| codes::extrapolation(&column.name, outside, rows, ranges, "new"))
    };
    measures(infer, spec, dataset)
        .into_iter()
        .filter_map(of_column)
        .collect()
}

/// Returns a warning if a test row selects a position of an array that no training row selects. Unseen levels are already rejected when the data
/// are read.
fn untrained(infer: &InferenceBlock, binding: &Binding, dataset: &Dataset) -> Option<Diagnostic> {
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

/// Returns the values of an output with one element per row.
fn target(infer: &InferenceBlock, output: &Output, dataset: &Dataset) -> Option<Column> {
    let binding = infer.binding(&output.name)?;
    match &binding.from {
        DataSource::Field(name) => field(name, dataset),
        _ => None,
    }
}

/// Returns the columns of the file that the model uses by name.
fn fields(infer: &InferenceBlock) -> Vec<&str> {
    infer
        .bindings
        .iter()
        .filter_map(|binding| binding.from.column())
        .collect()
}

/// Returns a numeric column of the file that has one element per row.
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

/// Returns the numeric columns that the model uses as inputs.
fn inputs(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Vec<Column> {
    inputs_of(infer, dataset)
        .flat_map(|binding| columns_of(binding, spec, dataset))
        .collect()
}

/// Returns the columns of [`inputs`], except the columns that select a position. The numbers in such a column are names, and not measurements.
fn measures(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Vec<Column> {
    inputs_of(infer, dataset)
        .filter(|binding| !matches!(binding.elements, Elements::Index(_)))
        .flat_map(|binding| columns_of(binding, spec, dataset))
        .collect()
}

/// Returns a warning if many values of a real output are beyond the range that the mean of the output can have.
fn bounded(
    infer: &InferenceBlock,
    output: &Output,
    dataset: &Dataset,
    inputs: &[Column],
) -> Option<Diagnostic> {
    let bounds = output.mean_range.filter(|_| output.kind == OutputKind::Real)?;
    let column = target(infer, output, dataset)?;
    let preparation = &dataset.preparation;
    let is_target = preparation.target_name.as_deref() == Some(&*column.name);
    let undo = |end: f64| match is_target {
        true => preparation.target.undo(end),
        false => end,
    };
    let is_standardised = is_target && preparation.target != bnnc_data::Standardisation::IDENTITY;
    let noise = targets::noise(&column, inputs);
    let bounds = (undo(bounds.0), undo(bounds.1));
    targets::out_of_reach((&column, &output.name), bounds, noise, is_standardised)
}

/// Returns whether the input columns are examined.
fn has_columns(dataset: &Dataset) -> bool {
    let width = dataset.train.width;
    width <= COLUMNS && width * dataset.train.count <= CELLS
}

/// Returns the inputs of the model. Returns no inputs if the data have too many columns or cells to examine.
fn inputs_of<'a>(infer: &'a InferenceBlock, dataset: &Dataset) -> impl Iterator<Item = &'a Binding> {
    let is_small = has_columns(dataset);
    let is_input =
        move |binding: &&Binding| is_small && infer.outputs.iter().all(|output| output.name != binding.port);
    infer.bindings.iter().filter(is_input)
}

/// Returns the numeric columns of an input. Each column is computed when it is needed.
fn columns_of<'a>(
    binding: &'a Binding,
    spec: &'a DataSpec,
    dataset: &'a Dataset,
) -> Box<dyn ExactSizeIterator<Item = Column> + 'a> {
    match &binding.from {
        DataSource::Inputs => Box::new((0..dataset.train.width).map(|at| element(at, spec, dataset))),
        DataSource::Input(at) => Box::new([*at].into_iter().map(|at| element(at, spec, dataset))),
        DataSource::Field(name) => Box::new(field(name, dataset).into_iter()),
        DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => Box::new([].into_iter()),
    }
}

/// Returns one input of the data item, in original units.
fn element(at: usize, spec: &DataSpec, dataset: &Dataset) -> Column {
    let preparation = &dataset.preparation;
    let map = preparation
        .inputs
        .get(at)
        .copied()
        .unwrap_or(bnnc_data::Standardisation::IDENTITY);
    let of = |rows: &Rows| -> Vec<f64> {
        let values = (0..rows.count).map(|row| rows.inputs.real(row * rows.width + at));
        values.map(|value| exact(map.undo(value) / spec.scale)).collect()
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

/// Rounds a value to a whole number if the difference may be a rounding error. Such errors arise when a standardisation is undone.
fn exact(value: f64) -> f64 {
    let whole = value.round();
    if (value - whole).abs() <= 1e-12 * whole.abs().max(1.0) {
        whole
    } else {
        value
    }
}

/// Returns a warning if the target is the same in all training rows, has only two real values, or lacks some classes.
fn variation(output: &Output, column: &Column) -> Option<Diagnostic> {
    let classes = output.kind.classes().unwrap_or(1);
    // Counting stops at this number. A set of all values of a long column would take several times the memory of the column.
    let most = classes.max(2) + 1;
    let mut distinct = BTreeSet::new();
    for value in &column.train {
        distinct.insert(value.to_bits());
        if distinct.len() == most {
            break;
        }
    }
    match (distinct.len(), column.train.first()) {
        (1, Some(value)) if column.train.len() > 1 => {
            Some(codes::constant_target(&output.name, *value, column.train.len()))
        }
        (2, Some(_)) if output.kind == OutputKind::Real && column.train.len() >= 20 => {
            let (low, high) = range(&column.train);
            Some(codes::two_values(&output.name, low, high))
        }
        (found, Some(_)) if found < classes => Some(codes::absent_classes(&output.name, found, classes)),
        _ => None,
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    extent(values.iter().copied())
}

/// Returns a warning if the smallest or the largest value of a column is a common code for missing values. Such codes are numbers such as 999, and
/// the limits of number formats. The value must occur in at least two rows. The value must also be far from the other values: its distance from
/// the nearest of them must be more than three times the range of the other values.
fn missing_as_number(column: &Column) -> Option<Diagnostic> {
    const CODES: [f64; 15] = [
        99.0,
        999.0,
        9999.0,
        99999.0,
        999_999.0,
        9_999_999.0,
        32_767.0,
        32_768.0,
        65_535.0,
        2_147_483_647.0,
        2_147_483_648.0,
        1e20,
        1e30,
        1e35,
        1e36,
    ];
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

/// Returns a warning if a column is far outside its training range in a fifth of the test rows. A value is far outside if its distance from the
/// range is more than half of the range.
fn extrapolation(column: &Column) -> Option<Diagnostic> {
    let train = range(&column.train);
    let (outside, test) = (count_outside(&column.test, train), column.test.len());
    let is_far = outside > 1 && 5 * outside >= test;
    let ranges = [train, range(&column.test)];
    is_far.then(|| codes::extrapolation(&column.name, outside, test, ranges, "test"))
}

/// Returns the number of values whose distance from the range is more than half the width of the range.
fn count_outside(values: &[f64], (low, high): (f64, f64)) -> usize {
    let margin = 0.5 * (high - low);
    let is_outside = |value: &&f64| **value < low - margin || **value > high + margin;
    values.iter().filter(is_outside).count()
}

/// Returns whether a column increases by the same step from each row of the file to the next.
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
