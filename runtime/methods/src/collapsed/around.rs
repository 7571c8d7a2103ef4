//! The distributions of the outputs of rows around one iterate.

use crate::collapsed::function::LocationDist;

/// The distributions of the rows of a block around one iterate.
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
