//! `vi`, `map` and `dropout`: the result of a training is the posterior, or a point in its place.

use crate::core::context::{Context, Stop};
use crate::core::number::finite;
use crate::core::states::Values;
use crate::inference::draws::Draws;
use crate::inference::held::{Held, site_of};
use crate::inference::method::{Extent, Given, Method, Saved, few_draws, predicting_draws};
use crate::inference::outcome::Outcome;
use crate::inference::posterior::Found;
use crate::inference::posterior::{Parts, Posterior, of_sites};
use crate::inference::summary::{SiteSummary, summaries};
use crate::training::{Fitted, memory, report, restarts, train};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{Infer, State, Train};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_data::Dataset;
use serde_json::{Value, json};
use std::sync::Arc;

impl Posterior for Fitted {
    fn values(&self) -> &Arc<Values> {
        &self.values
    }

    fn fitted(&self) -> Option<&Fitted> {
        Some(self)
    }

    fn held<'a>(&self, infer: &'a Infer) -> Held<'a> {
        let is_held = |state: &&State| state.parameter && is_moved_point(infer, state);
        Held {
            states: infer.states.iter().filter(is_held).collect(),
            outside: 0,
        }
    }

    fn is_maximum(&self) -> bool {
        true
    }

    fn warnings(&self, infer: &Infer, _: usize, dataset: &Dataset) -> Vec<Diagnostic> {
        report::warnings(infer, self, dataset)
    }

    fn predictive_draws(&self, infer: &Infer) -> usize {
        infer.predictive_draws()
    }

    fn draws(&self, _: &Infer, wanted: usize, _: &Context) -> Result<Option<Draws>, Stop> {
        Ok(Some(Draws {
            values: self.values.clone(),
            count: wanted,
        }))
    }

    fn summaries(&self, infer: &Infer, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        summaries(infer, &self.values, context)
    }

    fn diagnostics(&self, value: &mut Value, infer: &Infer, outcome: &Outcome) {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        value["loss"] = finite(self.loss);
        let name = match infer.maximises_bound() {
            true => "elbo",
            false => "log_posterior",
        };
        value[name] = finite(-self.loss);
        value[format!("{name}_per_row")] = finite(-self.loss / rows.max(1) as f64);
        value["epochs"] = json!(self.epochs);
        value["best_epoch"] = json!(self.best_epoch);
        value["steps"] = json!(self.steps);
        report::diagnostics(value, infer, self, infer.examples(rows));
        value["kl"] = of_sites(infer, |site| &site.kl);
        value["likelihood"] = of_sites(infer, |site| &site.likelihood);
    }

    fn table(&self, infer: &Infer, outcome: &Outcome) -> String {
        let rows = outcome.splits.last().map_or(0, |split| split.train);
        let name = match infer.maximises_bound() {
            true => "elbo / row",
            false => "log posterior / row",
        };
        let per_row = -self.loss / rows.max(1) as f64;
        let mut text = format!("  {name:<21} {per_row:>10.4}\n");
        text.push_str(&report::table(self, rows));
        text.push('\n');
        text
    }

    fn work(&self, _: &Infer) -> String {
        format!("{} epochs, {} steps", self.epochs, self.steps)
    }

    fn parts(&self, _: &Infer, _: &[SiteSummary]) -> Parts {
        Parts::Divergences
    }
}

/// Whether a state is the value of a site that an optimiser moves: it remembers something of it.
fn is_moved_point(infer: &Infer, state: &State) -> bool {
    let is_point = infer
        .reports
        .iter()
        .any(|report| report.is_point && report.name == site_of(state));
    let own = format!("{}/", state.name);
    let mut others = infer.states.iter();
    is_point && others.any(|other| !other.parameter && other.name.starts_with(&own))
}

/// The method of an inference whose posterior a training finds.
pub struct Trains<'a> {
    /// The inference.
    pub infer: &'a Infer,
    /// Its plan.
    pub train: &'a Train,
}

impl Method for Trains<'_> {
    fn find(&self, given: &Given<'_>) -> Result<Found, Stop> {
        let fitted = given.kept(self.infer, || {
            let (fitted, ()) = restarts::best(&given.task(self.infer), &|task| {
                Ok((train(task, given.starts.of_task(task, 0), None)?, ()))
            })?;
            Ok(fitted)
        })?;
        Ok(Arc::new(fitted))
    }

    fn restore(&self, saved: &Saved<'_>) -> Result<Found, Stop> {
        Ok(Arc::new(Fitted {
            values: Arc::new(saved.values.clone()),
            ..Fitted::default()
        }))
    }

    fn settings(&self) -> Vec<Diagnostic> {
        few_draws(self.infer).into_iter().collect()
    }

    fn program(&self) -> &Artifact {
        &self.train.step
    }

    fn step_sizes(&self, rows: usize) -> Sizes {
        self.train.sizes(rows)
    }

    fn finding(&self, extent: &Extent<'_>) -> u64 {
        memory::training((self.infer, self.train), extent.schema, extent.rows, false)
    }

    fn predicting(&self, extent: &Extent<'_>) -> u64 {
        predicting_draws(self.infer, extent, self.infer.predictive_draws(), (0, 0))
    }
}
