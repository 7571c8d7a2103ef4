//! The options of dropout.

use crate::method::declare::options;
use crate::method::options::listed;
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::methods::training::Training;
use std::sync::Arc;

/// The record of `dropout`.
pub(crate) const RECORD: MethodDef = MethodDef {
    name: "dropout",
    doc: "The maximum of the posterior density under random masks on the inputs of layers; predictions use random masks too.",
    options: listed![Training, DropoutOptions],
    takes: Takes::Model,
    finds: Finds::Masked,
};

options! {
    /// Options of `dropout`.
    pub struct DropoutOptions {
        /// The probability that an input of a layer is dropped.
        rate: f64 { "0.1", OptionKind::Real(0.0, 1.0), Phase::Compile };
        /// The layers whose inputs are dropped. If no names are given: all layers whose inputs are hidden values, not data.
        layers: Vec<Arc<str>> { "", OptionKind::Names, Phase::Compile };
    }
}
