//! Predictions as columns of a table. The columns are filled block by block. An output has the
//! columns mean, sd and quantiles, or class probabilities.

use crate::predict::Predictive;
use crate::score::probabilities;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_base::dtype::Precision;
use bnnc_data::Rows;
use bnnc_data::metrics::{DrawMatrix, DrawSummary, sorted};
use bnnc_data::write::ResultColumn;
use std::path::Path;

/// Columns of predictions that grow with every block of rows.
pub struct Columns<'a> {
    infer: &'a InferenceBlock,
    lead: Vec<(String, ResultColumn)>,
    each: Vec<OfOutput<'a>>,
}

/// The columns of one output.
struct OfOutput<'a> {
    output: &'a Output,
    /// One column per class, or the columns `mean`, `sd`, `q05`, `q50`, `q95`. A column stays empty
    /// if the model does not provide its values.
    reals: Vec<(String, Vec<f64>)>,
    /// The columns whose names are in [`NAMES`]. `sd_epistemic` is the standard deviation of the target's
    /// mean. `sd_aleatoric` is the standard deviation of the target given the parameters. The
    /// other columns are additional results of integrals. A column stays empty if the predictions
    /// do not provide its values.
    parts: [Vec<f64>; 6],
}

/// The names of the columns in [`OfOutput::parts`]. The column `error` holds the numerical error of
/// means and probabilities.
const NAMES: [&str; 6] = [
    "sd_epistemic",
    "sd_aleatoric",
    "error",
    "log_density",
    "log_density_error",
    "cdf",
];

/// The name of a column, and the function that computes its statistic.
type Part = (&'static str, fn(&DrawSummary) -> f64);

/// The statistics that are computed from predictive draws.
const PARTS: [Part; 4] = [
    // `sd` is first, because `add_reals` skips the first entry if the distribution does not have a
    // mean.
    ("sd", |s| s.sd),
    ("q05", |s| s.q05),
    ("q50", |s| s.q50),
    ("q95", |s| s.q95),
];

impl<'a> Columns<'a> {
    /// Creates empty columns, for predictions of the first `count` rows in `rows`.
    pub fn new(infer: &'a InferenceBlock, rows: &Rows, count: usize) -> Columns<'a> {
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

    /// Adds the predictions for the next rows. They must be in original units.
    pub fn add(&mut self, predictive: &Predictive) {
        for (columns, own) in self.each.iter_mut().zip(predictive.each()) {
            columns.add(own);
        }
    }

    /// Returns the names of the outputs without predictions.
    pub fn without(&self) -> Vec<&'a str> {
        let empty = self.each.iter().filter(|columns| columns.is_empty());
        empty.map(|columns| columns.output.name.as_str()).collect()
    }

    /// Returns the columns with their names. The columns that identify the rows come first, then
    /// the columns of each output in the order of the outputs.
    pub fn finish(self) -> Vec<(String, ResultColumn)> {
        let infer = self.infer;
        let each = self.each.into_iter().flat_map(|columns| {
            let output = columns.output;
            let named = move |(name, mut column): (String, Vec<f64>)| {
                if infer.precision == Precision::F32 {
                    column.iter_mut().for_each(|value| *value = single(*value));
                }
                (infer.quantity_name(output, &name), ResultColumn::Real(column))
            };
            columns.filled().map(named)
        });
        self.lead.into_iter().chain(each).collect()
    }
}

/// Returns the shortest decimal number that rounds to `value` in single precision. Further
/// digits of a single-precision result are meaningless.
fn single(value: f64) -> f64 {
    let narrow = value as f32;
    match narrow.is_finite() {
        true => format!("{narrow:?}").parse().unwrap_or(value),
        false => value,
    }
}

/// Returns the columns that identify the rows. The first column contains the row number in the file. Rows
/// are numbered as in messages: the header of a table is row 1. If the rows come from several files, the
/// second column contains the name of the file.
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

/// Returns the names of the probability columns of an output, such as `p[malignant]`. If the
/// classes do not have names, the names are `p0` and so on.
pub fn classes(infer: &InferenceBlock, output: &Output, count: usize) -> Vec<String> {
    match infer.names.classes(&output.name, count) {
        Some(names) => names.iter().map(|name| format!("p[{name}]")).collect(),
        None => (0..count).map(|class| format!("p{class}")).collect(),
    }
}

impl<'a> OfOutput<'a> {
    fn new(infer: &InferenceBlock, output: &'a Output, rows: usize) -> OfOutput<'a> {
        let names: Vec<String> = match output.kind.classes() {
            Some(count) => classes(infer, output, count),
            None => ["mean"]
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
        let results = &predictive.integrated;
        let results = [
            &results.error,
            &results.log_density,
            &results.log_density_error,
            &results.cdf,
        ];
        for (column, values) in self.parts.iter_mut().skip(2).zip(results) {
            // If a quantity has several elements per row, it does not fit into one column.
            if values.len() == predictive.rows {
                column.extend(values);
            }
        }
    }

    fn add_classes(&mut self, predictive: &Predictive) {
        let classes = self.reals.len();
        let all = probabilities(predictive, self.output);
        // Only an output with one class per row has columns.
        if all.is_empty() || all.len() != predictive.draws * predictive.rows * classes {
            return;
        }
        // The probabilities are summed draw by draw, because this order is faster. With many
        // classes, the draws of one probability are far apart in memory.
        let mut sums = vec![0.0; predictive.rows * classes];
        for draw in all.chunks_exact(sums.len().max(1)) {
            sums.iter_mut().zip(draw).for_each(|(sum, value)| *sum += value);
        }
        for (class, (_, column)) in self.reals.iter_mut().enumerate() {
            let of_class = sums.iter().skip(class).step_by(classes);
            column.extend(of_class.map(|sum| sum / predictive.draws as f64));
        }
    }

    /// Adds the statistics of an output that has one number per row.
    fn add_reals(&mut self, predictive: &Predictive) {
        let (rows, count) = (predictive.rows, predictive.draws);
        let Some(((_, means), others)) = self.reals.split_first_mut() else {
            return;
        };
        let has_mean = predictive.mean.len() == rows * count;
        if has_mean {
            let draws = DrawMatrix::new(&predictive.mean, rows);
            means.extend((0..rows).map(|row| draws.of_row(row).sum::<f64>() / count as f64));
        }
        if predictive.draw.len() == rows * count {
            let draws = DrawMatrix::new(&predictive.draw, rows);
            for row in 0..rows {
                let mut summary = DrawSummary::of_sorted(&sorted(draws.of_row(row)));
                if self.output.infinite_variance {
                    summary.sd = f64::INFINITY;
                }
                // If the distribution does not have a mean, its standard deviation is undefined.
                // The column is left out, although the standard deviation of the draws could be
                // computed.
                let parts = others.iter_mut().zip(PARTS).skip(usize::from(!has_mean));
                parts.for_each(|((_, column), (_, part))| column.push(part(&summary)));
            }
        }
        let known = [&predictive.epistemic, &predictive.aleatoric];
        if known.iter().all(|deviations| deviations.len() == rows) {
            for (column, deviations) in self.parts.iter_mut().zip(known) {
                column.extend(deviations);
            }
            // The standard deviation that is computed from its two parts is exact. It replaces the
            // standard deviation of the draws, which are only a finite number of quantiles.
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

    /// Returns whether no values have been added.
    fn is_empty(&self) -> bool {
        let reals = self.reals.iter().map(|(_, column)| column);
        reals.chain(&self.parts).all(Vec::is_empty)
    }

    /// Returns the columns that have values.
    fn filled(self) -> impl Iterator<Item = (String, Vec<f64>)> {
        let parts = NAMES.map(str::to_owned).into_iter().zip(self.parts);
        let all = self.reals.into_iter().chain(parts);
        all.filter(|(_, column)| !column.is_empty())
    }
}
