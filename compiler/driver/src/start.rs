//! What infers start from.

use crate::codes;
use crate::infer::{Compilation, Failure};
use bnnc_abi::manifest::{Start, StartFile};
use bnnc_graph::model::{Model, Posterior};
use bnnc_hir::tree::SettingValue;
use bnnc_rewrite::methods::states::loadable;
use std::path::Path;

impl Compilation<'_> {
    /// What the infer is told to start from. A file lies beside the program; it is opened when the program runs.
    pub(crate) fn start(&self, model: &Model, posterior: &Posterior) -> Result<Option<Start>, Failure> {
        Ok(match self.setting("start") {
            Some(SettingValue::Infer(id)) => {
                Some(Start::Infer(self.program.module.infers[*id].name.to_string()))
            }
            Some(SettingValue::File(path)) => {
                let sites = loadable(model, posterior, self.names("noncentre"));
                let sites = sites
                    .map_err(|why| Failure::Program(vec![codes::no_state_for_value(self.item, &why)]))?;
                let program = Path::new(&*self.program.source.name);
                let folder = program.parent().unwrap_or(Path::new(""));
                let path = folder.join(&**path);
                Some(Start::File(StartFile { path, sites }))
            }
            _ => None,
        })
    }
}
