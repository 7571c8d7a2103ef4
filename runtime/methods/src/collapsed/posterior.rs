//! The posterior of collapsed inference: a mixture of boxes around iterates.

use super::choice::{Choice, choose};
use super::{FoundBox, draws, forecaster, report, warnings};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::Collapsed;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::Forecaster;
use bnnc_core::number::table_line;
use bnnc_core::states::StateValues;
use bnnc_core::tally::Tally;
use bnnc_data::{Dataset, Rows};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::posterior::{Parts, Posterior, of_sites};
use bnnc_inference::summary::SiteSummary;
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_training::iterates::{self, Collected};
use bnnc_training::start::{self, Starts};
use bnnc_training::{Task, TrainingResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Iterates, and the weights that are integrated over a box around them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CollapsedPosterior {
    /// The iterates around which the boxes are placed.
    pub collected: Collected,
    /// The weights that are integrated over.
    pub choice: Choice,
}

impl CollapsedPosterior {
    /// Collects iterates, and chooses the weights to integrate over.
    ///
    /// # Errors
    /// Fails if the training fails, if it does not produce an iterate, or if some columns do not
    /// fit the program.
    pub fn find(
        task: &Task<'_>,
        collapsed: &Collapsed,
        starts: &Starts<'_>,
    ) -> Result<CollapsedPosterior, Stop> {
        let collected = iterates::iterated(task, &collapsed.iterates, starts)?;
        let programs = (task.infer, collapsed);
        let choice = choose(programs, &collected, task.dataset, task.context)?;
        Ok(CollapsedPosterior { collected, choice })
    }
}

impl Posterior for CollapsedPosterior {
    fn values(&self) -> &Arc<StateValues> {
        self.collected.values()
    }

    fn point(&self) -> &Arc<StateValues> {
        self.collected.point()
    }

    fn fitted(&self) -> Option<&TrainingResult> {
        self.collected.fitted()
    }

    fn warnings(&self, infer: &InferenceBlock, rows: usize, dataset: &Dataset) -> Vec<Diagnostic> {
        self.collected.warnings(infer, rows, dataset)
    }

    fn warnings_of_integrals(&self, infer: &InferenceBlock, tally: Option<&Tally>) -> Vec<Diagnostic> {
        let part = infer.collapsed();
        part.map_or_else(Vec::new, |collapsed| warnings(infer, collapsed, self, tally))
    }

    fn forecaster<'a>(
        &'a self,
        infer: &'a InferenceBlock,
        rows: (&Rows, bool),
        dataset: &Dataset,
        how: (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        match infer.collapsed() {
            Some(collapsed) => {
                let found = FoundBox {
                    values: &self.collected.values,
                    iterates: self.collected.draws,
                    choice: &self.choice,
                };
                forecaster((infer, collapsed), &found, rows, dataset, how)
            }
            None => self.collected.forecaster(infer, rows, dataset, how),
        }
    }

    fn predictive_draws(&self, infer: &InferenceBlock) -> usize {
        match infer.collapsed() {
            Some(collapsed) => draws(infer, collapsed, self.collected.draws),
            None => self.collected.predictive_draws(infer),
        }
    }

    fn variances(&self, state: &str) -> Option<&[f64]> {
        self.collected.variances(state)
    }

    fn start(&self, infer: &InferenceBlock) -> start::EarlierResult {
        self.collected.start(infer)
    }

    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        self.collected.summaries(infer, context)
    }

    fn arrays(&self, _: &InferenceBlock) -> Vec<PosteriorArray<'_>> {
        self.choice.arrays()
    }

    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome) {
        let Some((last, collapsed)) = outcome.splits.last().zip(infer.collapsed()) else {
            return;
        };
        bnnc_training::report::losses(value, infer, &self.collected.fitted, last.train);
        value["best_epoch"] = json!(self.collected.fitted.best_epoch);
        value["iterates"] = json!(self.collected.iterates.0);
        report::diagnostics(value, collapsed, self, last.tally.as_ref());
        value["sites"] = of_sites(infer, |site| &site.kl);
    }

    fn table(&self, infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
        let Some((last, collapsed)) = outcome.splits.last().zip(infer.collapsed()) else {
            return String::new();
        };
        let mut text = bnnc_training::report::head(infer, &self.collected.fitted, last.train);
        text.push_str(&table_line("iterates", self.collected.iterates.0));
        text.push_str(&report::table(collapsed, self, last.tally.as_ref()));
        text.push('\n');
        text
    }

    fn work(&self, infer: &InferenceBlock) -> String {
        self.collected.work(infer)
    }

    fn parts(&self, infer: &InferenceBlock, sites: &[SiteSummary]) -> Parts {
        self.collected.parts(infer, sites)
    }
}
