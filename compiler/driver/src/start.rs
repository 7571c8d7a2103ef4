//! Resolves the option `start` of inferences.

use crate::compilation::Compilation;
use crate::diagnostics;
use crate::failure::CompileFailure;
use bnnc_abi::manifest::{Start, StartFile, StartFrom, Training};
use bnnc_abi::methods::sampling::ChainOptions;
use bnnc_graph::model::{ApproximatePosterior, Model};
use bnnc_rewrite::methods::states::loadable;
use std::path::Path;

impl Compilation<'_> {
    /// Returns the start that the option names. The path of a file is relative to the program's
    /// folder, and the runtime opens the file.
    pub(crate) fn start(
        &self,
        model: &Model,
        posterior: &ApproximatePosterior,
    ) -> Result<Option<Start>, CompileFailure> {
        // For chains, the option `start` has the same name and type as for training.
        Ok(match self.option_of(Training::start())? {
            Some(StartFrom::Infer(name)) => Some(Start::Infer(name)),
            Some(StartFrom::File(path)) => {
                let chains = self.options_if::<ChainOptions>()?;
                let noncentred = chains.as_ref().map_or(&[][..], |chains| &chains.noncentre);
                let sites = loadable(model, posterior, noncentred)
                    .map_err(|why| diagnostics::no_state_for_value(self.item, &why.to_string()))?;
                let program = Path::new(&*self.program.source.name);
                let folder = program.parent().unwrap_or(Path::new(""));
                let path = folder.join(path);
                Some(Start::File(StartFile { path, sites }))
            }
            None => None,
        })
    }
}
