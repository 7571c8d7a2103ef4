//! Computes the likelihood of a point estimate after some of its values have been changed.

use bnnc_abi::manifest::InferenceBlock;
use bnnc_core::context::{Context, Stop};
use bnnc_core::predict::Predictor;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_inference::posterior::Posterior;

/// The training rows, and a point estimate whose values can be changed.
pub struct Variation<'a> {
    predictor: Predictor,
    /// The number of rows.
    rows: f64,
    point: &'a StateValues,
}

impl<'a> Variation<'a> {
    /// Prepares the likelihood of the training rows.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn new(
        infer: &InferenceBlock,
        found: &'a dyn Posterior,
        dataset: &Dataset,
        context: &Context,
    ) -> Result<Variation<'a>, Stop> {
        Ok(Variation {
            predictor: Predictor::new(infer, &dataset.train, dataset, 1, context)?,
            rows: dataset.train.count as f64,
            point: found.point(),
        })
    }

    /// Applies `change` to the estimate. Returns the log likelihood of the training rows at the changed point, in nats.
    ///
    /// # Errors
    /// Fails if the user interrupts the run.
    pub fn log_likelihood(&mut self, change: impl FnOnce(&mut StateValues)) -> Result<f64, Stop> {
        let mut changed = self.point.clone();
        change(&mut changed);
        self.predictor.set_parameters(&changed)?;
        Ok(self.rows * self.predictor.log_likelihood()?)
    }
}
