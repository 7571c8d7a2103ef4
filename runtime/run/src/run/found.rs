//! What an infer found.

use crate::collapsed;
use crate::core::context::{Context, Stop};
use crate::core::forecast::Forecaster;
use crate::core::predict::{Predictor, held, predictive_draws};
use crate::core::states::Values;
use crate::fit::{Fitted, report};
use crate::iterates::{self, Collected};
use crate::laplace::Approximated;
use crate::sample::Sampled;
use bnnc_abi::manifest::{Infer, Work};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::{Dataset, Rows};
use std::sync::Arc;

/// What an infer found.
#[derive(Clone, Debug)]
pub enum Found {
    /// Parameters, by an optimiser.
    Fitted(Box<Fitted>),
    /// Draws, by Markov chains.
    Sampled(Arc<Sampled>),
    /// A Gaussian around a maximum.
    Approximated(Box<Approximated>),
    /// Iterates or members.
    Collected(Box<Collected>),
}

impl Found {
    /// What predictions are made with.
    pub fn values(&self) -> &Arc<Values> {
        match self {
            Found::Fitted(fitted) => &fitted.values,
            Found::Sampled(sampled) => &sampled.values,
            Found::Approximated(found) => &found.values,
            Found::Collected(found) => &found.values,
        }
    }

    /// What later infers start from.
    pub fn point(&self) -> &Arc<Values> {
        match self {
            Found::Fitted(fitted) => &fitted.values,
            Found::Sampled(sampled) => &sampled.mean,
            Found::Approximated(found) => &found.values,
            Found::Collected(found) => &found.mean,
        }
    }

    /// The fit, where an optimiser had a part in it.
    pub fn fitted(&self) -> Option<&Fitted> {
        match self {
            Found::Fitted(fitted) => Some(fitted),
            Found::Sampled(_) => None,
            Found::Approximated(found) => Some(&found.fitted),
            Found::Collected(found) => Some(&found.fitted),
        }
    }

    /// The draws, where Markov chains made them.
    pub fn sampled(&self) -> Option<&Sampled> {
        match self {
            Found::Sampled(sampled) => Some(sampled),
            Found::Fitted(_) | Found::Approximated(_) | Found::Collected(_) => None,
        }
    }

    /// What is worth knowing of an approximation to the posterior given so many rows.
    pub(super) fn warnings(&self, infer: &Infer, rows: usize, dataset: &Dataset) -> Vec<Diagnostic> {
        match self {
            Found::Approximated(found) => {
                let mut warnings = found.warnings.clone();
                warnings.extend(report::unbounded(infer, &found.fitted));
                warnings
            }
            Found::Collected(found) => {
                let mut warnings = iterates::report::warnings(infer, found, rows);
                warnings.extend(report::warnings(infer, &found.fitted, dataset));
                warnings
            }
            Found::Fitted(fitted) => report::warnings(infer, fitted, dataset),
            Found::Sampled(_) => Vec::new(),
        }
    }

    /// Whether the user stopped it before its end.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Found::Fitted(fitted) => fitted.interrupted,
            Found::Sampled(sampled) => sampled.interrupted,
            Found::Approximated(found) => found.fitted.interrupted,
            Found::Collected(found) => found.fitted.interrupted,
        }
    }

    /// Predictions for rows whose target may be unknown.
    ///
    /// # Errors
    /// Columns that do not fit, or a limit.
    pub fn forecaster<'a>(
        &'a self,
        infer: &'a Infer,
        (rows, target): (&Rows, bool),
        dataset: &Dataset,
        (draws, context): (usize, &'a Context),
    ) -> Result<Box<dyn Forecaster + 'a>, Stop> {
        if let Found::Approximated(found) = self {
            return found.predictor(infer, (rows, target), dataset, (draws, context));
        }
        if let (Found::Collected(found), Some(collapsed)) = (self, collapsed::part(infer)) {
            let iterates = (&*found.values, found.draws, &found.choice);
            return collapsed::forecaster(
                (infer, collapsed),
                iterates,
                (rows, target),
                dataset,
                (draws, context),
            );
        }
        let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, target), context)?;
        predictor.set_parameters(self.values())?;
        Ok(Box::new(predictor))
    }

    /// The number of draws that predictions average over.
    pub(super) fn predictive_draws(&self, infer: &Infer) -> usize {
        match self {
            Found::Fitted(_) | Found::Approximated(_) => infer.predictive_draws,
            Found::Sampled(sampled) => sampled.predictive,
            Found::Collected(found) => match collapsed::part(infer) {
                Some(collapsed) => collapsed::draws(infer, collapsed, found.draws),
                None => predictive_draws(infer, found.draws),
            },
        }
    }
}

/// How many draws predictions with these values average over: as many as they hold where they hold draws.
pub fn draws_in(infer: &Infer, values: &Values) -> usize {
    match (held(infer, values), &infer.work) {
        (0, _) => infer.predictive_draws,
        (held, Work::Swag(_) | Work::Ensemble(_)) => predictive_draws(infer, held),
        (held, Work::Collapsed(collapsed)) => collapsed::draws(infer, collapsed, held),
        (held, Work::Train(_) | Work::Sample(_) | Work::Laplace(_)) => held,
    }
}
