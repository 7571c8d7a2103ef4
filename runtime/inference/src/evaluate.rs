//! Computes predictions and scores them. This is done for the test rows, for the test rows with rotated or corrupted images, and for outliers.

use crate::posterior::Posterior;
use bnnc_abi::corruption::Shift;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_core::columns::Columns;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::score::Scorer;
use bnnc_core::tally::Tally;
use bnnc_data::metrics::MetricSet;
use bnnc_data::write::ResultColumn;
use bnnc_data::{Dataset, Rows};

/// Predictions, together with their scores.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// The metrics on the test rows. If the data do not have test rows, these are the metrics on
    /// the training rows.
    pub metrics: MetricSet,
    /// The predictions for the rows that the metrics are computed on, as columns of a table.
    pub predictions: Vec<(String, ResultColumn)>,
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
}

/// Computes the predictions of an inference block from its posterior, with `draws` predictive draws, and scores them.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn evaluate(
    found: &dyn Posterior,
    infer: &InferenceBlock,
    dataset: &Dataset,
    (draws, context): (usize, &Context),
) -> Result<Evaluation, Stop> {
    let rows = if dataset.test.count > 0 {
        &dataset.test
    } else {
        &dataset.train
    };
    let examples = examples(&infer.bindings, rows);
    let mut predictor = found.forecaster(infer, (rows, true), dataset, (draws, context))?;
    let mut scorer = Scorer::new(rows, examples, dataset, infer)?;
    let mut columns = Columns::new(infer, rows, examples);
    predictor.run(&mut |range, block| {
        block.undo(infer, &dataset.preparation);
        scorer.add(range, block);
        columns.add(block);
    })?;
    let tally = predictor.tally().cloned();
    if dataset.outliers.count > 0 {
        predictor.replace_rows(infer, &dataset.outliers, dataset)?;
        predictor.run(&mut |_, block| scorer.add_outliers(block))?;
    }
    drop(predictor);
    let metrics = |rows: Rows| -> Result<MetricSet, Stop> {
        let mut predictor = found.forecaster(infer, (&rows, true), dataset, (draws, context))?;
        let mut scorer = Scorer::new(&rows, examples, dataset, infer)?;
        predictor.run(&mut |range, block| {
            block.undo(infer, &dataset.preparation);
            scorer.add(range, block);
        })?;
        Ok(scorer.finish())
    };
    let rotated = dataset
        .rotated()
        .map(|(degrees, rows)| Ok((degrees, metrics(rows)?)));
    let rotated = rotated.collect::<Result<_, Stop>>()?;
    let shifted = dataset.shifted().map(|(shift, rows)| Ok((shift, metrics(rows)?)));
    Ok(Evaluation {
        rotated,
        shifted: shifted.collect::<Result<_, Stop>>()?,
        tally,
        rejection: scorer.rejection(),
        by_confidence: scorer.by_confidence(),
        metrics: scorer.finish(),
        predictions: columns.finish(),
    })
}
