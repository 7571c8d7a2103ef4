//! Predictions as the columns of a table, fed by blocks of rows: mean, sd and quantiles, or the probabilities of classes.

use crate::predict::Predictive;
use crate::score::probabilities;
use bnnc_abi::manifest::{Infer, Output, OutputKind};
use bnnc_base::dtype::Precision;
use bnnc_data::Rows;
use bnnc_data::metrics::{Draws, Summary, sorted};
use bnnc_data::write::ResultColumn;
use std::path::Path;

/// Columns that grow with every block of rows.
pub struct Columns<'a> {
    infer: &'a Infer,
    lead: Vec<(String, ResultColumn)>,
    each: Vec<OfOutput<'a>>,
}

/// The columns of one output.
struct OfOutput<'a> {
    output: &'a Output,
    /// One column per class, or `mean`, `sd`, `q05`, `q50`, `q95`; those that the model does not have stay empty.
    reals: Vec<(String, Vec<f64>)>,
    /// Standard deviations of the mean, and of the target given the parameters, where predictions state them; then what integrals say besides.
    parts: [Vec<f64>; 6],
}

/// The names of [`OfOutput::parts`]; `error` is that of the mean or of the probabilities.
const NAMES: [&str; 6] = [
    "sd_epistemic",
    "sd_aleatoric",
    "error",
    "log_density",
    "log_density_error",
    "cdf",
];

/// The name of a column and what it holds.
type Part = (&'static str, fn(&Summary) -> f64);

/// What is said of predictive draws.
const PARTS: [Part; 4] = [
    // The first: it is left out where there is no mean.
    ("sd", |s| s.sd),
    ("q05", |s| s.q05),
    ("q50", |s| s.q50),
    ("q95", |s| s.q95),
];

impl<'a> Columns<'a> {
    /// Empty columns for the first `count` of these rows, all of them unless they are one example.
    pub fn new(infer: &'a Infer, rows: &Rows, count: usize) -> Columns<'a> {
        let each = infer
            .outputs
            .iter()
            .map(|output| OfOutput::new(infer, output, count));
        Columns {
            infer,
            lead: places(rows, count),
            each: each.collect(),
        }
    }

    /// Adds the predictions for the next rows, in original units.
    pub fn add(&mut self, predictive: &Predictive) {
        for (columns, said) in self.each.iter_mut().zip(predictive.each()) {
            columns.add(said);
        }
    }

    /// The outputs of which nothing can be predicted: no column would be theirs.
    pub fn without(&self) -> Vec<&'a str> {
        let empty = self.each.iter().filter(|columns| columns.is_empty());
        empty.map(|columns| columns.output.name.as_str()).collect()
    }

    /// The columns with their names, after the place of each row; those of one output after those of another.
    pub fn finish(self) -> Vec<(String, ResultColumn)> {
        let infer = self.infer;
        let each = self.each.into_iter().flat_map(|columns| {
            let output = columns.output;
            let named = move |(name, mut column): (String, Vec<f64>)| {
                if infer.precision == Precision::F32 {
                    column.iter_mut().for_each(|value| *value = single(*value));
                }
                (infer.said_of(output, &name), ResultColumn::Real(column))
            };
            columns.filled().map(named)
        });
        self.lead.into_iter().chain(each).collect()
    }
}

/// The number with the fewest digits that is the same in single precision: further digits of what was computed in it mean nothing.
fn single(value: f64) -> f64 {
    let narrow = value as f32;
    match narrow.is_finite() {
        true => format!("{narrow:?}").parse().unwrap_or(value),
        false => value,
    }
}

/// The columns that say where rows come from: their numbers in their file as messages count them (the header of a table is row 1), and the file's name
/// where they come from several.
pub fn places(rows: &Rows, count: usize) -> Vec<(String, ResultColumn)> {
    let (paths, numbers): (Vec<&Path>, Vec<i64>) = (0..count.min(rows.count))
        .map(|row| rows.place(row))
        .map(|(path, number)| (path, number as i64))
        .unzip();
    let mut columns = vec![("row".to_owned(), ResultColumn::Int(numbers))];
    if paths.windows(2).any(|pair| pair[0] != pair[1]) {
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        columns.push(("file".to_owned(), ResultColumn::Text(names)));
    }
    columns
}

/// The names of the probabilities of the classes of an output: `p[malignant]`, and `p0` where classes have no names.
pub fn classes(infer: &Infer, output: &Output, count: usize) -> Vec<String> {
    match infer.names.classes(&output.name, count) {
        Some(names) => names.iter().map(|name| format!("p[{name}]")).collect(),
        None => (0..count).map(|class| format!("p{class}")).collect(),
    }
}

impl<'a> OfOutput<'a> {
    fn new(infer: &Infer, output: &'a Output, rows: usize) -> OfOutput<'a> {
        let names: Vec<String> = match output.kind {
            OutputKind::Classes(count) => classes(infer, output, count),
            OutputKind::Bool => classes(infer, output, 2),
            OutputKind::Real | OutputKind::Count => ["mean"]
                .into_iter()
                .chain(PARTS.map(|(name, _)| name))
                .map(str::to_owned)
                .collect(),
        };
        OfOutput {
            output,
            reals: names
                .into_iter()
                .map(|name| (name, Vec::with_capacity(rows)))
                .collect(),
            parts: Default::default(),
        }
    }

    fn add(&mut self, predictive: &Predictive) {
        match self.output.kind {
            OutputKind::Classes(_) | OutputKind::Bool => self.add_classes(predictive),
            OutputKind::Real | OutputKind::Count => self.add_reals(predictive),
        }
        let said = &predictive.integrated;
        let said = [&said.error, &said.log_density, &said.log_density_error, &said.cdf];
        for (column, values) in self.parts.iter_mut().skip(2).zip(said) {
            // What has several elements in a row is no column.
            if values.len() == predictive.rows {
                column.extend(values);
            }
        }
    }

    fn add_classes(&mut self, predictive: &Predictive) {
        let classes = self.reals.len();
        let all = probabilities(predictive, self.output);
        // Only of outputs that are one class per row.
        if all.is_empty() || all.len() != predictive.draws * predictive.rows * classes {
            return;
        }
        // Draw by draw: the draws of one probability are far apart in memory where there are many classes.
        let mut sums = vec![0.0; predictive.rows * classes];
        for draw in all.chunks_exact(sums.len().max(1)) {
            sums.iter_mut().zip(draw).for_each(|(sum, value)| *sum += value);
        }
        for (class, (_, column)) in self.reals.iter_mut().enumerate() {
            let of_class = sums.iter().skip(class).step_by(classes);
            column.extend(of_class.map(|sum| sum / predictive.draws as f64));
        }
    }

    /// Only of outputs that are one number per row.
    fn add_reals(&mut self, predictive: &Predictive) {
        let (rows, count) = (predictive.rows, predictive.draws);
        let Some(((_, means), others)) = self.reals.split_first_mut() else {
            return;
        };
        let has_mean = predictive.mean.len() == rows * count;
        if has_mean {
            let draws = Draws::new(&predictive.mean, rows);
            means.extend((0..rows).map(|row| draws.of_row(row).sum::<f64>() / count as f64));
        }
        if predictive.draw.len() == rows * count {
            let draws = Draws::new(&predictive.draw, rows);
            for row in 0..rows {
                let mut summary = Summary::of_sorted(&sorted(draws.of_row(row)));
                if self.output.infinite_variance {
                    summary.sd = f64::INFINITY;
                }
                // What has no mean has no standard deviation either, although draws have one.
                let parts = others.iter_mut().zip(PARTS).skip(usize::from(!has_mean));
                parts.for_each(|((_, column), (_, part))| column.push(part(&summary)));
            }
        }
        let known = [&predictive.epistemic, &predictive.aleatoric];
        if known.iter().all(|deviations| deviations.len() == rows) {
            for (column, deviations) in self.parts.iter_mut().zip(known) {
                column.extend(deviations);
            }
            // Exact, unlike that of finitely many quantiles.
            if let Some((_, sd)) = others.first_mut() {
                let both = predictive.epistemic.iter().zip(&predictive.aleatoric);
                sd.truncate(sd.len().saturating_sub(rows));
                sd.extend(both.map(|(x, y)| x.hypot(*y)));
            }
        }
        let quantiles = &predictive.quantiles;
        if quantiles.iter().all(|exact| exact.len() == rows) {
            for ((_, column), exact) in others.iter_mut().skip(1).zip(quantiles) {
                column.truncate(column.len().saturating_sub(rows));
                column.extend(exact);
            }
        }
    }

    /// Whether nothing was added.
    fn is_empty(&self) -> bool {
        let reals = self.reals.iter().map(|(_, column)| column);
        reals.chain(&self.parts).all(Vec::is_empty)
    }

    /// Those that there are.
    fn filled(self) -> impl Iterator<Item = (String, Vec<f64>)> {
        let parts = NAMES.map(str::to_owned).into_iter().zip(self.parts);
        let all = self.reals.into_iter().chain(parts);
        all.filter(|(_, column)| !column.is_empty())
    }
}
