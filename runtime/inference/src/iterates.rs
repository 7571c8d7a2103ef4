//! The posterior that consists of iterates or of the members of an ensemble. All methods that collect iterates or members
//! use it.

pub mod report;

use crate::draws::StateDraws;
use crate::outcome::InferenceOutcome;
use crate::posterior::{Parts, Posterior};
use crate::summary::{SiteSummary, summaries_of_draws};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::iterates::Covariance;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::predict::predictive_draws;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_training::iterates::Collected;
use bnnc_training::{TrainingResult, start};
use serde_json::Value;
use std::sync::Arc;

impl Posterior for Collected {
    fn values(&self) -> &Arc<StateValues> {
        &self.values
    }

    fn point(&self) -> &Arc<StateValues> {
        &self.mean
    }

    fn fitted(&self) -> Option<&TrainingResult> {
        Some(&self.fitted)
    }

    fn warnings(&self, infer: &InferenceBlock, rows: usize, dataset: &Dataset) -> Vec<Diagnostic> {
        let mut warnings = report::warnings(infer, self, (rows, dataset));
        warnings.extend(bnnc_training::report::warnings(infer, &self.fitted, dataset));
        warnings
    }

    fn predictive_draws(&self, infer: &InferenceBlock) -> usize {
        predictive_draws(infer, self.draws)
    }

    fn draws(&self, _: &InferenceBlock, _: usize, _: &Context) -> Result<Option<StateDraws>, Stop> {
        Ok(Some(StateDraws {
            values: self.values.clone(),
            count: self.draws,
        }))
    }

    fn variances(&self, state: &str) -> Option<&[f64]> {
        self.variances.get(state).map(Vec::as_slice)
    }

    fn start(&self, infer: &InferenceBlock) -> start::EarlierResult {
        start::EarlierResult {
            point: self.mean.clone(),
            members: self.members.clone(),
            iterates: found(infer, self),
        }
    }

    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        summaries_of_draws(infer, &self.values, self.draws, context)
    }

    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome) {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        report::diagnostics(value, infer, self, rows);
    }

    fn table(&self, infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        report::table(infer, self, rows)
    }

    fn work(&self, infer: &InferenceBlock) -> String {
        report::work(infer, self)
    }

    fn parts(&self, _: &InferenceBlock, _: &[SiteSummary]) -> Parts {
        Parts::Values
    }
}

/// Returns the iterates of a finished inference block. Later inference blocks can start from them. Returns `None` if the
/// block does not have iterates.
fn found(infer: &InferenceBlock, found: &Collected) -> Option<start::EarlierIterates> {
    // Draws from a Gaussian are not iterates. The members of an ensemble, however, can be used like the iterates of one
    // training run.
    let is_gaussian = infer
        .iterated()
        .is_some_and(|swag| swag.gaussian.covariance != Covariance::Snapshots);
    (!is_gaussian).then(|| start::EarlierIterates {
        infer: infer.name.clone(),
        values: found.values.clone(),
        count: found.draws,
    })
}
