//! Checks whether a Gaussian around a maximum predicts worse than the maximum alone.

use crate::diagnostics::results as codes;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::forecast::Forecaster;
use bnnc_core::predict::Predictor;
use bnnc_data::metrics::{DrawMatrix, log_mean_exp};
use bnnc_inference::outcome::InferenceOutcome;

/// A loss of log predictive density per row below this value is ignored. The value is ten times the loss of correct approximations in the book.
const MATERIAL: f64 = 0.05;

/// A mean difference counts as significant if it is larger than this number of standard errors.
const ERRORS: f64 = 4.0;

/// The check does not run on fewer rows than this, because their standard error would be too uncertain.
const LEAST: usize = 20;

/// Returns a warning if the log predictive density of the scored rows is significantly lower under a Laplace approximation than at its centre. The
/// standard error is computed from the paired differences of the rows. On training rows, the summed log density is expected to be
/// lower under a posterior than at the centre of the posterior. The expected difference is half of the effective number of
/// parameters. The effective number is not known, so the
/// check subtracts an upper bound instead: half of the number of parameters.
///
/// # Errors
/// Fails if there is too little memory, or if the user interrupts the run.
pub fn worse_than_centre(
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Option<Diagnostic>, Stop> {
    let (Some(laplace), Some(last)) = (infer.laplace(), outcome.splits.last()) else {
        return Ok(None);
    };
    let dataset = &*outcome.dataset;
    let (rows, kind) = outcome.scored();
    let count = examples(&infer.bindings, rows);
    if last.found.is_interrupted() || count < LEAST {
        return Ok(None);
    }
    let draws = (last.found.predictive_draws(infer), context);
    let mut forecaster = last.found.forecaster(infer, (rows, true), dataset, draws)?;
    let spread = densities(&mut *forecaster)?;
    drop(forecaster);
    let mut predictor = Predictor::new(infer, rows, dataset, 1, context)?;
    predictor.set_parameters(last.found.point())?;
    let centre = densities(&mut predictor)?;
    let differences: Vec<f64> = centre
        .iter()
        .zip(&spread)
        .map(|(centre, own)| centre - own)
        .collect();
    let (mean, sd) = super::found::moments(&differences);
    let expected = match outcome.tested {
        true => 0.0,
        false => 0.5 * infer.cost.parameters as f64 / count as f64,
    };
    let is_worse = mean - expected > MATERIAL.max(ERRORS * sd / (count as f64).sqrt());
    let average = |densities: &[f64]| densities.iter().sum::<f64>() / count as f64;
    let scores = [average(&centre), average(&spread)];
    Ok(is_worse.then(|| codes::worse_than_centre(&infer.name, scores, kind, laplace)))
}

/// Returns the log predictive density of each row.
fn densities(forecaster: &mut dyn Forecaster) -> Result<Vec<f64>, Stop> {
    let mut found = Vec::new();
    forecaster.run(&mut |_, block| {
        let draws = DrawMatrix::new(&block.log_likelihood, block.rows);
        found.extend((0..block.rows).map(|row| log_mean_exp(draws.of_row(row))));
    })?;
    Ok(found)
}
