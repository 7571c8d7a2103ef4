//! The posterior of an inference block.

use crate::chains::SamplingResult;
use crate::draws::StateDraws;
use crate::held::FixedParameters;
use crate::outcome::InferenceOutcome;
use crate::summary::SiteSummary;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::Forecaster;
use bnnc_core::predict::Predictor;
use bnnc_core::states::StateValues;
use bnnc_core::tally::Tally;
use bnnc_data::{Dataset, Rows};
use bnnc_laplace::posterior::PosteriorArray;
use bnnc_training::{TrainingResult, start};
use serde_json::{Map, Value, json};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The posterior of an inference block. Several owners share it.
pub type SharedPosterior = Arc<dyn Posterior>;

/// How the HTML report shows the parameters of a posterior.
#[derive(Clone, Debug)]
pub enum Parts {
    /// The report shows each parameter with its KL divergence and with the gradient estimator of its likelihood.
    Divergences,
    /// The report shows each parameter with its values.
    Values,
    /// The report shows lines about the approximation. Each line has a name and a text.
    Lines(Vec<(String, String)>),
}

/// An approximate posterior or a point estimate.
pub trait Posterior: Any + Debug {
    /// Returns the states for making predictions.
    fn values(&self) -> &Arc<StateValues>;

    /// Returns the states that later inference blocks start from.
    fn point(&self) -> &Arc<StateValues> {
        self.values()
    }

    /// Returns the result of the training if an optimiser was used.
    fn fitted(&self) -> Option<&TrainingResult> {
        None
    }

    /// If the posterior consists of Markov chains, returns their draws.
    fn sampled(&self) -> Option<&SamplingResult> {
        None
    }

    /// Returns whether the posterior is a point that maximises a density or a bound, or is centred at such a
    /// point.
    fn is_maximum(&self) -> bool {
        false
    }

    /// Returns whether the user stopped this inference run before it was complete.
    fn is_interrupted(&self) -> bool {
        self.fitted().is_some_and(|fitted| fitted.interrupted)
    }

    /// Returns the parameters that are fitted to the rows as point estimates, without uncertainty.
    fn held<'a>(&self, _: &'a InferenceBlock) -> FixedParameters<'a> {
        FixedParameters::default()
    }

    /// Returns the warnings about a posterior that was approximated from `rows` rows.
    fn warnings(&self, _: &InferenceBlock, _rows: usize, _: &Dataset) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns the warnings about the integrals that predictions need.
    fn warnings_of_integrals(&self, _: &InferenceBlock, _: Option<&Tally>) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Prepares predictions for rows. The target of these rows may be unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    fn forecaster<'a>(
        &'a self,
        infer: &'a InferenceBlock,
        (rows, target): (&Rows, bool),
        dataset: &Dataset,
        (draws, context): (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, target), context)?;
        predictor.set_parameters(self.values())?;
        Ok(Box::new(predictor))
    }

    /// Returns the number of draws that predictions are averaged over.
    fn predictive_draws(&self, infer: &InferenceBlock) -> usize;

    /// Returns draws from an approximation. For a family of distributions, returns `wanted` draws. In other cases, returns all iterates
    /// or all members. Returns `None` for chains, because they store their draws themselves. Also returns `None` if predictions integrate
    /// over some weights.
    ///
    /// # Errors
    /// Fails if the inference block lacks a program that its results need. This would be a bug.
    fn draws(&self, _: &InferenceBlock, _wanted: usize, _: &Context) -> Result<Option<StateDraws>, Stop> {
        Ok(None)
    }

    /// Returns the variance of each element of a state if the variances are known.
    fn variances(&self, _state: &str) -> Option<&[f64]> {
        None
    }

    /// Returns the states that later inference blocks start from, including members and iterates.
    fn start(&self, _: &InferenceBlock) -> start::EarlierResult {
        start::EarlierResult {
            point: self.point().clone(),
            ..start::EarlierResult::default()
        }
    }

    /// Adds summaries of the last split to the results of the inference block. Returns warnings about these summaries.
    ///
    /// # Errors
    /// Fails if there is too little memory, or if a file cannot be read.
    fn summarise(
        &self,
        infer: &InferenceBlock,
        outcome: &mut InferenceOutcome,
        context: &Context,
    ) -> Result<Vec<Diagnostic>, Stop> {
        outcome.sites = self.summaries(infer, context)?;
        Ok(Vec::new())
    }

    /// Returns the summaries of all small sites.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop>;

    /// Returns the named tensors of the posterior that are not states.
    fn arrays(&self, _: &InferenceBlock) -> Vec<PosteriorArray<'_>> {
        Vec::new()
    }

    /// Adds the diagnostics of the posterior to the result object. `self` is the posterior of the last split.
    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome);

    /// Returns the lines about the posterior in the printed table. `self` is the posterior of the last split.
    fn table(&self, infer: &InferenceBlock, outcome: &InferenceOutcome) -> String;

    /// Returns a short description of the work that the inference run did.
    fn work(&self, infer: &InferenceBlock) -> String;

    /// Returns how the HTML report shows the parameters.
    fn parts(&self, infer: &InferenceBlock, sites: &[SiteSummary]) -> Parts;
}

impl dyn Posterior {
    /// Returns the posterior as a value of the type `T`, which is the posterior type of one method. Returns `None` if another
    /// method found the posterior.
    pub fn of<T: Posterior>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Returns an object with a text about each site. The keys are the names of the sites.
pub fn of_sites(infer: &InferenceBlock, text: fn(&SiteReport) -> &String) -> Value {
    let sites = infer.reports.iter();
    let sites: Map<String, Value> = sites.map(|site| (site.name.clone(), json!(text(site)))).collect();
    Value::Object(sites)
}
