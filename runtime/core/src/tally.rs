//! How integrals were made.

use crate::predict::Predictive;

/// Counts over rows, outputs and iterates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Weights whose box is no point.
    pub columns: usize,
    /// Rows that were predicted.
    pub rows: u64,
    /// Integrals of affine functions.
    pub affine: u64,
    /// Those of sums of units.
    pub units: u64,
    /// Those over pieces.
    pub pieces: u64,
    /// Draws in the place of those over too many pieces.
    pub drawn: u64,
    /// Rows of which some integral was drawn.
    pub drawn_rows: u64,
    /// Why the first of them was.
    pub why: Option<String>,
    /// The largest error of a predicted mean or of a probability.
    pub error: f64,
    /// The largest error of the log density of an observation; 0 where none was known.
    pub log_density_error: f64,
    /// The sum over rows of the probabilities of all classes before they were normalised.
    pub raw: f64,
    /// Whether a weight that is integrated over for one class moves another.
    pub is_shared: bool,
    /// The interval that the published density cuts the targets that were scored to, on the model's scale.
    pub interval: Option<(f64, f64)>,
}

impl Tally {
    /// None yet, over a box of so many weights.
    pub fn of(columns: usize) -> Tally {
        Tally {
            columns,
            ..Tally::default()
        }
    }

    /// Counts a block of rows with its predictions, and those of its rows of which some integral was drawn.
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

    /// All integrals; none where the weights of all rows are drawn.
    pub fn integrals(&self) -> u64 {
        self.affine + self.units + self.pieces + self.drawn
    }
}
