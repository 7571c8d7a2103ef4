//! What binding a model to its data decides.

use bnnc_abi::manifest::{Binding as PortBinding, DataSource, Output};
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How a model's parameters are fed.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// The sizes of dim names.
    pub dims: HashMap<Arc<str>, usize>,
    /// One per input and output.
    pub ports: Vec<PortBinding>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
    /// The entries of `inputs = [..]` that feed an input, by their place there.
    pub used: HashSet<usize>,
    /// Warnings about columns.
    pub warnings: Vec<Diagnostic>,
}

impl Bound {
    /// The field that an output is bound to.
    pub fn column(&self, output: &Output) -> Option<&str> {
        let port = self.ports.iter().find(|port| port.port == output.name)?;
        match &port.from {
            DataSource::Field(name) | DataSource::Whole(name) | DataSource::Shared(name) => Some(name),
            DataSource::Inputs | DataSource::Input(_) | DataSource::Row => None,
        }
    }

    /// Whether all examples see the same values of an input.
    pub fn is_shared(&self, input: &str) -> bool {
        let port = self.ports.iter().find(|port| port.port == input);
        port.is_some_and(|port| port.from.is_shared())
    }
}
