//! Checks that a method supports the running means of its model.

use crate::compilation::Compilation;
use crate::diagnostics::running::{no_running_means, rows_apart};
use crate::failure::CompileFailure;
use crate::methods;
use bnnc_abi::method::ALL;
use bnnc_abi::method::declare::OptionName;
use bnnc_graph::model::Model;

impl Compilation<'_> {
    /// Rejects running means in methods that do not support them, and with options `apart` that draw separate weights for each row.
    pub(crate) fn keeps_means(&self, model: &Model, apart: &[OptionName]) -> Result<(), CompileFailure> {
        let Some(mean) = model.running.first() else {
            return Ok(());
        };
        let diagnostic = match methods::of(self.item.method.finds).without_running_means() {
            Some(why) => {
                let supports = |finds| methods::of(finds).without_running_means().is_none();
                let others = ALL.iter().filter(|method| supports(method.finds));
                let others: Vec<&str> = others.map(|method| method.name).collect();
                no_running_means(self.item, &mean.name, why, &others)
            }
            None if !apart.is_empty() => rows_apart(self.item, apart, &mean.name),
            None => return Ok(()),
        };
        Err(CompileFailure::Program(vec![diagnostic]))
    }
}
