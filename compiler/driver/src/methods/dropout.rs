//! Builds the programs of the method `dropout`, which trains under random masks. Predictions draw
//! random masks, too.

use crate::compilation::Compilation;
use crate::failure::CompileFailure;
use crate::methods::{BuiltPrograms, Method, Parts};
use bnnc_abi::method::MethodDef;
use bnnc_abi::methods::dropout::DropoutOptions;
use bnnc_rewrite::methods::dropout::{Dropped, Masks, dropped};
use bnnc_rewrite::methods::plan::InferenceProblem;
use bnnc_rewrite::methods::train::Objective;
use bnnc_rewrite::{pipeline, pipelines};

/// The method `dropout`: training under random masks.
pub(crate) struct Drops;

impl Method for Drops {
    fn programs(&self, compilation: &mut Compilation<'_>, parts: Parts<'_>) -> BuiltPrograms {
        compilation.training_programs(parts)
    }

    fn minimises_loss(&self) -> bool {
        true
    }

    fn without_draws(&self, _: &MethodDef) -> Option<&'static str> {
        Some("draws masks, not parameters")
    }
}

impl Compilation<'_> {
    /// Returns the model with random masks, and the probability that an input is dropped. Returns
    /// `None` for methods other than `dropout`.
    pub(crate) fn dropped(
        &mut self,
        problem: InferenceProblem<'_>,
    ) -> Result<Option<(Dropped, f64)>, CompileFailure> {
        let Some(options) = self.options_if::<DropoutOptions>()? else {
            return Ok(None);
        };
        let masks = Masks {
            layers: &options.layers,
            rate: options.rate,
        };
        let dropped = self.rewritten(|context| {
            pipeline::step(&pipelines::DROPOUT, context, |context| {
                dropped(problem.densities, problem.model, masks, context)
            })
        })?;
        Ok(Some((dropped, options.rate)))
    }

    /// Adds a sentence about the masks to the report of each site with masked inputs.
    pub(crate) fn announce(objective: &mut Objective, dropped: &Dropped, rate: f64) {
        let sentence = format!("inputs dropped with probability {rate}");
        for report in &mut objective.reports {
            if dropped.sites.contains(report.name.as_str()) {
                report.likelihood = sentence.clone();
            }
        }
    }
}
