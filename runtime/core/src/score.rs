//! Metrics of an inference block on rows whose targets are known. The metrics are updated block by
//! block.

use crate::predict::{Predictive, units};
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::metrics::{ClassScores, DrawMatrix, MetricSet, RealScores};
use bnnc_data::{Dataset, Rows};
use std::borrow::Cow;
use std::ops::Range;

/// The scores of predictions. They are updated with every block of rows.
pub struct Scorer<'a> {
    infer: &'a InferenceBlock,
    /// The scores of the joint log likelihood of several outputs, and the number of standardised
    /// elements per example. `None` if the model has a single output.
    together: Option<(Box<RealScores>, usize)>,
    /// Each output with its scores.
    each: Vec<(&'a Output, Scores)>,
}

enum Scores {
    /// Scores of reals, the targets in original units, and the number of targets per row.
    Real(Box<RealScores>, Vec<f64>, usize),
    /// Scores of classes, the true classes, and the number of classes per row.
    Classes(Box<ClassScores>, Vec<i32>, usize),
}

impl<'a> Scorer<'a> {
    /// Creates scores to which no predictions have been added. The predictions will be for `rows`,
    /// which form `examples` examples.
    ///
    /// # Errors
    /// Fails if a target column does not fit the program.
    pub fn new(
        rows: &Rows,
        examples: usize,
        dataset: &Dataset,
        infer: &'a InferenceBlock,
    ) -> Result<Scorer<'a>, Diagnostic> {
        let each = infer.outputs.iter().map(|output| {
            let scores = Scores::new((rows, examples), dataset, (infer, output))?;
            Ok((output, scores))
        });
        let together = infer.only_output().is_none().then(|| {
            let target = dataset.preparation.target;
            let is_target = |output: &&Output| units(infer, output, &dataset.preparation) == target;
            let standardised = infer.outputs.iter().find(is_target);
            let width = standardised.map_or(0, Output::elements);
            (Box::new(RealScores::new(target)), width)
        });
        Ok(Scorer {
            infer,
            together,
            each: each.collect::<Result<_, Diagnostic>>()?,
        })
    }

    /// Adds the predictions for the rows in `range`, in original units.
    pub fn add(&mut self, range: Range<usize>, predictive: &Predictive) {
        if let Some((scores, width)) = &mut self.together {
            scores.add_log_likelihood_of(DrawMatrix::new(&predictive.log_likelihood, range.len()), *width);
        }
        let is_whole = self.infer.examples(2) == 1;
        for ((output, scores), predictive) in self.each.iter_mut().zip(predictive.each()) {
            // The elements of one example depend on each other. The predicted mean of an element is
            // computed without the other elements, so it is not compared with the target.
            let is_prior = is_whole && output.joint;
            scores.add(range.clone(), predictive, (output, is_prior));
        }
    }

    /// Adds the predictions for outliers, which are rows from another distribution. Only the scores
    /// of class outputs use these predictions.
    pub fn add_outliers(&mut self, predictive: &Predictive) {
        for ((output, scores), predictive) in self.each.iter_mut().zip(predictive.each()) {
            match scores {
                Scores::Classes(scores, _, width) => {
                    scores.add_outliers(&probabilities(predictive, output), predictive.rows * *width)
                }
                Scores::Real(..) => {}
            }
        }
    }

    /// For several fractions, returns the accuracy after this fraction of the predictions has been
    /// rejected. The most uncertain predictions are rejected first. The predictions
    /// of the rows and of the outliers are ranked together.
    /// Without outliers, the result is empty.
    pub fn rejection(&self) -> Vec<(f64, MetricSet)> {
        let mut lines: Vec<(f64, MetricSet)> = Vec::new();
        for (output, scores) in &self.each {
            let Scores::Classes(scores, ..) = scores else {
                continue;
            };
            for (at, (fraction, accuracy)) in scores.unsure().rejection().into_iter().enumerate() {
                if lines.len() == at {
                    lines.push((fraction, Vec::new()));
                }
                lines[at]
                    .1
                    .push((self.infer.quantity_name(output, "accuracy"), accuracy));
            }
        }
        lines
    }

    /// For several thresholds of the confidence, returns the share and the accuracy of the rows whose confidence is at least
    /// the threshold, for each output that is a class. Without such outputs, the result is empty.
    pub fn by_confidence(&self) -> Vec<(f64, MetricSet)> {
        let mut lines: Vec<(f64, MetricSet)> = Vec::new();
        for (output, scores) in &self.each {
            let Scores::Classes(scores, ..) = scores else {
                continue;
            };
            for (at, line) in scores.by_confidence().into_iter().enumerate() {
                if lines.len() == at {
                    lines.push((line.threshold, Vec::new()));
                }
                let name = |quantity: &str| self.infer.quantity_name(output, quantity);
                let values = [("share", line.share), ("accuracy", line.accuracy)];
                let values = values.map(|(quantity, value)| (name(quantity), value));
                lines[at].1.extend(values);
            }
        }
        lines
    }

    /// Returns the metrics of each output. If the model has several outputs, the joint log
    /// likelihood is first.
    pub fn finish(self) -> MetricSet {
        let infer = self.infer;
        let together = self.together.map_or_else(Vec::new, |(scores, _)| scores.finish());
        let each = self.each.into_iter().flat_map(|(output, scores)| {
            let named = move |(name, value): (String, f64)| (infer.quantity_name(output, &name), value);
            scores.finish().into_iter().map(named)
        });
        together.into_iter().chain(each).collect()
    }
}

impl Scores {
    fn new(
        (rows, examples): (&Rows, usize),
        dataset: &Dataset,
        (infer, output): (&InferenceBlock, &Output),
    ) -> Result<Scores, Diagnostic> {
        match output.kind.classes() {
            Some(classes) => {
                let right = self::classes(rows, dataset, infer.column(output))?;
                let width = (right.len() / examples.max(1)).max(1);
                Ok(Scores::Classes(Box::new(ClassScores::new(classes)), right, width))
            }
            None => {
                let targets = targets(rows, dataset, infer.column(output))?;
                let width = (targets.len() / examples.max(1)).max(1);
                let units = units(infer, output, &dataset.preparation);
                let mut scores = RealScores::new(units);
                scores.infinite_variance = output.infinite_variance;
                Ok(Scores::Real(Box::new(scores), targets, width))
            }
        }
    }

    fn add(&mut self, range: Range<usize>, predictive: &Predictive, (output, is_prior): (&Output, bool)) {
        let known = Some(&predictive.log_likelihood).filter(|values| !values.is_empty());
        let log_likelihood = known.map(|values| DrawMatrix::new(values, range.len()));
        match self {
            Scores::Classes(scores, targets, width) => {
                if let Some(log_likelihood) = log_likelihood {
                    scores.add_log_likelihood(log_likelihood);
                }
                // If a row has several classes, only the sum of their log likelihoods is known.
                // This sum is therefore not used as the log likelihood of a class.
                let of_class = known.filter(|_| *width == 1);
                let of_class = of_class.map(|values| DrawMatrix::new(values, range.len()));
                let targets = &targets[range.start * *width..range.end * *width];
                let all = probabilities(predictive, output);
                if all.len().is_multiple_of(targets.len().max(1)) {
                    scores.add_classes(&all, targets, of_class);
                }
            }
            Scores::Real(scores, targets, width) => {
                if let Some(log_likelihood) = log_likelihood {
                    scores.add_log_likelihood_of(log_likelihood, *width);
                }
                let targets = &targets[range.start * *width..range.end * *width];
                // Metrics of means and draws need predictions of all elements. If the first
                // elements of a series are given, only the other elements are predicted.
                let complete = |values: &[f64]| {
                    !is_prior && !values.is_empty() && values.len().is_multiple_of(targets.len().max(1))
                };
                if complete(&predictive.mean) {
                    scores.add_mean(DrawMatrix::new(&predictive.mean, targets.len()), targets);
                }
                if complete(&predictive.draw) {
                    scores.add_draws(DrawMatrix::new(&predictive.draw, targets.len()), targets);
                }
            }
        }
    }

    fn finish(self) -> MetricSet {
        match self {
            Scores::Real(scores, ..) => scores.finish(),
            Scores::Classes(scores, ..) => scores.finish(),
        }
    }
}

/// Returns the observed values in original units. They are a column or, if all rows together are
/// one example, a whole array.
///
/// # Errors
/// Fails if a column does not fit the program.
pub fn targets(rows: &Rows, dataset: &Dataset, name: &str) -> Result<Vec<f64>, Diagnostic> {
    match (rows.field(name), dataset.whole(name)) {
        (None, Some(array)) => Ok((0..array.values.len()).map(|at| array.values.real(at)).collect()),
        _ => rows.original(name),
    }
}

/// Returns the observed values as classes or counts.
///
/// # Errors
/// Fails if a column does not fit the program.
pub fn classes(rows: &Rows, dataset: &Dataset, name: &str) -> Result<Vec<i32>, Diagnostic> {
    match (rows.field(name), dataset.whole(name)) {
        (None, Some(_)) => Ok(targets(rows, dataset, name)?
            .into_iter()
            .map(|class| class as i32)
            .collect()),
        _ => rows.ints(name),
    }
}

/// Returns class probabilities `[draws, rows, classes]`. A Boolean has two classes, and its mean is
/// the probability of the second class.
pub fn probabilities<'a>(predictive: &'a Predictive, output: &Output) -> Cow<'a, [f64]> {
    match output.kind {
        OutputKind::Bool => predictive.mean.iter().flat_map(|p| [1.0 - p, *p]).collect(),
        _ => (&predictive.probabilities).into(),
    }
}
