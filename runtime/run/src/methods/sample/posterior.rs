//! Chains as a posterior.

use super::diagnose::diagnose;
use super::quantities::quantities;
use super::report;
use crate::core::context::{Context, Stop};
use crate::core::states::Values;
use crate::inference::chains::Sampled;
use crate::inference::draws::Draws;
use crate::inference::outcome::Outcome;
use crate::inference::posterior::{Parts, Posterior, of_sites};
use crate::inference::summary::{SiteSummary, of_draws, summaries_of_draws};
use crate::training::start;
use bnnc_abi::manifest::Infer;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Dataset;
use serde_json::{Value, json};
use std::sync::Arc;

impl Posterior for Sampled {
    fn values(&self) -> &Arc<Values> {
        &self.values
    }

    fn point(&self) -> &Arc<Values> {
        &self.mean
    }

    fn sampled(&self) -> Option<&Sampled> {
        Some(self)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn warnings(&self, _: &Infer, _: usize, _: &Dataset) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn predictive_draws(&self, _: &Infer) -> usize {
        self.predictive
    }

    fn draws(&self, _: &Infer, _: usize, _: &Context) -> Result<Option<Draws>, Stop> {
        Ok(None)
    }

    fn start(&self, infer: &Infer) -> start::Found {
        start::Found {
            point: self.mean.clone(),
            members: Vec::new(),
            iterates: Some(start::Iterates {
                infer: infer.name.clone(),
                values: self.values.clone(),
                count: self.predictive,
            }),
        }
    }

    fn summarise(
        &self,
        infer: &Infer,
        outcome: &mut Outcome,
        context: &Context,
    ) -> Result<Vec<Diagnostic>, Stop> {
        let found = quantities(infer, self, &outcome.dataset, context)?;
        let left_out = outcome.left_out.as_ref();
        let diagnosis = diagnose(infer, self, &found, &outcome.dataset, left_out)?;
        let warnings = diagnosis.warnings.clone();
        outcome.sites = of_draws(infer, &found);
        outcome.quantities = found;
        outcome.diagnosis = Some(diagnosis);
        Ok(warnings)
    }

    fn summaries(&self, infer: &Infer, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        summaries_of_draws(infer, &self.values, self.predictive, context)
    }

    fn diagnostics(&self, value: &mut Value, infer: &Infer, outcome: &Outcome) {
        value["sites"] = of_sites(infer, |site| &site.kl);
        if let Some(temperature) = infer.tempered() {
            value["temperature"] = json!(temperature);
        }
        if let Some(diagnosis) = &outcome.diagnosis {
            report::diagnostics(value, self, diagnosis);
        }
    }

    fn table(&self, _: &Infer, outcome: &Outcome) -> String {
        let left_out = outcome.left_out.as_ref();
        let diagnosis = outcome.diagnosis.as_ref();
        diagnosis.map_or_else(String::new, |found| report::table(self, found, left_out))
    }

    fn work(&self, _: &Infer) -> String {
        format!("{} chains, {} draws", self.chains.len(), self.draws())
    }

    fn parts(&self, _: &Infer, _: &[SiteSummary]) -> Parts {
        Parts::Divergences
    }
}
