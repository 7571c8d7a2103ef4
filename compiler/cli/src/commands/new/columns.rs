//! Chooses how each column of a table is used, such as output or input. Also finds the rows with
//! values in all columns that are used.

use super::diagnostics;
use super::facts::{ColumnFacts, shown, variance_ratio};
use super::guess::{ColumnUse, guess, is_time, is_writable};
use super::likelihood::{LikelihoodChoice, choose};
use super::names::ProgramNames;
use super::program::{GroupColumn, NamedColumn, ProgramPaths, ProgramPlan};
use bnnc_abi::data::{Contents, Format};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::read::Gaps;
use bnnc_data::table::{Array, ArrayValues, Table};
use bnnc_data::write::ResultColumn;
use std::collections::HashSet;
use std::path::Path;

/// A column is left out if its values are missing in more than this fraction of the rows. If the
/// column were used, these rows would have to be left out.
const MOST_MISSING: f64 = 0.3;

/// If the table has fewer rows than this, all rows are training rows. A fifth of them would be too
/// few test rows to measure the quality of predictions precisely.
const FEW_ROWS: usize = 40;

/// A random test set is chosen only if each group and class has at least this number of rows. A
/// random fifth of the rows then almost never contains all rows of a group or class.
const LEAST_ROWS: usize = 5;

/// The columns of a table.
pub struct TableColumns<'t> {
    table: &'t Table,
    gaps: Gaps,
    /// How each column is used, and the facts about its values. The entry for the output is not read.
    uses: Vec<(ColumnUse, ColumnFacts)>,
    /// The index of the output.
    output: usize,
    choice: LikelihoodChoice,
    /// A remark on the choice of the output. `None` if the user chose the output.
    remark: Option<String>,
    /// The rows that have values in all columns that are used.
    rows: Vec<usize>,
}

impl<'t> TableColumns<'t> {
    /// Guesses how each column of a file is used. `wanted` is the output, if the user chose it.
    pub fn of(
        path: &Path,
        table: &'t Table,
        gaps: Gaps,
        wanted: Option<&str>,
    ) -> Result<TableColumns<'t>, Diagnostic> {
        if let Some(wanted) = wanted
            && table.find(wanted).is_none()
        {
            let names = table.arrays.iter().map(|array| array.name.as_str());
            return Err(diagnostics::no_output(path, wanted, names));
        }
        if table.rows < 2 {
            return Err(diagnostics::too_few(path, table.rows, 0));
        }
        let uses = uses(table, &gaps, None);
        let (output, remark) = output(path, table, &gaps, &uses, wanted)?;
        let mut columns = TableColumns {
            table,
            gaps,
            uses,
            output,
            choice: (super::likelihood::OutputLikelihood::Normal, String::new()),
            remark,
            rows: Vec::new(),
        };
        columns.rows = columns.complete_rows();
        if columns.rows.len() < 2 {
            let dropped = table.rows - columns.rows.len();
            return Err(diagnostics::too_few(path, columns.rows.len(), dropped));
        }
        if !columns.is_complete() {
            // A column that the first pass left out stays left out. Its gaps were ignored when the
            // complete rows were chosen, so it may have gaps in these rows.
            let again = self::uses(table, &columns.gaps, Some(&columns.rows));
            let both = columns.uses.into_iter().zip(again);
            columns.uses = both
                .map(|(first, again)| match first.0 {
                    ColumnUse::LeftOut(_) => first,
                    ColumnUse::Number | ColumnUse::Groups => again,
                })
                .collect();
        }
        let name = &table.arrays[output].name;
        let facts = ColumnFacts::of(&table.arrays[output].values, &columns.rows);
        columns.choice = choose(name, &facts).map_err(|why| {
            let remedy = "choose another column: `--output COLUMN`".to_owned();
            diagnostics::unusable(path, output + 1, name, &why.to_string(), remedy)
        })?;
        columns.uses[output].1 = facts;
        Ok(columns)
    }

    /// Returns the rows with values in the output and in all inputs.
    fn complete_rows(&self) -> Vec<usize> {
        let places = 0..self.table.arrays.len();
        let used = places.filter(|place| *place == self.output || self.is_input(*place));
        let gaps = used.filter_map(|place| self.gaps.get(&self.table.arrays[place].name));
        let incomplete: HashSet<usize> = gaps.flatten().copied().collect();
        (0..self.table.rows)
            .filter(|row| !incomplete.contains(row))
            .collect()
    }

    fn is_input(&self, place: usize) -> bool {
        place != self.output && !matches!(self.uses[place].0, ColumnUse::LeftOut(_))
    }

    /// Returns whether the file has a value in every cell. If a cell is empty, the program cannot
    /// read the file, even if it does not use the column of this cell.
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty()
    }

    /// Returns the number of rows that the program reads, and the number of rows in the file.
    pub fn rows(&self) -> (usize, usize) {
        (self.rows.len(), self.table.rows)
    }

    /// Returns a remark on the choice of the output, or `None` if the user chose the output.
    pub fn choice_of_output(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// Returns the names of the columns that are left out, and the reason for each.
    pub fn left_out(&self) -> Vec<(&str, &str)> {
        let all = self.table.arrays.iter().zip(&self.uses).enumerate();
        all.filter(|(place, _)| *place != self.output)
            .filter_map(|(_, (array, (used, _)))| match used {
                ColumnUse::LeftOut(why) => Some((array.name.as_str(), why.as_str())),
                ColumnUse::Number | ColumnUse::Groups => None,
            })
            .collect()
    }

    /// Returns the columns that the program reads, restricted to the complete rows. The output is
    /// the last column.
    pub fn complete(&self) -> Vec<(String, ResultColumn)> {
        let inputs = (0..self.table.arrays.len()).filter(|place| self.is_input(*place));
        let column = |place: usize| {
            let array = &self.table.arrays[place];
            let values = match array.rows(&self.rows) {
                ArrayValues::Byte(values) => {
                    ResultColumn::Int(values.iter().copied().map(i64::from).collect())
                }
                ArrayValues::Int(values) => ResultColumn::Int(values),
                ArrayValues::Real(values) => ResultColumn::Real(values),
                ArrayValues::Level { codes, levels } => {
                    ResultColumn::Text(codes.iter().map(|code| levels[*code as usize].clone()).collect())
                }
            };
            (array.name.clone(), values)
        };
        inputs.chain(std::iter::once(self.output)).map(column).collect()
    }

    /// Returns the plan of a program that reads data in the format `format`.
    pub fn plan(&self, paths: ProgramPaths, format: Format, stem: &str) -> ProgramPlan {
        let mut items = ProgramNames::new();
        for own in ["Linear", "Network", "MeanField", "fit", "network"] {
            items.claim(own);
        }
        let mut names = ProgramNames::new();
        let array = &self.table.arrays[self.output];
        let output = NamedColumn {
            name: names.claim(&array.name),
            column: array.name.clone(),
        };
        let (mut numbers, mut groups) = (Vec::new(), Vec::new());
        for (place, (array, (used, facts))) in self.table.arrays.iter().zip(&self.uses).enumerate() {
            if !self.is_input(place) {
                continue;
            }
            let named = NamedColumn {
                name: names.claim(&array.name),
                column: array.name.clone(),
            };
            // A renamed column is standardised together with the other inputs, so its integers
            // cannot be used as positions of groups.
            match *used == ColumnUse::Groups && (named.name == named.column || facts.texts.is_some()) {
                true => groups.push(GroupColumn {
                    named,
                    levels: facts.distinct,
                    variance_ratio: variance_ratio(
                        &array.values,
                        &self.table.arrays[self.output].values,
                        &self.rows,
                    ),
                }),
                false => numbers.push(named),
            }
        }
        let leaves_out = self.is_complete() && !self.left_out().is_empty();
        let is_partial = format.contents() != Contents::Columns || !groups.is_empty() || leaves_out;
        let has_inputs = !(numbers.is_empty() && groups.is_empty());
        ProgramPlan {
            remarks: self.remarks(&paths.data),
            paths,
            format,
            item: items.claim(stem),
            output,
            choice: self.choice.clone(),
            numbers,
            groups,
            columns: self.described(),
            is_partial,
            rows: self.rows.len(),
            untested: self.untested(has_inputs),
        }
    }

    /// Describes each column in a few words.
    fn described(&self) -> Vec<(String, String)> {
        let all = self.table.arrays.iter().zip(&self.uses).enumerate();
        let about = |(place, (array, (used, facts))): (usize, (&Array, &(ColumnUse, ColumnFacts)))| {
            let values = || facts.described();
            let text = match used {
                _ if place == self.output => format!("output, {}", values()),
                ColumnUse::Number if is_time(&array.name) && facts.ascends() => {
                    format!("input, {}, in the order of the rows", values())
                }
                ColumnUse::Number => format!("input, {}", values()),
                ColumnUse::Groups => format!("groups, {}", values()),
                ColumnUse::LeftOut(why) => format!("left out: {why}"),
            };
            (shown(&array.name), text)
        };
        all.map(about).collect()
    }

    /// Returns the reason why all rows are training rows, or `None` if some rows are test rows.
    fn untested(&self, has_inputs: bool) -> Option<String> {
        let rows = self.rows.len();
        if !has_inputs {
            return Some("the model has no inputs: it describes the distribution of the output".to_owned());
        }
        if rows < FEW_ROWS {
            return Some(format!(
                "{rows} rows are few. To keep a fifth, write `test = fraction(0.2)`"
            ));
        }
        if let Some(time) = self.time() {
            return Some(format!(
                "the rows are in the order of `{}`: rows chosen at random lie between training rows and are easier to predict than later rows. \
                 Better, put the last rows into a file and write `test = csv(\"last.csv\")`. If each row depends on the rows before it, see the recipe \
                 on time series in the book",
                shown(time)
            ));
        }
        let places = 0..self.table.arrays.len();
        let has_levels = |place: &usize| match *place == self.output {
            true => self.choice.0.has_classes(),
            false => self.uses[*place].0 == ColumnUse::Groups,
        };
        let rare = places
            .filter(has_levels)
            .find(|place| self.uses[*place].1.rarest < LEAST_ROWS)?;
        let name = shown(&self.table.arrays[rare].name);
        Some(format!(
            "a value of `{name}` has fewer than {LEAST_ROWS} rows. If all of them were test rows, the model could not learn it"
        ))
    }

    /// Returns the name of a time column if the rows are sorted by this column. Otherwise, returns
    /// `None`.
    fn time(&self) -> Option<&str> {
        let is_ordered = |(array, (used, facts)): (&'t Array, &(ColumnUse, ColumnFacts))| {
            let is_kept = *used == ColumnUse::Number || facts.is_dates();
            (is_kept && is_time(&array.name) && facts.ascends()).then_some(array.name.as_str())
        };
        self.table.arrays.iter().zip(&self.uses).find_map(is_ordered)
    }

    /// Returns remarks on missing values. `complete` is the file of the complete rows.
    fn remarks(&self, complete: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.is_complete() {
            let (rows, all) = self.rows();
            remarks.push(match all - rows {
                0 => format!(
                    "A column that the program leaves out has missing values, which bnnc cannot read. The program reads the other columns from \
                     `{complete}`."
                ),
                few => format!(
                    "In {few} of {all} rows of the original file, a value is missing. The program reads the {rows} complete rows from \
                     `{complete}`. This is fine if values are missing by chance; otherwise see the recipe on missing values in the book."
                ),
            });
        }
        remarks
    }
}

/// Guesses how each column is used from its values in `rows`. If `rows` is `None`, all rows in
/// which the column has a value are examined.
fn uses(table: &Table, gaps: &Gaps, rows: Option<&[usize]>) -> Vec<(ColumnUse, ColumnFacts)> {
    let of = |(place, array): (usize, &Array)| {
        let left_out = |why: &str| {
            (
                ColumnUse::LeftOut(why.to_owned()),
                ColumnFacts::of(&array.values, &[]),
            )
        };
        if !array.per_example {
            return left_out("it does not have a value for each row");
        }
        if !array.axes().is_empty() {
            return left_out("it has several numbers in each row");
        }
        let missing = gaps.get(&array.name).map_or(&[][..], Vec::as_slice);
        let own: Vec<usize>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                let missing: HashSet<&usize> = missing.iter().collect();
                own = (0..table.rows).filter(|row| !missing.contains(row)).collect();
                &own
            }
        };
        let facts = ColumnFacts::of(&array.values, rows);
        if missing.len() as f64 > MOST_MISSING * table.rows as f64 {
            let why = format!("{} of {} values are missing", missing.len(), table.rows);
            return (ColumnUse::LeftOut(why), facts);
        }
        (guess(&array.name, place, &facts), facts)
    };
    table.arrays.iter().enumerate().map(of).collect()
}

/// Returns the index of the output. If the user did not choose the output, also returns a remark on
/// its choice.
fn output(
    path: &Path,
    table: &Table,
    gaps: &Gaps,
    uses: &[(ColumnUse, ColumnFacts)],
    wanted: Option<&str>,
) -> Result<(usize, Option<String>), Diagnostic> {
    let why_not = |place: usize| -> Option<String> {
        let array = &table.arrays[place];
        let (used, facts) = &uses[place];
        match used {
            ColumnUse::LeftOut(why) if !array.per_example || !array.axes().is_empty() => Some(why.clone()),
            ColumnUse::LeftOut(why) if !is_writable(&array.name) => Some(why.clone()),
            ColumnUse::LeftOut(why) if wanted.is_none() => Some(why.clone()),
            ColumnUse::LeftOut(_) | ColumnUse::Number | ColumnUse::Groups => {
                choose(&array.name, facts).err().map(|why| why.to_string())
            }
        }
    };
    let name = |place: usize| &*table.arrays[place].name;
    let remedy = |place: usize| {
        match &uses[place].1 {
        _ if table.arrays.len() == 1 && name(place).contains('|') => {
            "the columns of the file seem to be separated by `|`; separate them by commas".to_owned()
        }
        facts if facts.is_numbers_as_text() => {
            "write plain numbers, with a decimal point and without units, or choose another column: `--output COLUMN`"
                .to_owned()
        }
        facts if wanted.is_none() && choose(name(place), facts).is_ok() => format!(
            "to use the rows that have a value, write `--output {0}`; or choose another column: `--output COLUMN`",
            shown(name(place))
        ),
        _ => "choose another column: `--output COLUMN`".to_owned(),
    }
    };
    let unusable = |place: usize| {
        let why = why_not(place).unwrap_or_default();
        diagnostics::unusable(path, place + 1, name(place), &why, remedy(place))
    };
    if let Some(place) = wanted
        .and_then(|wanted| table.find(wanted))
        .map(|(place, _)| place)
    {
        return match why_not(place) {
            Some(_) => Err(unusable(place)),
            None => Ok((place, None)),
        };
    }
    let last = table.arrays.len() - 1;
    match (0..=last).rev().find(|place| why_not(*place).is_none()) {
        Some(place) if place == last => {
            let remark = "the output is the last column; `--output COLUMN` chooses another";
            Ok((place, Some(remark.to_owned())))
        }
        Some(_) if is_probably_output(table, gaps, &uses[last].1) => Err(unusable(last)),
        Some(place) => {
            let why = why_not(last).unwrap_or_default();
            let remark = format!(
                "the output is `{}`, because the last column `{}` cannot be one: {why}; `--output COLUMN` chooses another",
                shown(name(place)),
                shown(name(last))
            );
            Ok((place, Some(remark)))
        }
        None => Err(unusable(last)),
    }
}

/// Returns whether the last column is probably the output that the user wants to predict. It may
/// still be unusable because of missing values or the form of its numbers. The command then reports
/// an error and does not choose another column.
fn is_probably_output(table: &Table, gaps: &Gaps, facts: &ColumnFacts) -> bool {
    let Some(last) = table.arrays.last().filter(|last| is_writable(&last.name)) else {
        return false;
    };
    let missing = gaps.get(&last.name).map_or(0, Vec::len);
    let is_missing = missing as f64 > MOST_MISSING * table.rows as f64;
    facts.is_numbers_as_text() || (is_missing && choose(&last.name, facts).is_ok())
}
