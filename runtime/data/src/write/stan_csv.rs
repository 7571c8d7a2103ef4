//! Draws as Stan CSV, one file per chain, as CmdStan writes them.
//!
//! Comments with the settings come first, then the header, the draws, and where a sampler adapts, its step size and inverse
//! metric between warm-up and draws. CmdStan splits names at dots: a site such as `hidden.w` is called `hidden_w`, its elements
//! `hidden_w.1.2`, counted from 1 and in column-major order. Where elements have names, comments say which column is which,
//! because indices of Stan are integers. Numbers have all their digits. Of the numbers that come with each
//! draw only those are written that CmdStan has. Elapsed times are not written, so that the same draws make the same bytes.

use crate::report;
use crate::write::pending::Pending;
use bnnc_abi::sampling::{Metric, Transition};
use bnnc_base::diagnostic::Diagnostic;
use std::fmt::Write as _;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What a file says about its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings<'a> {
    /// The model's name.
    pub model: &'a str,
    /// The seed of the run.
    pub seed: u64,
    /// The chain, counted from 1.
    pub chain: usize,
    /// Iterations of warm-up.
    pub warmup: usize,
    /// Draws that are expected; what is written in the end is the number that came.
    pub draws: usize,
    /// Iterations per draw.
    pub thin: usize,
    /// Whether draws of the warm-up come before [`Chain::adapted`].
    pub saves_warmup: bool,
    /// What an iteration does.
    pub transition: &'a Transition,
}

/// A site whose elements are columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its path: `hidden.w`.
    pub name: &'a str,
    /// Its shape.
    pub shape: &'a [usize],
    /// The names of its elements in row-major order, `beta[age]`; empty where they have none.
    pub names: &'a [String],
}

/// The names that Stan gives to a sampler's numbers, in its order. Its tools refuse files with more of them.
const STATISTICS: [(&str, &str); 7] = [
    ("lp", "lp__"),
    ("acceptance_rate", "accept_stat__"),
    ("step_size", "stepsize__"),
    ("tree_depth", "treedepth__"),
    ("n_steps", "n_leapfrog__"),
    ("diverging", "divergent__"),
    ("energy", "energy__"),
];

/// The file of a chain; it has no name before [`Chain::finish`], and vanishes where it is dropped unfinished.
#[derive(Debug)]
pub struct Chain {
    path: PathBuf,
    file: Pending,
    /// Which numbers of the sampler are the first columns; `None` where it does not know.
    statistics: Vec<Option<usize>>,
    /// Which values are the columns after these.
    elements: Vec<usize>,
    metric: Option<Metric>,
    /// Where the number of draws stands in the file, and the width that is kept for it.
    count_at: (u64, usize),
    thin: usize,
    expected: usize,
    /// Rows since the warm-up.
    rows: usize,
    is_warm: bool,
    line: String,
}

impl Chain {
    /// Begins the file of a chain; `statistics` are the names of the sampler's numbers, `parameters` the sites.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn create(
        path: &Path,
        settings: &Settings<'_>,
        statistics: &[&str],
        parameters: &[Parameter<'_>],
    ) -> Result<Chain, Diagnostic> {
        let fail = |error: io::Error| report::unwritable(path, &error);
        let (columns, order) = statistic_columns(statistics);
        let (before, after) = settings_text(settings);
        let count = (settings.draws * settings.thin).to_string();
        let names = columns.into_iter().chain(element_columns(parameters));
        let header = names.collect::<Vec<_>>().join(",");
        let mut chain = Chain {
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

    /// Writes what the warm-up found, where the transition adapts. The inverse metric has one element per unconstrained parameter where the transition's metric is
    /// diagonal, the square of that where it is dense, row by row.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn adapted(&mut self, step_size: f64, inverse_metric: &[f64]) -> Result<(), Diagnostic> {
        self.is_warm = true;
        let Some(metric) = self.metric else {
            return Ok(());
        };
        let mut text = format!("# Adaptation terminated\n# Step size = {}\n", number(step_size));
        let size = match metric {
            Metric::Unit => 0,
            Metric::Automatic | Metric::Diagonal | Metric::Windowed => {
                text.push_str("# Diagonal elements of inverse mass matrix:\n");
                inverse_metric.len()
            }
            Metric::Dense | Metric::WindowedDense => {
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
        self.told(written)
    }

    /// Writes a draw: the sampler's numbers, and the elements of all parameters, each in C order, one after the other.
    ///
    /// # Errors
    /// A file that cannot be written.
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
        self.told(written)
    }

    /// Completes the file and gives it its name. Where fewer draws came than expected, the settings are corrected.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(mut self) -> Result<(), Diagnostic> {
        // Readers find the end of the draws and of the metric by CmdStan's block of times.
        let mut written = self.file.write_all(b"# \n#  Elapsed Time: not written\n# \n");
        if self.rows != self.expected {
            let (at, width) = self.count_at;
            let count = format!("{:width$}", (self.rows * self.thin).to_string());
            written = written
                .and_then(|()| self.file.seek(SeekFrom::Start(at)))
                .and_then(|_| self.file.write_all(&count.as_bytes()[..width]));
        }
        let Chain { path, file, .. } = self;
        let finished = written.and_then(|()| file.finish());
        finished.map_err(|error| report::unwritable(&path, &error))
    }

    fn told(&self, written: io::Result<()>) -> Result<(), Diagnostic> {
        written.map_err(|error| report::unwritable(&self.path, &error))
    }
}

/// The columns of the sampler's numbers, and which number each holds. `lp__` is always the first: readers know the header by it.
fn statistic_columns(statistics: &[&str]) -> (Vec<String>, Vec<Option<usize>>) {
    let place = |name: &str| statistics.iter().position(|other| *other == name);
    let known = STATISTICS
        .iter()
        .map(|(name, column)| ((*column).to_owned(), place(name)));
    known
        .filter(|(column, place)| column == "lp__" || place.is_some())
        .unzip()
}

/// Letters, digits and underscores; names that end in `__` are the sampler's.
fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name.to_owned(),
        Some(_) | None => format!("v{name}"),
    }
}

fn element_columns(parameters: &[Parameter<'_>]) -> Vec<String> {
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

/// One comment for each column whose element has a name.
fn name_comments(parameters: &[Parameter<'_>]) -> String {
    let named = |parameter: &Parameter<'_>| {
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
        // A level may hold a line break.
        let name = name.replace(['\n', '\r'], " ");
        Some(format!("# {column} is {name}\n"))
    };
    columns.filter_map(comment).collect()
}

/// For each column, the place of its value among all values.
fn element_order(parameters: &[Parameter<'_>]) -> Vec<usize> {
    let mut start = 0;
    let mut order = Vec::new();
    for Parameter { shape, .. } in parameters {
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

/// All indices of a shape, the first running fastest.
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

/// The settings as CmdStan's comments: up to the number of draws, and after it.
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

/// The shortest text that reads back as the same number, in C's words for what is not finite.
fn number(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() || (value.fract() == 0.0 && value.abs() < 1e15) {
        value.to_string()
    } else {
        format!("{value:?}")
    }
}
