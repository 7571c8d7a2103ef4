//! The options of dropout.

use crate::method::declare::options;
use crate::method::{OptionKind, Phase};
use std::sync::Arc;

options! {
    /// Options of `dropout`.
    pub struct DropoutOptions {
        /// The probability that an input of a layer is dropped.
        rate: f64 { "0.1", OptionKind::Real(0.0, 1.0), Phase::Compile };
        /// The layers whose inputs are dropped; without names, all but the first.
        layers: Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
    }
}
