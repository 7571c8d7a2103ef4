//! Checks that a method supports the running means of its model.

use crate::diagnostics::running::{no_running_means, rows_apart};
use crate::infer::{Compilation, CompileFailure};
use crate::methods;
use bnnc_abi::variational::ViOptions;
use bnnc_graph::model::Model;

impl Compilation<'_> {
    /// Rejects running means in methods that do not update them, and with gradient estimators that draw separate weights for each row.
    pub(crate) fn keeps_means(
        &self,
        model: &Model,
        chosen: Option<&ViOptions>,
    ) -> Result<(), CompileFailure> {
        let Some(mean) = model.running.first() else {
            return Ok(());
        };
        let diagnostic = if !methods::of(self.item.method.finds).keeps_running_means() {
            no_running_means(self.item, &mean.name)
        } else if chosen
            .is_some_and(|own| !(own.local.is_empty() && own.flipout.is_empty() && own.integrate.is_empty()))
        {
            let options = [ViOptions::local(), ViOptions::flipout(), ViOptions::integrate()];
            rows_apart(self.item, &options, &mean.name)
        } else {
            return Ok(());
        };
        Err(CompileFailure::Program(vec![diagnostic]))
    }
}
