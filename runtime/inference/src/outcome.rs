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
use bnnc_data::metrics::{MetricSet, Summary, over_splits};
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

    /// Makes the standard deviations of predictions infinite where at least 5 % of the posterior have a parameter under which the variance is: those of draws are then meaningless.
    pub fn mark_infinite(&mut self, infer: &Infer) {
        for output in &infer.outputs {
            let Some((parameter, threshold)) = &output.infinite_below else {
                continue;
            };
            let site = self.sites.iter().find(|site| site.name == *parameter);
            let is_infinite = |summary: &Summary| summary.q05 <= *threshold;
            if !site.is_some_and(|site| site.elements.iter().any(is_infinite)) {
                continue;
            }
            let name = infer.said_of(output, "sd");
            if let Some(last) = self.splits.last_mut() {
                let own = last.metrics.iter_mut().filter(|(metric, _)| *metric == name);
                own.for_each(|(_, sd)| *sd = f64::INFINITY);
            }
            let own = self.predictions.iter_mut().filter(|(column, _)| *column == name);
            for (_, column) in own {
                if let ResultColumn::Real(values) = column {
                    values.fill(f64::INFINITY);
                }
            }
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
