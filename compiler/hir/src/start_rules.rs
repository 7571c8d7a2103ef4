//! The rules for the start values of weights.

/// A rule for the spread of the start values of weights. The fan-in of weights `[out, in, ..]` is the
/// number of inputs of one unit: the product of all dims but the first. The fan-out is the product of
/// all dims but the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaledStart {
    /// Normal with variance `2 / fan_in`, for layers that end with a rectifier (He et al. 2015).
    He,
    /// Uniform with variance `2 / (fan_in + fan_out)` (Glorot and Bengio 2010).
    Glorot,
    /// Normal with variance `1 / fan_in` (LeCun et al. 1998).
    LeCun,
}

impl ScaledStart {
    /// All rules.
    pub const ALL: [ScaledStart; 3] = [ScaledStart::He, ScaledStart::Glorot, ScaledStart::LeCun];

    /// Returns the name of the rule in programs.
    pub fn name(self) -> &'static str {
        match self {
            ScaledStart::He => "he",
            ScaledStart::Glorot => "glorot",
            ScaledStart::LeCun => "lecun",
        }
    }
}
