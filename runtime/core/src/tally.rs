//! The number of integrals by form (exact, by pieces, by draws), and their errors.

use crate::predict::Predictive;

/// Counts over rows, outputs and iterates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// The number of weights whose box has a positive width.
    pub columns: usize,
    /// The number of predicted rows.
    pub rows: u64,
    /// The number of integrals of affine functions.
    pub affine: u64,
    /// The number of integrals of sums of units.
    pub units: u64,
    /// The number of integrals over pieces.
    pub pieces: u64,
    /// The number of integrals that were replaced by draws because they had too many pieces.
    pub drawn: u64,
    /// The number of rows with at least one integral that was replaced by draws.
    pub drawn_rows: u64,
    /// The reason why the first integral with too many pieces was replaced by draws.
    pub why: Option<String>,
    /// The largest error of a predicted mean or of a probability.
    pub error: f64,
    /// The largest error of the log density of an observation; 0 if no observation was known.
    pub log_density_error: f64,
    /// The sum over rows of the probabilities of all classes before they were normalised.
    pub raw: f64,
    /// True if a weight that is integrated over for one class also affects another class.
    pub is_shared: bool,
    /// The interval to which the published density is truncated, on the model's scale.
    pub interval: Option<(f64, f64)>,
}

impl Tally {
    /// Returns a tally without integrals, over a box of `columns` weights.
    pub fn of(columns: usize) -> Tally {
        Tally {
            columns,
            ..Tally::default()
        }
    }

    /// Counts a block of rows with its predictions. `is_drawn` tests whether a row has an integral that was replaced by draws.
    pub fn add(&mut self, predictive: &Predictive, is_drawn: impl Fn(&usize) -> bool) {
        self.note(predictive);
        self.drawn_rows += (0..predictive.rows).filter(is_drawn).count() as u64;
    }

    /// Counts a block of rows with the errors of its predictions.
    pub fn note(&mut self, predictive: &Predictive) {
        self.rows += predictive.rows as u64;
        let largest = |known: f64, errors: &[f64]| errors.iter().copied().fold(known, f64::max);
        for said in predictive.each().iter().map(|said| &said.integrated) {
            self.error = largest(self.error, &said.error);
            self.log_density_error = largest(self.log_density_error, &said.log_density_error);
        }
    }

    /// Returns the total number of integrals; 0 if the weights of all rows are drawn.
    pub fn integrals(&self) -> u64 {
        self.affine + self.units + self.pieces + self.drawn
    }
}
