//! Checks that a method supports the running means of its model.

use crate::compilation::Compilation;
use crate::diagnostics::running::{no_running_means, rows_apart};
use crate::failure::CompileFailure;
use crate::methods;
use bnnc_abi::method::declare::OptionName;
use bnnc_graph::model::Model;

impl Compilation<'_> {
    /// Rejects running means in methods that do not update them, and with options `apart` that draw separate weights for each row.
    pub(crate) fn keeps_means(&self, model: &Model, apart: &[OptionName]) -> Result<(), CompileFailure> {
        let Some(mean) = model.running.first() else {
            return Ok(());
        };
        let diagnostic = if !methods::of(self.item.method.finds).keeps_running_means() {
            no_running_means(self.item, &mean.name)
        } else if !apart.is_empty() {
            rows_apart(self.item, apart, &mean.name)
        } else {
            return Ok(());
        };
        Err(CompileFailure::Program(vec![diagnostic]))
    }
}
