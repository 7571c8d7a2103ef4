//! Metrics of an infer on rows whose target is known, fed by blocks of rows.

use crate::predict::Predictive;
use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::metrics::{ClassScores, Draws, MetricSet, RealScores};
use bnnc_data::{Dataset, Rows, Standardisation};
use std::ops::Range;

/// Scores that grow with every block of rows.
pub struct Scorer<'a> {
    output: &'a Output,
    scores: Scores,
}

enum Scores {
    /// With the targets in original units and how many there are per row.
    Real(Box<RealScores>, Vec<f64>, usize),
    /// With the right classes.
    Classes(Box<ClassScores>, Vec<i32>),
}

impl<'a> Scorer<'a> {
    /// Starts scoring predictions for `rows`, which are so many examples.
    ///
    /// # Errors
    /// A target column that does not fit.
    pub fn new(
        rows: &Rows,
        examples: usize,
        dataset: &Dataset,
        output: &'a Output,
    ) -> Result<Scorer<'a>, Diagnostic> {
        let target = dataset.target.as_ref().unwrap_or(&output.name);
        let classes = match output.kind {
            OutputKind::Classes(classes) => Some(classes),
            OutputKind::Bool => Some(2),
            OutputKind::Real | OutputKind::Count => None,
        };
        let scores = match classes {
            Some(classes) => Scores::Classes(Box::new(ClassScores::new(classes)), rows.ints(target)?),
            None => {
                let targets = rows.original(target)?;
                let width = (targets.len() / examples.max(1)).max(1);
                Scores::Real(
                    Box::new(RealScores::new(dataset.preparation.target)),
                    targets,
                    width,
                )
            }
        };
        Ok(Scorer { output, scores })
    }

    /// Adds the predictions for the rows of a range, in original units.
    pub fn add(&mut self, range: Range<usize>, predictive: &Predictive) {
        let log_likelihood = Draws::new(&predictive.log_likelihood, range.len());
        match &mut self.scores {
            Scores::Classes(scores, targets) => {
                scores.add_log_likelihood(log_likelihood);
                scores.add_probabilities(&probabilities(predictive, self.output), &targets[range]);
            }
            Scores::Real(scores, targets, width) => {
                scores.add_log_likelihood_of(log_likelihood, *width);
                let targets = &targets[range.start * *width..range.end * *width];
                // A series whose first elements are given has predictions for the others only: they have no metrics.
                let complete =
                    |values: &[f64]| !values.is_empty() && values.len().is_multiple_of(targets.len().max(1));
                if complete(&predictive.mean) {
                    scores.add_mean(Draws::new(&predictive.mean, targets.len()), targets);
                }
                if complete(&predictive.draw) {
                    scores.add_draws(Draws::new(&predictive.draw, targets.len()), targets);
                }
            }
        }
    }

    /// Adds the predictions for rows that are unlike the others. Only classes have an entropy.
    pub fn add_outliers(&mut self, predictive: &Predictive) {
        match &mut self.scores {
            Scores::Classes(scores, _) => {
                scores.add_outliers(&probabilities(predictive, self.output), predictive.rows);
            }
            Scores::Real(..) => {}
        }
    }

    /// Accuracies with fractions of the most unsure rows and outliers rejected; empty without outliers.
    pub fn rejection(&self) -> Vec<(f64, f64)> {
        match &self.scores {
            Scores::Classes(scores, _) => scores.unsure().rejection(),
            Scores::Real(..) => Vec::new(),
        }
    }

    /// The metrics.
    pub fn finish(self) -> MetricSet {
        match self.scores {
            Scores::Real(scores, ..) => scores.finish(),
            Scores::Classes(scores, _) => scores.finish(),
        }
    }
}

/// Values on the model's scale in original units.
pub fn original(values: &[f64], standardisation: Standardisation) -> Vec<f64> {
    values.iter().map(|value| standardisation.undo(*value)).collect()
}

/// Class probabilities `[draws, rows, classes]`; a truth value is two classes, and its mean is the probability of the second.
pub fn probabilities<'a>(predictive: &'a Predictive, output: &Output) -> std::borrow::Cow<'a, [f64]> {
    match output.kind {
        OutputKind::Bool => predictive.mean.iter().flat_map(|p| [1.0 - p, *p]).collect(),
        _ => (&predictive.probabilities).into(),
    }
}
