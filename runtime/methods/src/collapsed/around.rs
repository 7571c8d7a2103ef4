//! The distributions of the outputs around one iterate, for a block of rows.

use crate::collapsed::function::LocationDist;

/// The distributions around one iterate, for the rows of a block.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The distribution of the location over the box, for each row and output: `[rows, outputs]`.
    pub parts: Vec<LocationDist>,
    /// The location at the iterate itself: `[rows, outputs]`.
    pub location: Vec<f64>,
    /// The standard deviation of the noise: `[rows, outputs]`.
    pub scale: Vec<f64>,
    /// The observed values: `[rows, outputs]`.
    pub target: Vec<f64>,
}
