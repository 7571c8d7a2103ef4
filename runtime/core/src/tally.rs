//! Counts the integrals of a prediction, separately for each form (exact, by pieces, by draws).
//! Also records the errors of these integrals.

use crate::predict::Predictive;

/// Counts of integrals over all rows, outputs and iterates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of integrated weights.
    pub columns: usize,
    /// The number of predicted rows.
    pub rows: u64,
    /// The number of integrals of affine functions.
    pub affine: u64,
    /// The number of integrals of functions that are the sum of an affine function and hidden units.
    pub units: u64,
    /// The number of integrals that were computed piece by piece.
    pub pieces: u64,
    /// The number of integrals that were replaced by draws because they had too many pieces.
    pub drawn: u64,
    /// The number of rows with at least one integral that was replaced by draws.
    pub drawn_rows: u64,
    /// The reason why draws replaced the first integral with too many pieces.
    pub why: Option<String>,
    /// The largest numerical error of a predicted mean or probability.
    pub error: f64,
    /// The largest numerical error of the log density of an observation. The value is 0 if the rows
    /// do not have observed values.
    pub log_density_error: f64,
    /// The sum over all rows and classes of the probabilities, before they were normalised.
    pub raw: f64,
    /// True if a weight that is integrated over for one class also affects the probability of
    /// another class.
    pub is_shared: bool,
    /// The interval, on the model's scale, to which the published method truncates the density.
    pub interval: Option<(f64, f64)>,
}

impl Tally {
    /// Returns a tally without integrals. The integrals will run over `columns` weights.
    pub fn of(columns: usize) -> Tally {
        Tally {
            columns,
            ..Tally::default()
        }
    }

    /// Counts the rows of a block of predictions, and records their errors. `is_drawn` returns
    /// whether draws replaced at least one integral of a row.
    pub fn add(&mut self, predictive: &Predictive, is_drawn: impl Fn(&usize) -> bool) {
        self.note(predictive);
        self.drawn_rows += (0..predictive.rows).filter(is_drawn).count() as u64;
    }

    /// Counts the rows of a block of predictions, and records their largest errors.
    pub fn note(&mut self, predictive: &Predictive) {
        self.rows += predictive.rows as u64;
        let largest = |known: f64, errors: &[f64]| errors.iter().copied().fold(known, f64::max);
        for results in predictive.each().iter().map(|output| &output.integrated) {
            self.error = largest(self.error, &results.error);
            self.log_density_error = largest(self.log_density_error, &results.log_density_error);
        }
    }

    /// Returns the total number of integrals, or 0 if all weights are drawn.
    pub fn integrals(&self) -> u64 {
        self.affine + self.units + self.pieces + self.drawn
    }
}
