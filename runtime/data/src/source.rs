//! Reads the files of a data item. Determines the inputs, the target and the schema.

use crate::dataset::{self, Dataset, Preparation};
use crate::diagnostics::{self, Faults};
use crate::expression::{self, Scores};
use crate::images::ImageSize;
pub(crate) use crate::inputs::Input;
use crate::inputs::{are_bytes, axes, check_channels, entry, named_inputs, resolve_inputs};
use crate::read::{self, Reading};
use crate::split::{self, Pool};
use crate::table::{Array, ArrayValues, Table};
use bnnc_abi::data::{ColumnExpr, Contents, DataSpec, Outliers, Test};
use bnnc_abi::schema::{Field, FieldKind, Schema};
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Returns the checksum of all bytes that a reader has left.
///
/// # Errors
/// Fails if the bytes cannot be read.
pub fn checksum(mut bytes: impl Read) -> io::Result<Checksum> {
    let (mut block, mut checksum) = (vec![0; 1 << 16], Checksum::default());
    loop {
        match bytes.read(&mut block)? {
            0 => return Ok(checksum),
            count => checksum.add(&block[..count]),
        }
    }
}

/// All data of a data item, in memory. The rows of each split are selected from them.
#[derive(Clone, Debug)]
pub struct LoadedData {
    pub(crate) spec: DataSpec,
    /// The rows of the data files, followed by the rows of the test files. A computed target is the
    /// last array.
    pub(crate) table: Table,
    /// The number of rows of the data files.
    pub(crate) rows: usize,
    /// For each array, the number of levels that occur in the data files, or 0 for numbers. Test
    /// files may add more levels.
    pub(crate) levels: Vec<usize>,
    pub(crate) inputs: Vec<Input>,
    /// The arrays that are separate inputs. These arrays are standardised even if a program binds
    /// them by name.
    pub(crate) named: Vec<usize>,
    pub(crate) target: Option<usize>,
    /// The columns of the shared table.
    pub(crate) shared: Vec<Array>,
    /// The table of outliers, read from a separate file.
    pub(crate) outliers: Option<Table>,
    splits: Vec<Vec<usize>>,
    schema: Schema,
    /// The checksum of each file, computed while the file was read.
    checksums: BTreeMap<PathBuf, Checksum>,
}

impl LoadedData {
    /// Reads all files of a data item. Makes every check that does not depend on a split.
    pub fn read(spec: &DataSpec) -> Result<LoadedData, Faults> {
        LoadedData::read_within(spec, None)
    }

    /// Reads the files of several data items. Each item may use at most `most` bytes of memory.
    /// Returns the data of each item, by the name of the item.
    ///
    /// # Errors
    /// Returns the diagnostics of all items that cannot be read.
    pub fn read_all(specs: &[DataSpec], most: Option<u64>) -> Result<HashMap<String, LoadedData>, Faults> {
        let (mut sources, mut faults) = (HashMap::new(), Vec::new());
        for spec in specs {
            match LoadedData::read_within(spec, most) {
                Ok(source) => {
                    sources.insert(spec.name.clone(), source);
                }
                Err(found) => faults.extend(found),
            }
        }
        match faults.is_empty() {
            true => Ok(sources),
            false => Err(faults),
        }
    }

    /// Does the same as [`LoadedData::read`], with at most this number of bytes of memory.
    pub fn read_within(spec: &DataSpec, most: Option<u64>) -> Result<LoadedData, Faults> {
        let reading = &Reading::within(most);
        check_options(spec)?;
        let known = known_target(spec);
        let shared = read_shared(spec, reading)?;
        let data = read::read(spec.format, &spec.files, known.as_deref(), reading)?;
        let rows = data.rows;
        let mut levels: Vec<usize> = data
            .arrays
            .iter()
            .map(|array| array.values.levels().len())
            .collect();
        let mut table = match &spec.test {
            Test::Files(files) => data.join(read::read(spec.format, files, known.as_deref(), reading)?)?,
            Test::None | Test::Splits { .. } | Test::Fraction(_) => data,
        };
        let splits = match &spec.test {
            Test::Splits { file, .. } => split::read_splits(file, rows, reading)?,
            Test::None | Test::Files(_) | Test::Fraction(_) => Vec::new(),
        };
        let target = resolve_target(spec, &mut table).map_err(|fault| vec![fault])?;
        levels.resize(table.arrays.len(), 0);
        let inputs = resolve_inputs(spec, &table, target)?;
        check_channels(spec, &inputs, &table)?;
        let named = named_inputs(spec, &table, target, &inputs);
        let outliers = read_outliers(spec, &table, reading)?;
        let schema = empty_schema(spec);
        let source = LoadedData {
            spec: spec.clone(),
            table,
            rows,
            levels,
            inputs,
            named,
            target,
            shared,
            outliers,
            splits,
            schema,
            checksums: reading.checksums(),
        };
        source.frame()?;
        let source = source.described()?;
        // The memory of a split is counted in addition to the table, because the table stays in
        // memory when a split is built.
        let taken = reading.take(&source.table.path(), source.split_bytes());
        taken.map_err(|fault| vec![fault])?;
        Ok(source)
    }

    /// Returns the number of bytes that a split takes in addition to the table. These are its
    /// inputs, its fields, and the row indices before and after selection.
    fn split_bytes(&self) -> usize {
        let fields = self.table.arrays.iter().filter(|array| array.per_example);
        let fields = fields.map(|array| array.values.len() * array.values.element_bytes());
        // Inputs that are bytes share the memory of their field.
        let inputs = if self.schema.byte_inputs {
            0
        } else {
            self.schema.inputs
        };
        fields.sum::<usize>() + 8 * self.table.rows * (inputs + 3)
    }

    /// Builds a source of rows to predict for. The source has the inputs of the training, and does
    /// not have splits. The source has the target only if the file has it.
    pub(crate) fn of_new_rows(
        spec: &DataSpec,
        mut table: Table,
        (prepared, reads_inputs): (&Preparation, bool),
    ) -> Result<LoadedData, Faults> {
        let mut spec = DataSpec {
            test: Test::None,
            shared: None,
            rotate: Vec::new(),
            shifts: Vec::new(),
            outliers: None,
            standardise_target: false,
            ..spec.clone()
        };
        if spec.inputs.is_empty() && spec.format.contents() != Contents::Pair {
            let names = prepared
                .named
                .iter()
                .map(|(name, _)| ColumnExpr::Name(name.clone(), spec.span));
            spec.inputs = names.collect();
        }
        let target = match &spec.target {
            Some(target @ ColumnExpr::Apply(..))
                if expression::names(target)
                    .iter()
                    .all(|name| table.find(name).is_some()) =>
            {
                resolve_target(&spec, &mut table).map_err(|fault| vec![fault])?
            }
            _ => prepared
                .target_name
                .as_deref()
                .and_then(|name| table.find(name))
                .map(|(place, _)| place),
        };
        let inputs = match reads_inputs {
            true => resolve_inputs(&spec, &table, target)?,
            false => Vec::new(),
        };
        let inputs = if prepared.inputs.is_empty() {
            Vec::new()
        } else {
            inputs
        };
        let (rows, levels, schema) = (table.rows, vec![0; table.arrays.len()], empty_schema(&spec));
        let (named, shared, splits) = (Vec::new(), Vec::new(), Vec::new());
        Ok(LoadedData {
            spec,
            table,
            rows,
            levels,
            inputs,
            named,
            target,
            shared,
            outliers: None,
            splits,
            schema,
            checksums: BTreeMap::new(),
        })
    }

    /// Returns the checksum of a file's contents, computed while the file was read, or `None` if
    /// the data item does not read this file.
    pub fn checksum(&self, path: &Path) -> Option<Checksum> {
        self.checksums.get(path).copied()
    }

    /// Returns the sizes of the images. Returns `None` if the program does not rotate, shuffle or corrupt
    /// images.
    pub(crate) fn frame(&self) -> Result<Option<ImageSize>, Faults> {
        let spec = &self.spec;
        let side = match spec.outliers {
            Some(Outliers::Shuffled(side)) => Some(side),
            Some(Outliers::File(_)) | None => None,
        };
        if spec.rotate.is_empty() && spec.shifts.is_empty() && side.is_none() {
            return Ok(None);
        }
        let whole =
            matches!(self.inputs[..], [Input::Array(place)] if self.table.arrays[place].name == read::INPUTS);
        let frame = ImageSize::of(&self.table.axes).filter(|_| whole);
        let frame =
            frame.ok_or_else(|| vec![diagnostics::no_images(&self.table.path(), &self.table.axes)])?;
        if !spec.shifts.is_empty() && !matches!(frame.planes, 1 | 3) {
            return Err(vec![diagnostics::other_channels(
                &self.table.path(),
                &self.table.axes,
            )]);
        }
        match side.filter(|side| frame.squares(*side) < 2) {
            Some(side) => Err(vec![diagnostics::large_squares(
                &self.table.path(),
                side,
                &self.table.axes,
            )]),
            None => Ok(Some(frame)),
        }
    }

    /// Returns the data item that was read.
    pub fn spec(&self) -> &DataSpec {
        &self.spec
    }

    /// Returns the schema of the files.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the rows of one split. Splits are counted from 0.
    pub fn dataset(&self, split: usize, seed: u64) -> Result<Dataset, Faults> {
        let parts = split::parts(&self.spec, &self.pool(&self.table.path()), split, seed)
            .map_err(|fault| vec![fault])?;
        dataset::cut(self, parts, seed)
    }

    fn pool<'a>(&'a self, path: &'a std::path::Path) -> Pool<'a> {
        Pool {
            path,
            rows: self.rows,
            test_rows: self.table.rows - self.rows,
            splits: &self.splits,
        }
    }

    /// Determines the schema of the loaded data, and makes the checks that need it.
    fn described(mut self) -> Result<LoadedData, Faults> {
        let path = self.table.path();
        let parts = split::parts(&self.spec, &self.pool(&path), 0, 0).map_err(|fault| vec![fault])?;
        let every: Vec<usize> = (0..self.table.rows).collect();
        let (mut width, mut columns) = (0, Vec::new());
        let mut faults = Vec::new();
        let mut entries = self.spec.inputs.iter();
        let mut described = Vec::new();
        for input in &self.inputs {
            let first = width;
            match input {
                Input::Aside => {}
                Input::Array(array) => {
                    let array = &self.table.arrays[*array];
                    width += array.width();
                    columns.extend(array.axes().is_empty().then(|| array.name.clone()));
                }
                Input::Computed(column) => {
                    let values = expression::evaluate(
                        column,
                        &self.table,
                        &mut Scores::Fit(&every, self.spec.divisor, &mut Vec::new()),
                    );
                    faults.extend(values.err());
                    width += 1;
                    columns.push(expression::text(column));
                }
            }
            let entry = entries
                .next()
                .map(|column| entry(column, first..width, self.spec.span));
            described.extend(entry);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let splits = match &self.spec.test {
            Test::Splits { split: None, .. } => self.splits.len(),
            Test::Splits { .. } | Test::None | Test::Files(_) | Test::Fraction(_) => 1,
        };
        self.schema = Schema {
            name: self.spec.name.clone(),
            rows: self.rows,
            train: parts.train.len(),
            test: parts.test.len(),
            validation: parts.validation.len(),
            outliers: match (&self.outliers, &self.spec.outliers) {
                (Some(table), _) => table.rows,
                (None, Some(_)) => parts.test.len(),
                (None, None) => 0,
            },
            splits,
            fields: (0..self.table.arrays.len()).map(|i| self.field(i)).collect(),
            inputs: width,
            axes: axes(&self.inputs, &self.table).to_vec(),
            byte_inputs: are_bytes(&self.inputs, &self.table),
            columns: if columns.len() == width {
                columns
            } else {
                Vec::new()
            },
            entries: described,
            target: self.target.map(|target| self.table.arrays[target].name.clone()),
            shared: self.shared.iter().map(Array::field).collect(),
        };
        Ok(self)
    }

    /// Describes an array. Only levels that occur in the data files are listed.
    fn field(&self, array: usize) -> Field {
        let array_of = &self.table.arrays[array];
        let mut field = array_of.field();
        let text = self.table.first_text(array_of).filter(|_| array_of.per_example);
        field.text_row = text.map(|(row, _)| self.table.place(row).row);
        if let FieldKind::Levels(levels) = &mut field.kind {
            levels.truncate(self.levels[array]);
        }
        if scaled_bytes(&self.spec, &field.name) {
            field.kind = FieldKind::Real;
            field.extent = None;
        }
        field
    }
}

/// Returns whether a field holds the inputs of `cifar`, `idx`, `images` or `npy` data. Such inputs are reals regardless of the type in the file.
pub(crate) fn scaled_bytes(spec: &DataSpec, name: &str) -> bool {
    spec.format.contents() == Contents::Pair && name == read::INPUTS
}

fn empty_schema(spec: &DataSpec) -> Schema {
    let (fields, shared) = (Vec::new(), Vec::new());
    let name = spec.name.clone();
    Schema {
        name,
        rows: 0,
        train: 0,
        test: 0,
        validation: 0,
        outliers: 0,
        splits: 1,
        fields,
        inputs: 0,
        axes: Vec::new(),
        byte_inputs: false,
        columns: Vec::new(),
        entries: Vec::new(),
        target: None,
        shared,
    }
}

fn check_options(spec: &DataSpec) -> Result<(), Faults> {
    let Some(path) = spec.files.first() else {
        return Err(vec![diagnostics::no_files(&spec.name)]);
    };
    if !spec.scale.is_finite() || spec.scale == 0.0 {
        let fault = diagnostics::bad_option(path, "scale", "finite and not zero", spec.scale);
        return Err(vec![fault]);
    }
    if let Some(endless) = spec.rotate.iter().find(|degrees| !degrees.is_finite()) {
        return Err(vec![diagnostics::bad_option(path, "rotate", "finite", *endless)]);
    }
    if spec.limit == Some(0) {
        return Err(vec![diagnostics::bad_option(path, "limit", "above 0", 0.0)]);
    }
    if matches!(&spec.test, Test::Files(files) if files.is_empty()) {
        return Err(vec![diagnostics::no_files(&spec.name)]);
    }
    Ok(())
}

/// In JSON data, the length of one array is the number of examples. Returns the name of this array.
pub(crate) fn known_target(spec: &DataSpec) -> Option<String> {
    spec.target
        .as_ref()
        .and_then(|target| expression::names(target).first().map(|name| name.to_string()))
}

fn read_shared(spec: &DataSpec, reading: &Reading) -> Result<Vec<Array>, Faults> {
    let Some((format, file)) = &spec.shared else {
        return Ok(Vec::new());
    };
    let table = read::read(*format, &[PathBuf::from(file)], None, reading)?;
    Ok(table
        .arrays
        .into_iter()
        .map(|array| Array {
            per_example: false,
            ..array
        })
        .collect())
}

/// Reads the outliers from their file. The images of outliers must have the same sizes as the
/// images of the data files.
fn read_outliers(spec: &DataSpec, table: &Table, reading: &Reading) -> Result<Option<Table>, Faults> {
    let Some(Outliers::File(file)) = &spec.outliers else {
        return Ok(None);
    };
    let mut outliers = read::read_inputs(spec.format, file, known_target(spec).as_deref(), reading)?;
    if spec.format.contents() == Contents::Pair {
        // The classes of outliers need not be classes of the training rows.
        outliers.arrays.retain(|array| array.name == read::INPUTS);
    }
    if outliers.axes != table.axes {
        let (expected, found) = (format!("{:?}", table.axes), format!("{:?}", outliers.axes));
        let here = table.path();
        let fault = diagnostics::column_differs(file, read::INPUTS, &expected, &found, &here);
        return Err(vec![fault]);
    }
    Ok(Some(outliers))
}

/// Returns the index of the target in the table. A computed target is first appended to the table.
fn resolve_target(spec: &DataSpec, table: &mut Table) -> Result<Option<usize>, Diagnostic> {
    let place = match (&spec.target, spec.format.contents()) {
        (None, Contents::Columns) => table.arrays.len() - 1,
        (None, Contents::Pair) => match table.find(read::TARGET) {
            Some((place, _)) => place,
            None => return Ok(None),
        },
        (None, Contents::Arrays) => return Ok(None),
        (Some(ColumnExpr::Name(name, span)), _) => {
            let (place, array) = expression::lookup(table, name, Some(*span))?;
            if !array.per_example {
                let why = array.shared_by(table.rows);
                return Err(diagnostics::not_a_column(&table.path(), name, &why, Some(*span)));
            }
            place
        }
        (Some(column), _) => {
            if expression::uses_zscore(column) {
                let span = expression::span(column).unwrap_or(spec.span);
                return Err(diagnostics::scored_target(&table.path(), span));
            }
            let values = expression::evaluate(column, table, &mut Scores::Apply([].iter()))?;
            let truth = expression::is_truth(column);
            let values = if truth {
                ArrayValues::Int(values.iter().map(|&x| x as i64).collect())
            } else {
                ArrayValues::Real(values)
            };
            table.arrays.push(Array::column(expression::text(column), values));
            table.arrays.len() - 1
        }
    };
    let array = &table.arrays[place];
    let labels = array.values.is_text()
        || (spec.format.keeps_bytes() && !matches!(array.values, ArrayValues::Real(_)));
    if spec.standardise_target && labels {
        let fault = diagnostics::standardised_class(&table.path(), &array.name, spec.span);
        return Err(fault);
    }
    Ok(Some(place))
}
