//! What an inference found.

use crate::chains::Sampled;
use crate::draws::Draws;
use crate::held::Held;
use crate::outcome::Outcome;
use crate::summary::SiteSummary;
use bnnc_abi::manifest::{Infer, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::Forecaster;
use bnnc_core::predict::Predictor;
use bnnc_core::states::Values;
use bnnc_core::tally::Tally;
use bnnc_data::{Dataset, Rows};
use bnnc_laplace::posterior::Array;
use bnnc_training::Fitted;
use bnnc_training::start;
use serde_json::{Map, Value, json};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What an inference found.
pub type Found = Arc<dyn Posterior>;

/// How the page shows the parameters of a posterior.
#[derive(Clone, Debug)]
pub enum Parts {
    /// Each with its KL divergence and the treatment of its likelihood.
    Divergences,
    /// Each with what its values are.
    Values,
    /// Lines about the approximation: a name and a text each.
    Lines(Vec<(String, String)>),
}

/// A posterior, or a point in its place.
pub trait Posterior: Any + Debug {
    /// The states that predictions are made with.
    fn values(&self) -> &Arc<Values>;

    /// The states that later inferences start from.
    fn point(&self) -> &Arc<Values> {
        self.values()
    }

    /// The fit, where an optimiser had a part in it.
    fn fitted(&self) -> Option<&Fitted> {
        None
    }

    /// The draws, where Markov chains made them.
    fn sampled(&self) -> Option<&Sampled> {
        None
    }

    /// Whether it is, or is made around, what maximises a density or a bound.
    fn is_maximum(&self) -> bool {
        false
    }

    /// Whether the user stopped it before its end.
    fn is_interrupted(&self) -> bool {
        self.fitted().is_some_and(|fitted| fitted.interrupted)
    }

    /// The parameters that are fitted to the rows without a spread.
    fn held<'a>(&self, _: &'a Infer) -> Held<'a> {
        Held::default()
    }

    /// The warnings about an approximation to the posterior given this number of rows.
    fn warnings(&self, infer: &Infer, rows: usize, dataset: &Dataset) -> Vec<Diagnostic>;

    /// The warnings about integrals that predictions were made with.
    fn warnings_of_integrals(&self, _: &Infer, _: Option<&Tally>) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Predictions for rows whose target may be unknown.
    ///
    /// # Errors
    /// Columns that do not fit, or a limit.
    fn forecaster<'a>(
        &'a self,
        infer: &'a Infer,
        (rows, target): (&Rows, bool),
        dataset: &Dataset,
        (draws, context): (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, target), context)?;
        predictor.set_parameters(self.values())?;
        Ok(Box::new(predictor))
    }

    /// The number of draws that predictions average over.
    fn predictive_draws(&self, infer: &Infer) -> usize;

    /// Draws of an approximation: `wanted` of a family, and of iterates and members as many as there are. `None` for chains, whose
    /// draws are in their stores, and where predictions are integrals over some weights.
    ///
    /// # Errors
    /// A bug: an inference without the part that its results need.
    fn draws(&self, infer: &Infer, wanted: usize, context: &Context) -> Result<Option<Draws>, Stop>;

    /// The variance of each element of a state, where it is known.
    fn variances(&self, _state: &str) -> Option<&[f64]> {
        None
    }

    /// What later inferences start from.
    fn start(&self, _: &Infer) -> start::Found {
        start::Found {
            point: self.point().clone(),
            ..start::Found::default()
        }
    }

    /// Adds summaries of the last split to the results of the inference. Returns warnings about them.
    ///
    /// # Errors
    /// A limit of the machine; a file that cannot be read.
    fn summarise(
        &self,
        infer: &Infer,
        outcome: &mut Outcome,
        context: &Context,
    ) -> Result<Vec<Diagnostic>, Stop> {
        outcome.sites = self.summaries(infer, context)?;
        Ok(Vec::new())
    }

    /// Summaries of the small sites.
    ///
    /// # Errors
    /// A limit of the machine.
    fn summaries(&self, infer: &Infer, context: &Context) -> Result<Vec<SiteSummary>, Stop>;

    /// The tensors of the posterior besides its states, by name.
    fn arrays(&self, _: &Infer) -> Vec<Array<'_>> {
        Vec::new()
    }

    /// Adds to the diagnostics of the result object; the posterior is that of the last split.
    fn diagnostics(&self, value: &mut Value, infer: &Infer, outcome: &Outcome);

    /// Lines of the table for people; the posterior is that of the last split.
    fn table(&self, infer: &Infer, outcome: &Outcome) -> String;

    /// The work that was done, in a few words.
    fn work(&self, infer: &Infer) -> String;

    /// How the page shows the parameters.
    fn parts(&self, infer: &Infer, sites: &[SiteSummary]) -> Parts;
}

impl dyn Posterior {
    /// The posterior as that of a method, where it is one.
    pub fn of<T: Posterior>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A text about each site, by name.
pub fn of_sites(infer: &Infer, text: fn(&SiteReport) -> &String) -> Value {
    let sites = infer.reports.iter();
    let sites: Map<String, Value> = sites.map(|site| (site.name.clone(), json!(text(site)))).collect();
    Value::Object(sites)
}
