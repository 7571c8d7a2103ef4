//! Derives the densities of a model, and merges sites that share one joint family in the posterior.

use crate::compilation::{Compilation, ElaboratedInference};
use crate::failure::CompileFailure;
use bnnc_base::fault::Fault;
use bnnc_graph::model::Model;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::group::group;
use bnnc_rewrite::{pipeline, pipelines};

impl Compilation<'_> {
    /// Derives the density functions of a model.
    ///
    /// # Errors
    /// Fails if no method supports the model.
    pub fn density(&mut self, model: &Model) -> Result<Densities, CompileFailure> {
        let densities = self.timed("density", |this| {
            pipeline::step(&pipelines::SPLIT, &mut this.context, |_| {
                bnnc_rewrite::density::density(model)
            })
        });
        densities.map_err(|rejection| self.failure(rejection))
    }

    /// Merges sites that share one joint family into one site.
    ///
    /// # Errors
    /// Fails only if the pass has a bug.
    pub fn grouped(
        &mut self,
        elaborated: ElaboratedInference,
        densities: Densities,
    ) -> Result<(ElaboratedInference, Densities), Fault> {
        let (densities, model) = pipeline::step(&pipelines::GROUP, &mut self.context, |_| {
            Ok::<_, Fault>(group(densities, elaborated.model, &elaborated.posterior))
        })?;
        Ok((ElaboratedInference { model, ..elaborated }, densities))
    }
}
