//! The metrics of predictions. A metric has a name and a meaning, and is computed from a certain
//! quantity.

use crate::manifest::{InferenceBlock, Output, OutputKind};
use crate::ports::PortName;
use bnnc_base::source::Span;
use serde::{Deserialize, Serialize};

/// The quantity from which a metric is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The mean of the target under each draw of the parameters.
    Mean,
    /// Draws of the target.
    Draws,
    /// The probabilities of the classes.
    Probabilities,
    /// The class probabilities of the outlier rows.
    Outliers,
    /// The log density of the target in each test row.
    LogLikelihood,
    /// The log density of each training row under each posterior draw.
    LeftOut,
    /// The time of the fit in seconds.
    Time,
}

/// One metric of predictions.
#[derive(Clone, Copy, Debug)]
pub struct MetricDef {
    /// The name of the metric in `result.json`.
    pub name: &'static str,
    /// The metric as a program writes it.
    pub written: &'static str,
    /// One line of explanation for the report.
    pub meaning: &'static str,
    /// The quantity from which the metric is computed.
    pub basis: Basis,
    /// The call that means this metric: the name of a group of metrics, and the argument of this one. `None` if the metric has no argument.
    pub call: Option<(&'static str, f64)>,
    /// True if the printed table of a run has the metric. `result.json` and the report have all metrics.
    pub printed: bool,
}

const fn metric(name: &'static str, basis: Basis, meaning: &'static str) -> MetricDef {
    MetricDef {
        name,
        written: name,
        meaning,
        basis,
        call: None,
        printed: true,
    }
}

const fn coverage(name: &'static str, written: &'static str, level: f64, meaning: &'static str) -> MetricDef {
    MetricDef {
        written,
        call: Some(("coverage", level)),
        ..metric(name, Basis::Draws, meaning)
    }
}

const fn calibration(
    name: &'static str,
    written: &'static str,
    bins: f64,
    meaning: &'static str,
) -> MetricDef {
    MetricDef {
        written,
        call: Some(("ece", bins)),
        printed: false,
        ..metric(name, Basis::Probabilities, meaning)
    }
}

const fn unprinted(name: &'static str, meaning: &'static str) -> MetricDef {
    MetricDef {
        printed: false,
        ..metric(name, Basis::Probabilities, meaning)
    }
}

/// All metrics of predictions.
pub static ALL: &[MetricDef] = &[
    metric(
        "rmse",
        Basis::Mean,
        "root mean squared error of the predictive mean",
    ),
    metric(
        "log_likelihood",
        Basis::LogLikelihood,
        "mean log predictive density per row: larger is better",
    ),
    metric(
        "elpd_loo",
        Basis::LeftOut,
        "sum of the log predictive density of each training row given all other rows, by PSIS-LOO: larger is better",
    ),
    coverage(
        "coverage_50",
        "coverage(0.5)",
        0.5,
        "fraction of targets inside the central 50 % interval: 0.5 is calibrated",
    ),
    coverage(
        "coverage_90",
        "coverage(0.9)",
        0.9,
        "fraction of targets inside the central 90 % interval: 0.9 is calibrated",
    ),
    coverage(
        "coverage_95",
        "coverage(0.95)",
        0.95,
        "fraction of targets inside the central 95 % interval: 0.95 is calibrated",
    ),
    metric(
        "crps",
        Basis::Draws,
        "continuous ranked probability score, in units of the target: smaller is better",
    ),
    metric(
        "sd",
        Basis::Draws,
        "mean standard deviation of the predictive distribution",
    ),
    metric(
        "accuracy",
        Basis::Probabilities,
        "fraction of rows whose most probable class is the true class",
    ),
    metric(
        "nll",
        Basis::Probabilities,
        "negative log probability of the true class: smaller is better",
    ),
    metric(
        "brier",
        Basis::Probabilities,
        "squared distance of the probabilities from the true class: smaller is better",
    ),
    MetricDef {
        printed: true,
        ..calibration(
            "ece",
            "ece",
            15.0,
            "expected calibration error: mean gap between probability and accuracy, in 15 bins of equal width",
        )
    },
    calibration(
        "ece_10",
        "ece(10)",
        10.0,
        "expected calibration error in 10 bins of equal width",
    ),
    calibration(
        "ece_20",
        "ece(20)",
        20.0,
        "expected calibration error in 20 bins of equal width",
    ),
    unprinted(
        "adaptive_ece",
        "expected calibration error in 15 bins with equal numbers of rows",
    ),
    unprinted(
        "classwise_ece",
        "expected calibration error of the probability of each class, in 15 bins of equal width, averaged over the classes",
    ),
    unprinted(
        "aurc",
        "area under the risk-coverage curve: error rate of the n most confident rows, averaged over n; smaller is better",
    ),
    metric(
        "entropy",
        Basis::Probabilities,
        "mean entropy of the predictions of test rows",
    ),
    metric(
        "ood_entropy",
        Basis::Outliers,
        "mean entropy of the predictions of outliers",
    ),
    metric(
        "ood_auroc",
        Basis::Outliers,
        "probability that an outlier has a larger entropy than a test row: 0.5 is chance, 1 is perfect separation",
    ),
    metric(
        "ood_aupr",
        Basis::Outliers,
        "average precision of detecting outliers by their entropy: the share of outliers is chance, 1 is perfect separation",
    ),
    metric(
        "ood_fpr95",
        Basis::Outliers,
        "fraction of outliers that a threshold on the entropy accepts if it accepts 95 % of the test rows: smaller is better",
    ),
    metric("time", Basis::Time, "seconds of fitting"),
];

/// Returns the metrics that a call `NAME(argument)` may mean. The result is empty if `name` takes no argument.
pub fn calls(name: &str) -> Vec<&'static MetricDef> {
    let is_of = |metric: &&MetricDef| metric.call.is_some_and(|(own, _)| own == name);
    ALL.iter().filter(is_of).collect()
}

/// Returns the metric with this name in `result.json`.
pub fn find(name: &str) -> Option<&'static MetricDef> {
    ALL.iter().find(|metric| metric.name == name)
}

/// A metric that a `compare` item names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedMetric {
    /// The output to which the metric applies, if the program names one.
    pub output: Option<String>,
    /// The name of the metric in `result.json`.
    pub name: String,
    /// The place where the program names the metric.
    pub span: Span,
}

impl ComparedMetric {
    /// Returns the name of the metric in tables: `rmse`, or `y.rmse` if the program names the output.
    pub fn label(&self) -> String {
        match &self.output {
            Some(output) => format!("{output}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Returns the name of the metric among the metrics of an inference run. The name of the output
    /// is left out if the model has only one output.
    pub fn key(&self, infer: &InferenceBlock) -> String {
        let only = infer.only_output().map(|output| &output.name);
        match &self.output {
            Some(output) if only != Some(output) => self.label(),
            _ => self.name.clone(),
        }
    }

    /// Returns the quantity from which the metric is computed.
    pub fn basis(&self) -> Option<Basis> {
        find(&self.name).map(|metric| metric.basis)
    }
}

impl Basis {
    /// Returns whether the quantity covers all outputs of the model together.
    pub fn is_joint(self) -> bool {
        matches!(self, Basis::LeftOut | Basis::Time)
    }

    /// Returns the port in which the prediction program stores this quantity of an output; `None`
    /// if the output does not have the quantity.
    pub fn port(self, output: &Output) -> Option<PortName> {
        let is_number = matches!(output.kind, OutputKind::Real | OutputKind::Count);
        match self {
            Basis::Mean if is_number => Some(PortName::Mean),
            Basis::Draws if is_number => Some(PortName::Draw),
            Basis::Mean | Basis::Draws => None,
            Basis::Probabilities | Basis::Outliers => match output.kind {
                OutputKind::Classes(_) => Some(PortName::Probabilities),
                OutputKind::Bool => Some(PortName::Mean),
                OutputKind::Real | OutputKind::Count => None,
            },
            Basis::LogLikelihood | Basis::LeftOut | Basis::Time => Some(PortName::LogLikelihood),
        }
    }
}
