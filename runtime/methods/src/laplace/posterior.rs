//! The posterior of Laplace's approximation: Gaussians around maxima.

use super::gaussian::{Approximated, part};
use super::{memory, others, report, weights};
use bnnc_abi::manifest::{InferenceBlock, State};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::Forecaster;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_inference::draws::StateDraws;
use bnnc_inference::held::FixedParameters;
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::posterior::{Parts, Posterior};
use bnnc_inference::summary::SiteSummary;
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_training::{TrainingResult, start};
use serde_json::Value;
use std::sync::Arc;

impl Posterior for Approximated {
    fn values(&self) -> &Arc<StateValues> {
        &self.values
    }

    fn fitted(&self) -> Option<&TrainingResult> {
        Some(&self.fitted)
    }

    fn held<'a>(&self, infer: &'a InferenceBlock) -> FixedParameters<'a> {
        let Some(laplace) = infer.laplace() else {
            return FixedParameters::default();
        };
        let is_held = |state: &&State| state.parameter && others::is_other(laplace, &state.name);
        FixedParameters {
            states: infer.states.iter().filter(is_held).collect(),
            outside: memory::all(laplace).saturating_sub(memory::selected(laplace)),
        }
    }

    fn is_maximum(&self) -> bool {
        true
    }

    fn warnings(&self, infer: &InferenceBlock, rows: usize, _: &Dataset) -> Vec<Diagnostic> {
        if let Some(diverged) = bnnc_training::report::divergence(infer, &self.fitted, rows) {
            return vec![diverged];
        }
        let mut warnings = self.warnings.clone();
        warnings.extend(bnnc_training::report::no_maximum(infer, &self.fitted, rows));
        warnings.extend(bnnc_training::report::at_ends(infer, &self.fitted));
        warnings
    }

    fn forecaster<'a>(
        &'a self,
        infer: &'a InferenceBlock,
        rows: (&Rows, bool),
        dataset: &Dataset,
        draws: (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        self.predictor(infer, rows, dataset, draws)
    }

    fn predictive_draws(&self, infer: &InferenceBlock) -> usize {
        infer.predictive_draws()
    }

    fn draws(
        &self,
        infer: &InferenceBlock,
        wanted: usize,
        context: &Context,
    ) -> Result<Option<StateDraws>, Stop> {
        let laplace = part(infer)?;
        let count = wanted.max(self.members.len());
        let values = weights::drawn(&self.members, infer, laplace, count, context);
        Ok(Some(StateDraws {
            values: Arc::new(values),
            count,
        }))
    }

    fn start(&self, _: &InferenceBlock) -> start::EarlierResult {
        start::EarlierResult {
            point: self.values.clone(),
            members: self.maxima(),
            iterates: None,
        }
    }

    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        report::summaries(infer, self, context)
    }

    fn arrays(&self, infer: &InferenceBlock) -> Vec<PosteriorArray<'_>> {
        Approximated::arrays(self, infer)
    }

    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome) {
        report::diagnostics(value, infer, self, &outcome.sites);
    }

    fn table(&self, infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
        report::table(infer, self, &outcome.sites)
    }

    fn work(&self, _: &InferenceBlock) -> String {
        format!("{} epochs, {} steps", self.fitted.epochs, self.fitted.steps)
    }

    fn parts(&self, infer: &InferenceBlock, sites: &[SiteSummary]) -> Parts {
        Parts::Lines(report::lines(infer, self, sites))
    }
}
