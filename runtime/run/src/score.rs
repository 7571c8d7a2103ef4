//! Metrics of an infer on rows whose target is known.

use crate::predict::Predictive;
use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::metrics::{ClassScores, Draws, MetricSet, RealScores};
use bnnc_data::{Dataset, Rows, Standardisation};

/// The metrics of predictions for `rows`, in original units.
///
/// # Errors
/// A target column that does not fit.
pub fn score(
    predictive: &Predictive,
    rows: &Rows,
    dataset: &Dataset,
    output: &Output,
) -> Result<MetricSet, Diagnostic> {
    let target = dataset.target.clone().unwrap_or_else(|| output.name.clone());
    let count = predictive.rows;
    let log_likelihood = Draws::new(&predictive.log_likelihood, count);
    let classes = match output.kind {
        OutputKind::Classes(classes) => Some(classes),
        OutputKind::Bool => Some(2),
        OutputKind::Real | OutputKind::Count => None,
    };
    if let Some(classes) = classes {
        let mut scores = ClassScores::new(classes);
        scores.add_log_likelihood(log_likelihood);
        scores.add_probabilities(&probabilities(predictive, output), &rows.ints(&target)?);
        return Ok(scores.finish());
    }
    let standardisation = dataset.preparation.target;
    let targets = rows.original(&target)?;
    let width = (targets.len() / count.max(1)).max(1);
    let mut scores = RealScores::new(standardisation);
    scores.add_log_likelihood_of(log_likelihood, width);
    let elements = count * width;
    if !predictive.mean.is_empty() {
        scores.add_mean(
            Draws::new(&original(&predictive.mean, standardisation), elements),
            &targets,
        );
    }
    if !predictive.draw.is_empty() {
        scores.add_draws(
            Draws::new(&original(&predictive.draw, standardisation), elements),
            &targets,
        );
    }
    Ok(scores.finish())
}

/// Values on the model's scale in original units.
pub fn original(values: &[f64], standardisation: Standardisation) -> Vec<f64> {
    values.iter().map(|value| standardisation.undo(*value)).collect()
}

/// Class probabilities `[draws, rows, classes]`; a truth value is two classes, and its mean is the probability of the second.
pub fn probabilities(predictive: &Predictive, output: &Output) -> Vec<f64> {
    match output.kind {
        OutputKind::Bool => predictive.mean.iter().flat_map(|p| [1.0 - p, *p]).collect(),
        _ => predictive.probabilities.clone(),
    }
}
