//! Predictions for rows, independent of the method.

use crate::context::Stop;
use crate::predict::{Predictive, Predictor};
use crate::tally::Tally;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_data::{Dataset, Rows};
use std::ops::Range;

/// Receives blocks of predictions of rows.
pub type Take<'a> = dyn FnMut(Range<usize>, &mut Predictive) + 'a;

/// A source of predictions.
pub trait Forecaster {
    /// Computes all predictive quantities in blocks of rows, in order, and passes each block to `take`.
    ///
    /// # Errors
    /// Fails if the machine fails because of a bug, or if the user interrupts the run.
    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop>;

    /// Replaces the rows by other rows, whose target is unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program.
    fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop>;

    /// Returns the counts and errors of the integrals over weights, if there are any.
    fn tally(&self) -> Option<&Tally> {
        None
    }
}

/// Predictions from draws of the parameters, or from a single value of each parameter.
impl Forecaster for Predictor {
    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop> {
        Predictor::run(self, take)
    }

    fn replace_rows(&mut self, infer: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop> {
        Predictor::replace_rows(self, infer, rows, dataset)
    }
}
