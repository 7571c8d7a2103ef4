//! Writes draws as Stan CSV, with one file per chain, as CmdStan does.
//!
//! Comments with the settings come first, then the header and the draws. If the sampler adapts, its
//! step size and inverse metric stand between the draws of the warm-up and the other draws. CmdStan
//! splits names at dots, so a site such as `hidden.w` is written as `hidden_w`. The elements of
//! this site are written as `hidden_w.1.2`, with indices from 1 and in column-major order. Indices
//! in Stan are integers, so if elements have names, comments list these names. Numbers are written with
//! all of their digits. Only statistics that CmdStan also has are written. Elapsed times are not
//! written, so that the same draws give the same bytes.

use crate::diagnostics;
use crate::write::pending::Pending;
use bnnc_abi::methods::sampling::{MetricKind, Transition};
use bnnc_base::diagnostic::Diagnostic;
use std::fmt::Write as _;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The settings of a run that are written to a Stan CSV file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The seed of the run's random numbers.
    pub seed: u64,
    /// The chain, counted from 1.
    pub chain: usize,
    /// The number of iterations of the warm-up.
    pub warmup: usize,
    /// The expected number of draws. The finished file states the actual number.
    pub draws: usize,
    /// The number of iterations per draw.
    pub thin: usize,
    /// True if the draws of the warm-up are written before [`ChainWriter::adapted`] is called.
    pub saves_warmup: bool,
    /// The sampler's transition. It determines the settings that are written.
    pub transition: &'a Transition,
}

/// A site whose elements are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvSite<'a> {
    /// The path of the site, such as `hidden.w`.
    pub name: &'a str,
    /// The shape of the site.
    pub shape: &'a [usize],
    /// The names of the elements in row-major order, such as `beta[age]`. Empty if the elements do
    /// not have names.
    pub names: &'a [String],
}

/// Pairs of a sampler statistic's names in bnnc and in Stan, in Stan's order. Other statistics are
/// not written, because Stan's tools would reject the file.
const STATISTICS: [(&str, &str); 7] = [
    ("lp", "lp__"),
    ("acceptance_rate", "accept_stat__"),
    ("step_size", "stepsize__"),
    ("tree_depth", "treedepth__"),
    ("n_steps", "n_leapfrog__"),
    ("diverging", "divergent__"),
    ("energy", "energy__"),
];

/// The output file of one chain. [`ChainWriter::finish`] gives the file its final name. If the
/// writer is dropped before that, the file is removed.
#[derive(Debug)]
pub struct ChainWriter {
    path: PathBuf,
    file: Pending,
    /// For each of the first columns, the index of its statistic, or `None` if the sampler does not
    /// compute this statistic.
    statistics: Vec<Option<usize>>,
    /// For each of the other columns, the index of the column's value among the values of a draw.
    elements: Vec<usize>,
    metric: Option<MetricKind>,
    /// The byte position at which the file states the number of draws, and the width in bytes
    /// reserved for this number.
    count_at: (u64, usize),
    thin: usize,
    expected: usize,
    /// The number of rows written after the warm-up.
    rows: usize,
    is_warm: bool,
    line: String,
}

impl ChainWriter {
    /// Begins the file of a chain. `statistics` has the names of the sampler's statistics, and
    /// `parameters` describes the sites.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn create(
        path: &Path,
        settings: &Settings<'_>,
        statistics: &[&str],
        parameters: &[CsvSite<'_>],
    ) -> Result<ChainWriter, Diagnostic> {
        let fail = |error: io::Error| diagnostics::unwritable(path, &error);
        let (columns, order) = statistic_columns(statistics);
        let (before, after) = settings_text(settings);
        let count = (settings.draws * settings.thin).to_string();
        let names = columns.into_iter().chain(element_columns(parameters));
        let header = names.collect::<Vec<_>>().join(",");
        let mut chain = ChainWriter {
            path: path.to_path_buf(),
            file: Pending::create(path).map_err(fail)?,
            statistics: order,
            elements: element_order(parameters),
            metric: settings
                .transition
                .part()
                .adaptation()
                .map(|adaptation| adaptation.metric),
            count_at: (before.len() as u64, count.len()),
            thin: settings.thin,
            expected: settings.draws,
            rows: 0,
            is_warm: !settings.saves_warmup,
            line: String::new(),
        };
        let written = writeln!(
            chain.file,
            "{before}{count}{after}{}{header}",
            name_comments(parameters)
        );
        written.map_err(fail)?;
        Ok(chain)
    }

    /// Writes the result of the warm-up, if the sampler adapts. A diagonal inverse metric has one
    /// element per unconstrained parameter. A dense inverse metric is a square matrix, written row
    /// by row.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn adapted(&mut self, step_size: f64, inverse_metric: &[f64]) -> Result<(), Diagnostic> {
        self.is_warm = true;
        let Some(metric) = self.metric else {
            return Ok(());
        };
        let mut text = format!("# Adaptation terminated\n# Step size = {}\n", number(step_size));
        let size = match metric {
            MetricKind::Unit => 0,
            MetricKind::Automatic | MetricKind::Diagonal | MetricKind::Windowed => {
                text.push_str("# Diagonal elements of inverse mass matrix:\n");
                inverse_metric.len()
            }
            MetricKind::Dense | MetricKind::WindowedDense => {
                text.push_str("# Elements of inverse mass matrix:\n");
                inverse_metric.len().isqrt()
            }
        };
        if size == 0 {
            text.push_str("# No free parameters for unit metric\n");
        }
        for row in inverse_metric.chunks(size.max(1)).take_while(|_| size > 0) {
            let cells: Vec<String> = row.iter().map(|value| number(*value)).collect();
            let _ = writeln!(text, "# {}", cells.join(", "));
        }
        let written = self.file.write_all(text.as_bytes());
        self.with_path(written)
    }

    /// Writes a draw: the sampler's statistics, followed by the elements of all parameters in
    /// row-major order.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn draw(&mut self, statistics: &[f64], values: &[f64]) -> Result<(), Diagnostic> {
        self.line.clear();
        let first = self
            .statistics
            .iter()
            .map(|at| at.map_or(f64::NAN, |at| statistics[at]));
        for value in first.chain(self.elements.iter().map(|at| values[*at])) {
            self.line.push_str(&number(value));
            self.line.push(',');
        }
        self.line.pop();
        self.line.push('\n');
        self.rows += usize::from(self.is_warm);
        let written = self.file.write_all(self.line.as_bytes());
        self.with_path(written)
    }

    /// Completes the file and gives it its final name. If the chain has fewer draws than expected,
    /// the number of draws in the settings is corrected.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn finish(mut self) -> Result<(), Diagnostic> {
        // CmdStan ends a file with a block of elapsed times. Other programs need this block to find
        // the end of the draws and of the metric.
        let mut written = self.file.write_all(b"# \n#  Elapsed Time: not written\n# \n");
        if self.rows != self.expected {
            let (at, width) = self.count_at;
            let count = format!("{:width$}", (self.rows * self.thin).to_string());
            written = written
                .and_then(|()| self.file.seek(SeekFrom::Start(at)))
                .and_then(|_| self.file.write_all(&count.as_bytes()[..width]));
        }
        let ChainWriter { path, file, .. } = self;
        let finished = written.and_then(|()| file.finish());
        finished.map_err(|error| diagnostics::unwritable(&path, &error))
    }

    fn with_path(&self, written: io::Result<()>) -> Result<(), Diagnostic> {
        written.map_err(|error| diagnostics::unwritable(&self.path, &error))
    }
}

/// Returns the columns for the sampler's statistics. Each column is returned with the index of its statistic.
/// `lp__` is always the first column, because readers recognise the header by this name.
fn statistic_columns(statistics: &[&str]) -> (Vec<String>, Vec<Option<usize>>) {
    let place = |name: &str| statistics.iter().position(|other| *other == name);
    let known = STATISTICS
        .iter()
        .map(|(name, column)| ((*column).to_owned(), place(name)));
    known
        .filter(|(column, place)| column == "lp__" || place.is_some())
        .unzip()
}

/// Replaces all characters except letters and digits by underscores. Trailing underscores are
/// removed, because Stan reserves names that end in `__` for the sampler. If a name does not begin
/// with a letter, it gets the prefix `v`.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name.to_owned(),
        Some(_) | None => format!("v{name}"),
    }
}

fn element_columns(parameters: &[CsvSite<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut columns = Vec::new();
    for parameter in parameters {
        let wanted = plain(parameter.name);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut free = std::iter::once(wanted.clone()).chain(numbered);
        let name = free.find(|name| !names.contains(name)).unwrap_or(wanted);
        for index in column_major(parameter.shape) {
            let index = index.iter().map(|at| format!(".{}", at + 1)).collect::<String>();
            columns.push(format!("{name}{index}"));
        }
        names.push(name);
    }
    columns
}

/// Returns one comment line for each column whose element has a name.
fn name_comments(parameters: &[CsvSite<'_>]) -> String {
    let named = |parameter: &CsvSite<'_>| {
        let count = parameter.shape.iter().product();
        (0..count)
            .map(|at| parameter.names.get(at).cloned())
            .collect::<Vec<_>>()
    };
    let names: Vec<Option<String>> = parameters.iter().flat_map(named).collect();
    let columns = element_columns(parameters)
        .into_iter()
        .zip(element_order(parameters));
    let comment = |(column, place): (String, usize)| {
        let name = names.get(place)?.as_ref()?;
        // A name may contain a line break. It would end the comment.
        let name = name.replace(['\n', '\r'], " ");
        Some(format!("# {column} is {name}\n"))
    };
    columns.filter_map(comment).collect()
}

/// Returns, for each column, the index of its value among all values of a draw.
fn element_order(parameters: &[CsvSite<'_>]) -> Vec<usize> {
    let mut start = 0;
    let mut order = Vec::new();
    for CsvSite { shape, .. } in parameters {
        let place = |index: Vec<usize>| {
            let row_major = index
                .iter()
                .zip(*shape)
                .fold(0, |place, (at, size)| place * size + at);
            start + row_major
        };
        order.extend(column_major(shape).map(place));
        start += shape.iter().product::<usize>();
    }
    order
}

/// Returns all index tuples of a shape. The first index varies fastest.
fn column_major(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let count = shape.iter().product::<usize>();
    (0..count).map(move |mut place| {
        let digit = |size: &usize| {
            let at = place % size;
            place /= size;
            at
        };
        shape.iter().map(digit).collect()
    })
}

/// Returns the settings as CmdStan writes them in comments. The first text ends before the number
/// of draws, and the second text begins after it.
fn settings_text(settings: &Settings<'_>) -> (String, String) {
    let before = format!(
        "# model = {}\n# method = sample\n#   sample\n#     num_samples = ",
        plain(settings.model)
    );
    let mut after = String::from("\n");
    let mut line = |depth: usize, text: String| {
        let _ = writeln!(after, "# {:indent$}{text}", "", indent = 2 * depth);
    };
    line(2, format!("num_warmup = {}", settings.warmup));
    line(2, format!("save_warmup = {}", u8::from(settings.saves_warmup)));
    line(2, format!("thin = {}", settings.thin));
    if let Some(adaptation) = settings.transition.part().adaptation() {
        line(2, "adapt".into());
        line(
            3,
            format!("engaged = {}", u8::from(adaptation.step_size.is_none())),
        );
        line(3, format!("delta = {}", adaptation.target_acceptance));
    }
    for (depth, text) in settings.transition.part().stan_settings() {
        line(depth, text);
    }
    line(0, format!("id = {}", settings.chain));
    line(0, "random".into());
    line(1, format!("seed = {}", settings.seed));
    line(0, format!("bnnc_version = {}", env!("CARGO_PKG_VERSION")));
    (before, after)
}

/// Returns the shortest text that reads back as the same number. NaN and infinity are written with
/// C's words.
fn number(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        value.to_string()
    } else {
        format!("{value:?}")
    }
}
