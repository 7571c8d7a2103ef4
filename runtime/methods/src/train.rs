//! The methods `vi`, `map` and `dropout`. The result of their training is an approximate posterior
//! or a point estimate.

use crate::MethodFolder;
use bnnc_abi::manifest::{InferenceBlock, State, Train};
use bnnc_abi::methods::Work;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::number::{finite, table_line};
use bnnc_core::predict::trained_draws;
use bnnc_core::states::{StateValues, site_of};
use bnnc_data::Dataset;
use bnnc_inference::draws::StateDraws;
use bnnc_inference::held::FixedParameters;
use bnnc_inference::method::{MemoryExtent, Method, MethodInputs, Saved, few_draws, predicting_draws};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::posterior::{Parts, Posterior, SharedPosterior, of_sites};
use bnnc_inference::summary::{SiteSummary, summaries};
use bnnc_training::restarts::settled;
use bnnc_training::{TrainingResult, memory, report, restarts, train};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The methods `vi`, `map` and `dropout`.
pub(crate) const FOLDER: MethodFolder = MethodFolder {
    of: |infer| match &infer.work {
        Work::Train(train) => Some(Box::new(Trains { infer, train })),
        _ => None,
    },
    codes: &[],
    prefix: None,
};

/// The result of a training run: an approximate posterior or a point estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainedPosterior(pub TrainingResult);

impl Posterior for TrainedPosterior {
    fn values(&self) -> &Arc<StateValues> {
        &self.0.values
    }

    fn fitted(&self) -> Option<&TrainingResult> {
        Some(&self.0)
    }

    fn held<'a>(&self, infer: &'a InferenceBlock) -> FixedParameters<'a> {
        let is_held = |state: &&State| state.parameter && is_moved_point(infer, state);
        FixedParameters {
            states: infer.states.iter().filter(is_held).collect(),
            outside: 0,
        }
    }

    fn is_maximum(&self) -> bool {
        true
    }

    fn warnings(&self, infer: &InferenceBlock, _: usize, dataset: &Dataset) -> Vec<Diagnostic> {
        report::warnings(infer, &self.0, dataset)
    }

    fn predictive_draws(&self, infer: &InferenceBlock) -> usize {
        trained_draws(infer)
    }

    fn draws(&self, _: &InferenceBlock, wanted: usize, _: &Context) -> Result<Option<StateDraws>, Stop> {
        Ok(Some(StateDraws {
            values: self.0.values.clone(),
            count: wanted,
        }))
    }

    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        summaries(infer, &self.0.values, context)
    }

    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome) {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        value["loss"] = finite(self.0.loss);
        let per_row = |value: f64| finite(value / rows.max(1) as f64);
        if infer.maximises_bound() {
            let bound = settled(&self.0);
            value["elbo"] = finite(-bound.loss);
            value["elbo_per_row"] = per_row(-bound.loss);
            value["elbo_per_row_error"] = per_row(bound.error);
        } else {
            value["log_posterior"] = finite(-self.0.loss);
            value["log_posterior_per_row"] = per_row(-self.0.loss);
        }
        value["epochs"] = json!(self.0.epochs);
        value["best_epoch"] = json!(self.0.best_epoch);
        value["steps"] = json!(self.0.steps);
        report::diagnostics(value, infer, &self.0, infer.examples(rows));
        value["kl"] = of_sites(infer, |site| &site.kl);
        value["likelihood"] = of_sites(infer, |site| &site.likelihood);
    }

    fn table(&self, infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        let per_row = |value: f64| value / rows.max(1) as f64;
        let mut text = match infer.maximises_bound() {
            true => {
                let bound = settled(&self.0);
                let error = match bound.error.is_finite() {
                    true => format!("  ± {:.4}", per_row(bound.error)),
                    false => String::new(),
                };
                let line = format!("{:>10.4}{error}", per_row(-bound.loss));
                table_line("elbo / row", line)
            }
            false => table_line("log posterior / row", format!("{:.4}", per_row(-self.0.loss))),
        };
        text.push_str(&report::table(&self.0, rows));
        text.push('\n');
        text
    }

    fn work(&self, _: &InferenceBlock) -> String {
        format!("{} epochs, {} steps", self.0.epochs, self.0.steps)
    }

    fn parts(&self, _: &InferenceBlock, _: &[SiteSummary]) -> Parts {
        Parts::Divergences
    }
}

/// Returns whether a state is the value of a point site, and is changed by the optimiser. The
/// optimiser also has its own states. Their names begin with the name of the site's state.
fn is_moved_point(infer: &InferenceBlock, state: &State) -> bool {
    let is_point = infer
        .reports
        .iter()
        .any(|report| report.is_point && report.name == site_of(&state.name));
    let own = format!("{}/", state.name);
    let mut others = infer.states.iter();
    is_point && others.any(|other| !other.parameter && other.name.starts_with(&own))
}

/// The method of an inference block whose posterior is found by training.
pub struct Trains<'a> {
    /// The inference block that the method runs.
    pub infer: &'a InferenceBlock,
    /// The plan of the training.
    pub train: &'a Train,
}

impl Method for Trains<'_> {
    fn find(&self, given: &MethodInputs<'_>) -> Result<SharedPosterior, Stop> {
        let found = given.kept(self.infer, || {
            let (fitted, ()) = restarts::best(&given.task(self.infer), &|task| {
                Ok((train(task, given.starts.of_task(task, 0), None)?, ()))
            })?;
            Ok(TrainedPosterior(fitted))
        })?;
        Ok(Arc::new(found))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<SharedPosterior, Stop> {
        Ok(Arc::new(TrainedPosterior(TrainingResult {
            values: Arc::new(saved.values.clone()),
            ..TrainingResult::default()
        })))
    }

    fn settings(&self) -> Vec<Diagnostic> {
        few_draws(self.infer).into_iter().collect()
    }

    fn finding(&self, extent: &MemoryExtent<'_>) -> u64 {
        memory::training((self.infer, self.train), extent.schema, extent.rows, false)
    }

    fn predicting(&self, extent: &MemoryExtent<'_>) -> u64 {
        predicting_draws(self.infer, extent, trained_draws(self.infer), (0, 0))
    }
}
