//! How integrals were made.

use crate::collapsed::boxes::Boxes;

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
    /// The sum over rows of the probabilities of all classes before they were normalised.
    pub raw: f64,
    /// Whether a weight that is integrated over for one class moves another.
    pub is_shared: bool,
}

impl Tally {
    /// None yet, over this box.
    pub fn of(boxes: &Boxes) -> Tally {
        Tally {
            columns: boxes.columns.len(),
            ..Tally::default()
        }
    }

    /// All integrals.
    pub fn integrals(&self) -> u64 {
        self.affine + self.units + self.pieces
    }
}
