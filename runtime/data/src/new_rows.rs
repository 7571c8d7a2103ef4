//! Reads the rows to predict for. Skips columns that predictions do not need.

use crate::dataset::{InputColumn, Preparation, assemble, input_columns, text_among_numbers};
use crate::diagnostics::{self, At, Faults};
use crate::expression::{self, Scores};
use crate::read::{INPUTS, Reading, TARGET};
use crate::rows::Rows;
use crate::source::{LoadedData, known_target};
use crate::table::{self, Array, ArrayValues, Table};
use bnnc_abi::data::{ColumnExpr, Contents, DataSpec};
use bnnc_abi::manifest::DataSource;
use bnnc_abi::schema::with_rank;
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A file of rows to predict for, and the columns that are read from it.
#[derive(Clone, Copy, Debug)]
pub struct NewRows<'a> {
    /// The path of the file, or a pattern of files.
    pub file: &'a Path,
    /// The columns in which new levels are allowed. A new level is a level that does not occur in the training rows. New
    /// levels are numbered after the levels of the training rows.
    pub open: &'a [&'a str],
    /// The sources of the inputs that predictions read, or `None` if all inputs are read.
    pub sources: Option<&'a [&'a DataSource]>,
    /// The maximum memory for the rows, in bytes.
    pub most: Option<u64>,
}

/// The columns and expressions of new rows that predictions read.
pub(crate) struct Wanted {
    /// The names of the columns of the file.
    columns: HashSet<String>,
    /// The expressions, each as its text.
    computed: HashSet<String>,
    /// True if predictions read all inputs as one vector.
    all_inputs: bool,
}

impl Preparation {
    /// Reads a file of rows to predict for. The rows are prepared with the statistics of the
    /// training rows.
    pub fn rows(&self, spec: &DataSpec, new: NewRows<'_>) -> Result<Rows, Faults> {
        let wanted = new.sources.and_then(|sources| self.wanted(spec, sources));
        let reading = Reading::within(new.most)
            .with_texts(self.levels.iter().map(|(name, _)| name))
            .with_channels(self.channels())
            .with_only(wanted.as_ref().map(|wanted| wanted.columns.clone()));
        let mut table =
            crate::read::read_new_rows(spec.format, new.file, known_target(spec).as_deref(), &reading)?;
        table.unread = reading.unread();
        let is_target = |source: &&DataSource| source.column() == Some(TARGET);
        if new.sources.is_some_and(|sources| !sources.iter().any(is_target)) {
            // The classes of new rows are their folders, which need not be classes of the training rows.
            let is_pair = spec.format.contents() == Contents::Pair;
            table.arrays.retain(|array| !is_pair || array.name != TARGET);
        }
        self.rows_of(spec, table, (new.open, wanted.as_ref()))
    }

    /// Returns the number of channels of the images on which the model was trained. `None` if the inputs are not an array of bytes with three axes.
    fn channels(&self) -> Option<usize> {
        match self.input_axes[..] {
            [channels, _, _] if self.has_byte_inputs => Some(channels),
            _ => None,
        }
    }

    /// Returns the columns and expressions that these sources need, or `None` if the file does not
    /// consist of columns.
    fn wanted(&self, spec: &DataSpec, sources: &[&DataSource]) -> Option<Wanted> {
        if spec.format.contents() == Contents::Pair || self.columns.len() != self.inputs.len() {
            return None;
        }
        let mut wanted = Wanted {
            columns: HashSet::new(),
            computed: HashSet::new(),
            all_inputs: false,
        };
        for source in sources {
            match source {
                DataSource::Inputs => wanted.all_inputs = true,
                DataSource::Input(at) => wanted.computed.extend(self.columns.get(*at).cloned()),
                DataSource::Field(name) | DataSource::Whole(name) => {
                    let target = spec
                        .target
                        .as_ref()
                        .filter(|target| expression::text(target) == *name);
                    let names = target.map_or_else(|| vec![name.as_str()], expression::names);
                    wanted.columns.extend(names.into_iter().map(str::to_owned));
                }
                DataSource::Row | DataSource::Shared(_) => {}
            }
        }
        let is_wanted = |column: &&ColumnExpr| {
            wanted.all_inputs || wanted.computed.contains(&expression::text(without_name(column)))
        };
        let names = spec.inputs.iter().filter(is_wanted).flat_map(expression::names);
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        if wanted.all_inputs && spec.inputs.is_empty() {
            names.extend(self.named.iter().map(|(name, _)| name.clone()));
        }
        wanted.columns.extend(names);
        Some(wanted)
    }

    /// Returns the rows of a table. Only the columns in `wanted` are used; `None` uses all columns.
    /// Columns in `open` may have new levels.
    pub(crate) fn rows_of(
        &self,
        spec: &DataSpec,
        mut table: Table,
        (open, wanted): (&[&str], Option<&Wanted>),
    ) -> Result<Rows, Faults> {
        let file = table.path();
        let named = self.named.iter().map(|(name, _)| name.as_str());
        let numbers = self.columns.iter().map(String::as_str).chain(named);
        let numbers = numbers.filter(|name| self.levels.iter().all(|(other, _)| other != name));
        if let Some(fault) =
            text_among_numbers(&table, numbers, "the column holds numbers in the training data")
        {
            return Err(vec![fault]);
        }
        for array in &mut table.arrays {
            if let Some((_, levels)) = self.levels.iter().find(|(name, _)| *name == array.name) {
                let place = |row: usize| table::place_of(&table.shards, table.first_row, row);
                let levels = match open.contains(&array.name.as_str()) {
                    true => &array.values.levels_after(levels),
                    false => levels,
                };
                relevel(&file, place, array, levels).map_err(|fault| vec![fault])?;
            }
        }
        for array in &table.arrays {
            let known = self.named.iter().find(|(name, _)| *name == array.name);
            if let Some((name, maps)) = known.filter(|(_, maps)| maps.len() != array.width()) {
                let fault = diagnostics::other_width(&file, name, maps.len(), array.width());
                return Err(vec![fault]);
            }
        }
        let of_training = |array: &Array| self.axes.iter().find(|(name, _)| *name == array.name);
        for array in table.arrays.iter().filter(|array| array.per_example) {
            if let Some((name, axes)) = of_training(array).filter(|(_, axes)| axes != array.axes()) {
                return Err(vec![diagnostics::other_axes(&file, name, axes, array.axes())]);
            }
        }
        let (of_training, own) = (&self.input_axes, &table.axes);
        let are_images = of_training.len() > 1 && own.len() > 1;
        if are_images && with_rank(own, of_training.len()).as_ref() != Some(of_training) {
            return Err(vec![diagnostics::other_axes(&file, INPUTS, of_training, own)]);
        }
        let some = wanted.filter(|wanted| !wanted.all_inputs);
        let source = LoadedData::of_new_rows(spec, table, (self, some.is_none()))?;
        let mut scores = Scores::Apply(self.zscores.iter());
        let columns = match some {
            Some(wanted) => self.some_inputs(spec, &source.table, (wanted, &mut scores))?,
            None => input_columns(&source.inputs, &source.table, &mut scores)?,
        };
        let width: usize = columns.iter().map(InputColumn::width).sum();
        if width != self.inputs.len() {
            return Err(vec![diagnostics::other_inputs(&file, self.inputs.len(), width)]);
        }
        let part: Vec<usize> = (0..source.table.rows).collect();
        Ok(assemble(&source, &columns, self, &part))
    }

    /// Returns the elements of the inputs. Only the elements that predictions read are computed.
    fn some_inputs<'a>(
        &self,
        spec: &DataSpec,
        table: &'a Table,
        (wanted, scores): (&Wanted, &mut Scores<'_>),
    ) -> Result<Vec<InputColumn<'a>>, Faults> {
        let mut computed = HashMap::new();
        for column in spec.inputs.iter().map(without_name) {
            let text = expression::text(column);
            if wanted.computed.contains(&text) {
                let values = expression::evaluate(column, table, scores).map_err(|fault| vec![fault])?;
                computed.insert(text, values);
            } else {
                scores.skip(column);
            }
        }
        let column = |name: &String| match computed.get(name) {
            Some(values) => InputColumn::Computed(name.clone(), values.clone()),
            None => InputColumn::Unread,
        };
        Ok(self.columns.iter().map(column).collect())
    }
}

/// Returns an entry of `inputs = [..]`. If the program gives the entry a new name, the name is left out.
fn without_name(column: &ColumnExpr) -> &ColumnExpr {
    match column {
        ColumnExpr::Named(_, column, _) => column,
        ColumnExpr::Name(..) | ColumnExpr::Number(_) | ColumnExpr::Apply(..) => column,
    }
}

/// Replaces the codes of a text column in new rows: each string gets the code that it had in
/// training.
fn relevel<'a>(
    file: &Path,
    place: impl Fn(usize) -> (&'a Path, usize),
    array: &mut Array,
    known: &[String],
) -> Result<(), Diagnostic> {
    let width = array.width().max(1);
    let ArrayValues::Level { codes, levels } = &mut array.values else {
        return Err(diagnostics::column_differs(
            file,
            &array.name,
            "text",
            "numbers",
            Path::new("the training data"),
        ));
    };
    let places: HashMap<&str, u32> = known.iter().map(String::as_str).zip(0..).collect();
    let map: Vec<Option<u32>> = levels
        .iter()
        .map(|level| places.get(level.as_str()).copied())
        .collect();
    for (at, code) in codes.iter_mut().enumerate() {
        match map[*code as usize] {
            Some(known) => *code = known,
            None => {
                let (path, row) = place(at / width);
                let level = &levels[*code as usize];
                let fault = diagnostics::unseen_level(At::row(path, row), &array.name, level, "new", None);
                return Err(fault);
            }
        }
    }
    *levels = known.to_vec();
    Ok(())
}
