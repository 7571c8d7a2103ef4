//! A common interface for predictions. It does not depend on the inference method.

use crate::context::Stop;
use crate::predict::{Predictive, Predictor};
use crate::tally::Tally;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_data::{Dataset, Rows};
use std::ops::Range;

/// A function that receives the predictions of one block of rows.
pub type Take<'a> = dyn FnMut(Range<usize>, &mut Predictive) + 'a;

/// A source of predictions, for example a prediction program with draws of its parameters.
pub trait Forecaster {
    /// Computes all predictive quantities in blocks of rows, and passes each block to `take`. The
    /// blocks are in order.
    ///
    /// # Errors
    /// Fails if the machine has a bug, or if the user interrupts the run.
    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop>;

    /// Replaces the rows to predict for. The new rows need not have targets.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop>;

    /// Returns the number of integrals over weights, and the errors of these integrals. Returns
    /// `None` if the method does not integrate over weights.
    fn tally(&self) -> Option<&Tally> {
        None
    }
}

/// Predictions from several draws of the parameters, or from a single value of each parameter.
impl Forecaster for Predictor {
    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop> {
        Predictor::run(self, take)
    }

    fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop> {
        Predictor::replace_rows(self, infer, rows, dataset)
    }
}
