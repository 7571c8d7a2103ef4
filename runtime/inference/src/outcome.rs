//! The results of a run: of each inference, and of each split.

use crate::chains::Diagnosis;
use crate::chains::Quantity;
use crate::leave_one_out::LeftOut;
use crate::posterior::Found;
use crate::prune::{self, Pruned};
use crate::summary::SiteSummary;
use bnnc_abi::manifest::Infer;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::tally::Tally;
use bnnc_data::Dataset;
use bnnc_data::metrics::{MetricSet, over_splits};
use bnnc_data::write::ResultColumn;
use std::sync::Arc;

/// The result of one inference on one split.
#[derive(Clone, Debug)]
pub struct SplitOutcome {
    /// The split's number, where the data has several.
    pub split: usize,
    /// What was found.
    pub found: Found,
    /// Metrics on the test rows (on the training rows where there are no test rows).
    pub metrics: MetricSet,
    /// The pruning table; empty where none was asked for.
    pub pruned: Vec<Pruned>,
    /// Metrics of the test rows turned by each further angle, in degrees.
    pub turned: Vec<(f64, MetricSet)>,
    /// Accuracies on test rows and outliers when a fraction of the most unsure is rejected; empty without outliers.
    pub rejection: Vec<(f64, MetricSet)>,
    /// How integrals over weights were made; none where there are none.
    pub tally: Option<Tally>,
    /// Training rows.
    pub train: usize,
    /// Test rows.
    pub test: usize,
    /// Seconds of fitting.
    pub fit_seconds: f64,
    /// Seconds of predicting.
    pub predict_seconds: f64,
}

/// The result of one inference.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// One per split.
    pub splits: Vec<SplitOutcome>,
    /// The sites, from the last split.
    pub sites: Vec<SiteSummary>,
    /// What is diagnosed of the chains of the last split.
    pub quantities: Vec<Quantity>,
    /// How far these can be trusted.
    pub diagnosis: Option<Diagnosis>,
    /// The training rows of the last split, each left out.
    pub left_out: Option<LeftOut>,
    /// Predictions for the rows of the last split that metrics were computed on, as columns of a table.
    pub predictions: Vec<(String, ResultColumn)>,
    /// The dataset of the last split.
    pub dataset: Arc<Dataset>,
    /// Whether the metrics are of test rows.
    pub tested: bool,
    /// When it was finished, in UTC; not the same in two runs.
    pub finished: String,
}

impl Outcome {
    /// The pruning table over all splits.
    pub fn pruning(&self) -> Vec<prune::Line> {
        let tables: Vec<&[Pruned]> = self.splits.iter().map(|split| split.pruned.as_slice()).collect();
        prune::over(&tables)
    }

    /// Makes the standard deviations of predictions infinite where [`infinite`] names them.
    pub fn mark_infinite(&mut self, infer: &Infer) {
        let names: Vec<String> = infinite(infer, |parameter| lowest(&self.sites, parameter)).collect();
        for name in names {
            if let Some(last) = self.splits.last_mut() {
                let own = last.metrics.iter_mut().filter(|(metric, _)| *metric == name);
                own.for_each(|(_, sd)| *sd = f64::INFINITY);
            }
            fill_infinite(&mut self.predictions, &name);
        }
    }

    /// Metrics by angle over all splits.
    pub fn turned(&self) -> Vec<(f64, Vec<Metric>)> {
        let tables: Vec<_> = self.splits.iter().map(|split| split.turned.as_slice()).collect();
        lines_over(&tables)
    }

    /// Accuracies by the fraction that is rejected over all splits.
    pub fn rejection(&self) -> Vec<(f64, Vec<Metric>)> {
        let tables: Vec<_> = self
            .splits
            .iter()
            .map(|split| split.rejection.as_slice())
            .collect();
        lines_over(&tables)
    }
}

/// Returns the names of the standard deviations of predictions that are infinite: at least 5 % of the posterior have a parameter under which the variance of the output is, and the
/// standard deviations of draws are then meaningless. `q05` returns the 5 % quantile of a parameter, the lowest of its elements.
pub fn infinite(infer: &Infer, q05: impl Fn(&str) -> Option<f64>) -> impl Iterator<Item = String> {
    infer.outputs.iter().filter_map(move |output| {
        let (parameter, threshold) = output.infinite_below.as_ref()?;
        (q05(parameter)? <= *threshold).then(|| infer.said_of(output, "sd"))
    })
}

/// The lowest 5 % quantile of the elements of a site.
pub fn lowest(sites: &[SiteSummary], name: &str) -> Option<f64> {
    let site = sites.iter().find(|site| site.name == name)?;
    site.elements
        .iter()
        .map(|summary| summary.q05)
        .min_by(f64::total_cmp)
}

/// Makes the values of a column infinite.
pub fn fill_infinite(columns: &mut [(String, ResultColumn)], name: &str) {
    for (_, column) in columns.iter_mut().filter(|(known, _)| known == name) {
        if let ResultColumn::Real(values) = column {
            values.fill(f64::INFINITY);
        }
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct RunResult {
    /// One per infer, in the order of the file.
    pub outcomes: Vec<Outcome>,
    /// Its warnings.
    pub warnings: Vec<Diagnostic>,
    /// Whether the user stopped the run before its end.
    pub interrupted: bool,
    /// The inference that failed.
    pub failed: Option<String>,
    /// What ended it early. The outcomes are those of the infers and splits that were finished by then.
    pub stopped: Option<Stop>,
}

impl RunResult {
    /// The result of a run that nothing but the user stopped.
    ///
    /// # Errors
    /// What stopped it.
    pub fn whole(mut self) -> Result<RunResult, Stop> {
        match self.stopped.take() {
            Some(stop) => Err(stop),
            None => Ok(self),
        }
    }
}

/// A metric over the splits: its name, mean and standard error.
pub type Metric = (String, f64, Option<f64>);

/// Metrics by angle, or by the fraction that is rejected, over the splits.
pub fn lines_over(splits: &[&[(f64, MetricSet)]]) -> Vec<(f64, Vec<Metric>)> {
    let lines = splits.first().copied().unwrap_or_default().iter().enumerate();
    let at = |(at, (of, _)): (usize, &(f64, MetricSet))| {
        let sets = splits.iter().filter_map(|lines| lines.get(at));
        let sets: Vec<MetricSet> = sets.map(|(_, metrics)| metrics.clone()).collect();
        (*of, over_splits(&sets))
    };
    lines.map(at).collect()
}
