//! The results of a run, for each inference block and each split.

use crate::chains::{Diagnosis, Quantity};
use crate::leave_one_out::LeftOut;
use crate::posterior::SharedPosterior;
use crate::prune::{self, Pruned};
use crate::summary::SiteSummary;
use bnnc_abi::corruption::Shift;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::Stop;
use bnnc_core::tally::Tally;
use bnnc_data::metrics::{MetricSet, over_splits};
use bnnc_data::write::ResultColumn;
use bnnc_data::{Dataset, Rows};
use std::sync::Arc;

/// The result of one inference block on one split.
#[derive(Clone, Debug)]
pub struct SplitOutcome {
    /// The index of the data split.
    pub split: usize,
    /// The posterior that was found on this split.
    pub found: SharedPosterior,
    /// The metrics on the test rows. If the data do not have test rows, these are the metrics on
    /// the training rows.
    pub metrics: MetricSet,
    /// The pruning table. It is empty if the program does not request pruning.
    pub pruned: Vec<Pruned>,
    /// The metrics for each angle of `rotate` except 0. An entry consists of an angle in degrees and the metrics on the test rows, whose images
    /// have been rotated by this angle.
    pub rotated: Vec<(f64, MetricSet)>,
    /// For each shift, the metrics on the test rows with images that the shift has corrupted.
    pub shifted: Vec<(Shift, MetricSet)>,
    /// For each rejected fraction, the accuracy on the test rows and outliers that remain. The
    /// most uncertain rows are rejected first. Without outliers, the
    /// vector is empty.
    pub rejection: Vec<(f64, MetricSet)>,
    /// For each threshold of the confidence, the share and the accuracy of the test rows whose confidence is at least the
    /// threshold. If no output is a class, the vector is empty.
    pub by_confidence: Vec<(f64, MetricSet)>,
    /// The number of integrals over weights, and the errors of these integrals. `None` if the
    /// predictions do not need such integrals.
    pub tally: Option<Tally>,
    /// The number of training rows.
    pub train: usize,
    /// The number of test rows.
    pub test: usize,
    /// The duration of the fit, in seconds.
    pub fit_seconds: f64,
    /// The duration of the predictions, in seconds.
    pub predict_seconds: f64,
}

/// The results of one inference block over all splits.
#[derive(Clone, Debug)]
pub struct InferenceOutcome {
    /// The name of the inference block.
    pub name: String,
    /// The results of each split.
    pub splits: Vec<SplitOutcome>,
    /// The summaries of the sites on the last split.
    pub sites: Vec<SiteSummary>,
    /// The diagnosed quantities of the chains, for the last split.
    pub quantities: Vec<Quantity>,
    /// The convergence diagnostics of the chains of the last split, if the posterior consists of chains.
    pub diagnosis: Option<Diagnosis>,
    /// The leave-one-out estimates of the training rows of the last split.
    pub left_out: Option<LeftOut>,
    /// The predictions of the last split, as columns of a table. Their rows are the rows that metrics were
    /// computed on.
    pub predictions: Vec<(String, ResultColumn)>,
    /// The data set of the last split.
    pub dataset: Arc<Dataset>,
    /// True if the metrics are computed on test rows, and false if they are computed on training rows.
    pub tested: bool,
    /// The UTC time when the inference run finished. The time differs between runs that are otherwise identical.
    pub finished: String,
}

impl InferenceOutcome {
    /// Returns the rows that the metrics are computed on, and the word for them in messages: `test` or `training`.
    pub fn scored(&self) -> (&Rows, &'static str) {
        match self.tested {
            true => (&self.dataset.test, "test"),
            false => (&self.dataset.train, "training"),
        }
    }

    /// Returns the pruning table, combined over all splits.
    pub fn pruning(&self) -> Vec<prune::PruningLine> {
        let tables: Vec<&[Pruned]> = self.splits.iter().map(|split| split.pruned.as_slice()).collect();
        prune::over(&tables)
    }

    /// Sets predictive standard deviations to infinity if [`infinite`] returns their names.
    pub fn mark_infinite(&mut self, infer: &InferenceBlock) {
        let names: Vec<String> = infinite(infer, |parameter| lowest(&self.sites, parameter)).collect();
        for name in names {
            if let Some(last) = self.splits.last_mut() {
                let own = last.metrics.iter_mut().filter(|(metric, _)| *metric == name);
                own.for_each(|(_, sd)| *sd = f64::INFINITY);
            }
            fill_infinite(&mut self.predictions, &name);
        }
    }

    /// Returns the metrics for each angle, combined over all splits.
    pub fn rotated(&self) -> Vec<(f64, Vec<MetricOverSplits>)> {
        let tables: Vec<_> = self.splits.iter().map(|split| split.rotated.as_slice()).collect();
        lines_over(&tables)
    }

    /// Returns the metrics for each shift, combined over all splits.
    pub fn shifted(&self) -> Vec<(Shift, Vec<MetricOverSplits>)> {
        let tables: Vec<_> = self.splits.iter().map(|split| split.shifted.as_slice()).collect();
        lines_over(&tables)
    }

    /// Returns the accuracy for each rejected fraction, combined over all splits.
    pub fn rejection(&self) -> Vec<(f64, Vec<MetricOverSplits>)> {
        let tables: Vec<_> = self
            .splits
            .iter()
            .map(|split| split.rejection.as_slice())
            .collect();
        lines_over(&tables)
    }

    /// Returns the share and the accuracy of the rows for each threshold of the confidence, combined over all splits.
    pub fn by_confidence(&self) -> Vec<(f64, Vec<MetricOverSplits>)> {
        let tables = self.splits.iter().map(|split| split.by_confidence.as_slice());
        lines_over(&tables.collect::<Vec<_>>())
    }
}

/// Returns the names of the predictive standard deviations that are infinite. A standard deviation counts as infinite if the variance of the output
/// is infinite with a posterior probability of at least 5 %. The variance depends on a
/// parameter, and is infinite for some of its values. The standard
/// deviation of draws is then meaningless. `q05` returns the 5 % quantile of a parameter. For an array, `q05` returns the smallest of the 5 %
/// quantiles of the elements.
pub fn infinite(infer: &InferenceBlock, q05: impl Fn(&str) -> Option<f64>) -> impl Iterator<Item = String> {
    infer.outputs.iter().filter_map(move |output| {
        let (parameter, threshold) = output.infinite_below.as_ref()?;
        (q05(parameter)? <= *threshold).then(|| infer.quantity_name(output, "sd"))
    })
}

/// Each element of a site has a 5 % quantile. Returns the smallest of these quantiles.
pub fn lowest(sites: &[SiteSummary], name: &str) -> Option<f64> {
    let site = sites.iter().find(|site| site.name == name)?;
    site.elements
        .iter()
        .map(|summary| summary.q05)
        .min_by(f64::total_cmp)
}

/// Sets all values of the column `name` to infinity.
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
    /// The results of the inference blocks, in the order of the program.
    pub outcomes: Vec<InferenceOutcome>,
    /// The warnings about the whole run.
    pub warnings: Vec<Diagnostic>,
    /// True if the user stopped the run before it was complete.
    pub interrupted: bool,
    /// The name of the inference block that failed, if any.
    pub failed: Option<String>,
    /// The error that ended the run early, if any. The outcomes include all inference blocks and splits that finished before the error.
    pub stopped: Option<Stop>,
}

impl RunResult {
    /// Returns the result of a run that finished. If an error ended the run early, returns this error.
    ///
    /// # Errors
    /// Fails with the error that ended the run.
    pub fn whole(mut self) -> Result<RunResult, Stop> {
        match self.stopped.take() {
            Some(stop) => Err(stop),
            None => Ok(self),
        }
    }
}

/// The name of a metric, its mean over the splits, and the standard error of this mean.
pub type MetricOverSplits = (String, f64, Option<f64>);

/// Combines metrics over the splits, separately for each line: an angle, a shift, or a rejected fraction.
pub fn lines_over<Line: Copy>(splits: &[&[(Line, MetricSet)]]) -> Vec<(Line, Vec<MetricOverSplits>)> {
    let lines = splits.first().copied().unwrap_or_default().iter().enumerate();
    let at = |(at, (of, _)): (usize, &(Line, MetricSet))| {
        let sets = splits.iter().filter_map(|lines| lines.get(at));
        let sets: Vec<MetricSet> = sets.map(|(_, metrics)| metrics.clone()).collect();
        (*of, over_splits(&sets))
    };
    lines.map(at).collect()
}
