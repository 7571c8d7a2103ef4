//! The result of binding a model to its data.

use bnnc_abi::manifest::{Binding as PortBinding, DataSource, Output};
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The data to which the inputs and outputs of a model are bound.
#[derive(Clone, Debug, Default)]
pub struct DataBindings {
    /// The sizes of dim names.
    pub dims: HashMap<Arc<str>, usize>,
    /// The ports: one for each input and one for each output.
    pub ports: Vec<PortBinding>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
    /// The positions of those entries of `inputs = [..]` that are bound.
    pub used: HashSet<usize>,
    /// Warnings about columns.
    pub warnings: Vec<Diagnostic>,
}

impl DataBindings {
    /// Returns the name of the column to which an output is bound.
    pub fn column(&self, output: &Output) -> Option<&str> {
        let port = self.ports.iter().find(|port| port.port == output.name)?;
        match &port.from {
            DataSource::Field(name) | DataSource::Whole(name) | DataSource::Shared(name) => Some(name),
            DataSource::Inputs | DataSource::Input(_) | DataSource::Row => None,
        }
    }

    /// Returns whether all examples share the values of an input.
    pub fn is_shared(&self, input: &str) -> bool {
        let port = self.ports.iter().find(|port| port.port == input);
        port.is_some_and(|port| port.from.is_shared())
    }
}
