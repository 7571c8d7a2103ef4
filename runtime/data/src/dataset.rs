//! One split of a data item: rows for training, validation and testing, prepared for the model.

use crate::diagnostics::{self, Faults};
use crate::expression::{self, Scores};
use crate::images::Images;
use crate::inputs::{self, axes_of, channel_size};
use crate::rows::{RowField, Rows};
use crate::scaled::{InputValues, ScaledBytes};
use crate::source::{Input, LoadedData, scaled_bytes};
use crate::split::{Parts, stream};
use crate::standardise::{FittedStandardisation, Standardisation};
use crate::table::{Array, ArrayValues, Table};
use bnnc_abi::corruption::Shift;
use bnnc_base::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::iter::repeat_n;
use std::ops::Range;

/// The rows of one split, prepared for the model.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The rows for training.
    pub train: Rows,
    /// The rows for validation. They are held out for early stopping.
    pub validation: Rows,
    /// The rows for testing.
    pub test: Rows,
    /// The out-of-distribution rows (outliers). The targets of outliers are meaningless.
    pub outliers: Rows,
    /// The images of the test rows. `None` if the program does not rotate or corrupt images and does not
    /// shuffle them to make outliers.
    pub images: Option<Images>,
    /// The means, standard deviations and levels of the training rows. All rows are prepared with
    /// these statistics.
    pub preparation: Preparation,
    /// The columns of the shared table.
    pub shared: Vec<Array>,
    /// The arrays of the data files that all examples share.
    pub whole: Vec<Array>,
    /// The training rows of each file, as a range of positions in `train`.
    pub shards: Vec<Range<usize>>,
    /// Warnings about the data, which do not stop the run.
    pub warnings: Vec<Diagnostic>,
}

impl Dataset {
    /// For each rotation angle except the first, returns a copy of the test rows with the images
    /// rotated by this angle. The images in [`Dataset::test`] are rotated by the first angle.
    pub fn rotated(&self) -> impl Iterator<Item = (f64, Rows)> {
        let images = self.images.iter();
        images.flat_map(|images| {
            let others = images.degrees().iter().skip(1);
            others.map(|degrees| (*degrees, images.rotated(&self.test, &self.preparation, *degrees)))
        })
    }

    /// For each shift of the data item, returns a copy of the test rows with the images corrupted by this shift.
    pub fn shifted(&self) -> impl Iterator<Item = (Shift, Rows)> {
        let images = self.images.iter();
        images.flat_map(|images| images.shifted(&self.test, &self.preparation))
    }

    /// Returns a column of the shared table.
    pub fn shared(&self, name: &str) -> Option<&Array> {
        self.shared.iter().find(|array| array.name == name)
    }

    /// Returns the array `name` of the data files. All examples share this array.
    pub fn whole(&self, name: &str) -> Option<&Array> {
        self.whole.iter().find(|array| array.name == name)
    }
}

/// The statistics of the training rows. All rows are prepared for the model with these statistics.
/// The posterior stores them, so that new rows are prepared in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// One standardisation per input column. The standardisation is applied to the value multiplied
    /// by the `scale` of the data item.
    pub inputs: Vec<Standardisation>,
    /// The names of the input columns, for messages.
    #[serde(default)]
    pub columns: Vec<String>,
    /// For each array that is a separate input, the name of the array, and one standardisation per element.
    pub named: Vec<(String, Vec<Standardisation>)>,
    /// The mean and the standard deviation of each call of `zscore`, in the order of evaluation.
    pub zscores: Vec<Standardisation>,
    /// The name of the target, or `None` without a target.
    pub target_name: Option<String>,
    /// The standardisation of the target.
    pub target: Standardisation,
    /// The name of each text column, and the distinct strings (levels) that occur in it.
    pub levels: Vec<(String, Vec<String>)>,
    /// For each array with several numbers per row, the name of the array and the axes of one row.
    #[serde(default)]
    pub axes: Vec<(String, Vec<usize>)>,
    /// If the inputs are one array, the axes of one of its rows, as in the file.
    #[serde(default)]
    pub input_axes: Vec<usize>,
    /// True if the inputs are one array whose elements are bytes, such as pixels.
    #[serde(default)]
    pub has_byte_inputs: bool,
}

impl Preparation {
    /// Returns whether the inputs of a row are one image: an array with the axes channel, row and column, or an array of bytes with
    /// the axes row and column. In other arrays with two axes, the columns may have different units.
    pub fn has_images(&self) -> bool {
        let axes = self.input_axes.len();
        axes > 2 || axes == 2 && self.has_byte_inputs
    }
}

/// Builds one split of a data item from the loaded data of this item.
pub(crate) fn cut(source: &LoadedData, parts: Parts, seed: u64) -> Result<Dataset, Faults> {
    let mut zscores = Vec::new();
    let columns = input_columns(
        &source.inputs,
        &source.table,
        &mut Scores::Fit(&parts.train, source.spec.divisor, &mut zscores),
    )?;
    let mut warnings = Vec::new();
    let preparation = fit(source, &columns, &parts.train, &zscores, &mut warnings);
    let twice = source.table.arrays.iter().filter_map(|array| {
        let pair = array.spellings.as_ref()?;
        Some(diagnostics::two_spellings(
            &source.table.path(),
            &array.name,
            pair,
        ))
    });
    warnings.extend(twice);
    let rows = |part: &[usize], kind: &str| {
        let mut rows = assemble(source, &columns, &preparation, part);
        mark_unseen(source, &mut rows, &parts.train, kind);
        rows
    };
    let train = rows(&parts.train, "training");
    let validation = rows(&parts.validation, "validation");
    let mut test = rows(&parts.test, "test");
    let images = Images::of(source, &parts.test, stream(&source.spec, "shifts", seed))?;
    let outliers = match (&source.outliers, &images) {
        (Some(table), _) => preparation.rows_of(&source.spec, table.clone(), (&[], None))?,
        (None, Some(images)) => images.shuffled(&test, &preparation, stream(&source.spec, "outliers", seed)),
        (None, None) => test.none(),
    };
    if let (Some(images), Some(degrees)) = (&images, source.spec.rotate.first()) {
        test = images.rotated(&test, &preparation, *degrees);
    }
    let target = preparation.target_name.as_deref();
    let faults: Faults = [&validation, &test]
        .into_iter()
        .filter_map(|rows| rows.field(target?)?.fault.clone())
        .map(|fault| *fault)
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let shards = shards(&source.table, &parts.train);
    Ok(Dataset {
        train,
        validation,
        test,
        outliers,
        images,
        preparation,
        shared: source.shared.clone(),
        whole: whole(source),
        shards,
        warnings,
    })
}

/// One entry of the inputs: an array, or the values of an expression.
pub(crate) enum InputColumn<'a> {
    Array(&'a Array),
    Computed(String, Vec<f64>),
    /// A single element without values in memory, because the program does not read it.
    Unread,
}

impl InputColumn<'_> {
    pub(crate) fn width(&self) -> usize {
        match self {
            InputColumn::Array(array) => array.width(),
            InputColumn::Computed(..) | InputColumn::Unread => 1,
        }
    }

    fn value(&self, row: usize, element: usize) -> f64 {
        match self {
            InputColumn::Array(array) => array.values.real(row * array.width() + element),
            InputColumn::Computed(_, values) => values[row],
            InputColumn::Unread => f64::NAN,
        }
    }

    fn name(&self, element: usize) -> String {
        match self {
            InputColumn::Array(array) if array.axes().is_empty() => array.name.clone(),
            InputColumn::Array(array) => format!("{}[{element}]", array.name),
            InputColumn::Computed(text, _) => text.clone(),
            InputColumn::Unread => String::new(),
        }
    }
}

pub(crate) fn input_columns<'a>(
    inputs: &[Input],
    table: &'a Table,
    scores: &mut Scores<'_>,
) -> Result<Vec<InputColumn<'a>>, Faults> {
    let column = |input: &Input| match input {
        Input::Array(place) => Some(Ok(InputColumn::Array(&table.arrays[*place]))),
        Input::Computed(column) => {
            let values = expression::evaluate(column, table, scores).map_err(|fault| vec![fault]);
            Some(values.map(|values| InputColumn::Computed(expression::text(column), values)))
        }
        Input::Aside => None,
    };
    inputs.iter().filter_map(column).collect()
}

/// Computes the means and standard deviations of the training rows. Only the statistics that the
/// program needs are computed.
fn fit(
    source: &LoadedData,
    columns: &[InputColumn<'_>],
    train: &[usize],
    zscores: &[FittedStandardisation],
    warnings: &mut Vec<Diagnostic>,
) -> Preparation {
    let (spec, table) = (&source.spec, &source.table);
    let scored = spec.inputs.iter().flat_map(expression::scored);
    let scored = scored.zip(zscores).filter(|(_, fitted)| !fitted.varies);
    let scored = scored.map(|(column, _)| expression::text(column));
    let mut known = HashSet::new();
    let mut constant: Vec<String> = scored.filter(|name| known.insert(name.clone())).collect();
    let mut fitted = |column: &InputColumn<'_>, elements: Range<usize>, scale: f64| {
        let places = train
            .iter()
            .flat_map(|&row| elements.clone().map(move |at| (row, at)));
        let values = places.map(|(row, element)| column.value(row, element) * scale);
        let found = Standardisation::fit(values, spec.divisor);
        if !found.varies {
            let first = column.name(elements.start);
            let name = match elements.len() {
                1 => first,
                _ => format!("{first} to {}", column.name(elements.end - 1)),
            };
            if known.insert(name.clone()) {
                constant.push(name);
            }
        }
        found.map
    };
    let mut all = |column: &InputColumn<'_>| -> Vec<Standardisation> {
        let width = column.width();
        let Some(size) = fitted_together(source, column) else {
            return vec![Standardisation::IDENTITY; width];
        };
        let starts = (0..width).step_by(size.max(1));
        let maps = starts.flat_map(|at| repeat_n(fitted(column, at..at + size, spec.scale), size));
        maps.collect()
    };
    let maps = columns.iter().flat_map(&mut all).collect();
    let names = |column: &InputColumn<'_>| (0..column.width()).map(|element| column.name(element)).collect();
    let names: Vec<Vec<String>> = columns.iter().map(names).collect();
    let named = source.named.iter().map(|&place| &table.arrays[place]);
    let named = named.filter(|array| !scaled_bytes(spec, &array.name));
    let named = named
        .map(|array| (array.name.clone(), all(&InputColumn::Array(array))))
        .collect();
    let target = source
        .target
        .filter(|&place| table.arrays[place].width() > 0)
        .map(|place| &table.arrays[place]);
    let target = target.filter(|_| spec.standardise_target);
    let target = target.map_or(Standardisation::IDENTITY, |array| {
        fitted(&InputColumn::Array(array), 0..1, 1.0)
    });
    if !constant.is_empty() {
        warnings.push(diagnostics::constant_columns(&table.path(), &constant));
    }
    let texts = table.arrays.iter().zip(&source.levels);
    let texts = texts.filter(|(array, _)| array.values.is_text());
    let levels = texts.map(|(array, &count)| (array.name.clone(), array.values.levels()[..count].to_vec()));
    let wide = table
        .arrays
        .iter()
        .filter(|array| array.per_example && !array.axes().is_empty());
    let axes = wide.map(|array| (array.name.clone(), array.axes().to_vec()));
    let target_name = source.target.map(|place| table.arrays[place].name.clone());
    Preparation {
        inputs: maps,
        columns: names.concat(),
        named,
        zscores: zscores.iter().map(|fitted| fitted.map).collect(),
        target_name,
        target,
        levels: levels.collect(),
        axes: axes.collect(),
        input_axes: inputs::axes(&source.inputs, table).to_vec(),
        has_byte_inputs: inputs::are_bytes(&source.inputs, table),
    }
}

/// Returns the number of consecutive elements of a column that have a common mean and standard deviation. `None` if the column is not
/// standardised.
fn fitted_together(source: &LoadedData, column: &InputColumn<'_>) -> Option<usize> {
    match column {
        InputColumn::Array(array) if source.spec.normalise_channels => {
            channel_size(axes_of(array, &source.table))
        }
        InputColumn::Array(_) | InputColumn::Computed(..) | InputColumn::Unread => {
            source.spec.standardise_inputs.then_some(1)
        }
    }
}

/// Prepares the rows `part` for the model, in this order.
pub(crate) fn assemble(
    source: &LoadedData,
    columns: &[InputColumn<'_>],
    preparation: &Preparation,
    part: &[usize],
) -> Rows {
    let (spec, table) = (&source.spec, &source.table);
    let width = columns.iter().map(InputColumn::width).sum();
    let images = image_input(columns).map(|array| (&array.name, array.rows(part)));
    let inputs = match &images {
        Some((_, ArrayValues::Byte(bytes))) => {
            let maps = preparation.inputs.as_slice().into();
            InputValues::Byte(ScaledBytes::new(bytes.clone(), spec.scale, maps))
        }
        _ => InputValues::Real(input_reals(columns, preparation, spec.scale, part)),
    };
    let arrays = table.arrays.iter().enumerate();
    let per_example = arrays.filter(|(_, array)| array.per_example && !scaled_bytes(spec, &array.name));
    // A name is looked up in a map, in constant time. With linear searches, 40,000 columns would take seconds.
    let named: HashMap<&str, &Vec<Standardisation>> = preparation
        .named
        .iter()
        .map(|(name, maps)| (name.as_str(), maps))
        .collect();
    let fields = per_example.map(|(place, array)| {
        let (scale, standardisation) = match named.get(array.name.as_str()) {
            Some(maps) => (spec.scale, maps.to_vec()),
            None if source.target == Some(place) => (1.0, vec![preparation.target; array.width()]),
            None => (1.0, vec![Standardisation::IDENTITY; array.width()]),
        };
        // If the array is also the inputs, both share the bytes.
        let values = match &images {
            Some((name, values)) if **name == array.name => values.clone(),
            _ => array.rows(part),
        };
        RowField::new(array, values, scale, standardisation)
    });
    let (fields, shards, first_row) = (fields.collect(), table.shards.clone(), table.first_row);
    Rows {
        count: part.len(),
        index: part.to_vec(),
        width,
        inputs,
        fields,
        shards,
        first_row,
        unread: table.unread.clone(),
    }
}

/// Returns the array whose bytes are the inputs. Returns `None` if the inputs are not one array of bytes.
fn image_input<'a>(columns: &[InputColumn<'a>]) -> Option<&'a Array> {
    match columns {
        [InputColumn::Array(array)] => {
            Some(*array).filter(|array| matches!(array.values, ArrayValues::Byte(_)))
        }
        _ => None,
    }
}

/// Returns the inputs of the rows `part`, row by row, scaled and standardised.
fn input_reals(
    columns: &[InputColumn<'_>],
    preparation: &Preparation,
    scale: f64,
    part: &[usize],
) -> Vec<f64> {
    let width: usize = columns.iter().map(InputColumn::width).sum();
    let mut inputs = Vec::with_capacity(part.len() * width);
    for &row in part {
        let mut maps = preparation.inputs.iter();
        for column in columns {
            for element in 0..column.width() {
                let map = maps.next().unwrap_or(&Standardisation::IDENTITY);
                inputs.push(map.apply(column.value(row, element) * scale));
            }
        }
    }
    inputs
}

/// Marks a text field if a chosen row has a level in this field that does not occur in the training
/// rows. If a model reads a marked field, an error is reported.
fn mark_unseen(source: &LoadedData, rows: &mut Rows, train: &[usize], kind: &str) {
    for array in &source.table.arrays {
        let (ArrayValues::Level { codes, levels }, true) = (&array.values, array.per_example) else {
            continue;
        };
        let width = array.width();
        let mut seen = vec![false; levels.len()];
        let elements = train.iter().flat_map(|&row| row * width..(row + 1) * width);
        elements.for_each(|i| seen[codes[i] as usize] = true);
        let unseen = rows.index.iter().enumerate().find_map(|(i, &row)| {
            let codes = &codes[row * width..(row + 1) * width];
            codes
                .iter()
                .find(|&&code| !seen[code as usize])
                .map(|&code| (i, code))
        });
        let Some((i, code)) = unseen else { continue };
        let level = &levels[code as usize];
        let fault = diagnostics::unseen_level(rows.at(i), &array.name, level, kind, source.spec.limit);
        if let Some(field) = rows.fields.iter_mut().find(|field| field.name == array.name) {
            field.fault = Some(Box::new(fault));
        }
    }
}

/// For each file, returns the range of positions in `train` that contains its training rows. The rows in `train`
/// are in the order of the files.
fn shards(table: &Table, train: &[usize]) -> Vec<Range<usize>> {
    let bounds = table.shards.iter().map(|shard| {
        let below = |end: usize| train.partition_point(|&row| row < end);
        below(shard.start)..below(shard.end)
    });
    bounds.filter(|range| !range.is_empty()).collect()
}

fn whole(source: &LoadedData) -> Vec<Array> {
    let arrays = source.table.arrays.iter();
    arrays.filter(|array| !array.per_example).cloned().collect()
}

/// Looks for text in columns that must contain numbers. Returns a diagnostic for the first such text.
pub(crate) fn text_among_numbers<'a>(
    table: &Table,
    mut names: impl Iterator<Item = &'a str>,
    why: &str,
) -> Option<Diagnostic> {
    names.find_map(|name| {
        let (_, array) = table.find(name)?;
        let (row, text) = table.first_text(array)?;
        Some(diagnostics::not_a_number(table.place(row), name, text).help(why))
    })
}
