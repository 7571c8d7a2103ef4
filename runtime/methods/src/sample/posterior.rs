//! The posterior that consists of the draws of Markov chains.

use super::diagnose::diagnose;
use super::quantities::quantities;
use super::report;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::support::Support;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::StateValues;
use bnnc_inference::chains::{Quantity, SamplingResult};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::posterior::{Parts, Posterior, of_sites};
use bnnc_inference::summary::{SiteSummary, of_draws, summaries_of_draws};
use bnnc_training::start;
use serde_json::{Value, json};
use std::sync::Arc;

/// The draws of Markov chains, as a posterior.
#[derive(Debug)]
pub struct ChainsPosterior(pub SamplingResult);

impl Posterior for ChainsPosterior {
    fn values(&self) -> &Arc<StateValues> {
        &self.0.values
    }

    fn point(&self) -> &Arc<StateValues> {
        &self.0.mean
    }

    fn sampled(&self) -> Option<&SamplingResult> {
        Some(&self.0)
    }

    fn is_interrupted(&self) -> bool {
        self.0.interrupted
    }

    fn predictive_draws(&self, _: &InferenceBlock) -> usize {
        self.0.predictive
    }

    fn start(&self, infer: &InferenceBlock) -> start::EarlierResult {
        start::EarlierResult {
            point: self.0.mean.clone(),
            members: Vec::new(),
            iterates: Some(start::EarlierIterates {
                infer: infer.name.clone(),
                values: self.0.values.clone(),
                count: self.0.predictive,
            }),
        }
    }

    fn summarise(
        &self,
        infer: &InferenceBlock,
        outcome: &mut InferenceOutcome,
        context: &Context,
    ) -> Result<Vec<Diagnostic>, Stop> {
        let found = quantities(infer, &self.0, &outcome.dataset, context)?;
        let left_out = outcome.left_out.as_ref();
        let diagnosis = diagnose(infer, &self.0, &found, &outcome.dataset, left_out)?;
        let mut warnings = diagnosis.warnings.clone();
        warnings.extend(close_starts(infer, &found));
        outcome.sites = self.sites(infer, &found, context)?;
        outcome.quantities = found;
        outcome.diagnosis = Some(diagnosis);
        Ok(warnings)
    }

    fn summaries(&self, infer: &InferenceBlock, context: &Context) -> Result<Vec<SiteSummary>, Stop> {
        summaries_of_draws(infer, &self.0.values, self.0.predictive, context)
    }

    fn diagnostics(&self, value: &mut Value, infer: &InferenceBlock, outcome: &InferenceOutcome) {
        value["sites"] = of_sites(infer, |site| &site.kl);
        if let Some(temperature) = infer.tempered() {
            value["temperature"] = json!(temperature);
        }
        if let Some(diagnosis) = &outcome.diagnosis {
            report::diagnostics(value, &self.0, diagnosis);
        }
    }

    fn table(&self, _: &InferenceBlock, outcome: &InferenceOutcome) -> String {
        let left_out = outcome.left_out.as_ref();
        let diagnosis = outcome.diagnosis.as_ref();
        diagnosis.map_or_else(String::new, |found| report::table(&self.0, found, left_out))
    }

    fn work(&self, _: &InferenceBlock) -> String {
        format!("{} chains, {} draws", self.0.chains.len(), self.0.draws())
    }

    fn parts(&self, _: &InferenceBlock, _: &[SiteSummary]) -> Parts {
        Parts::Divergences
    }
}

impl ChainsPosterior {
    /// Returns the summaries of all small sites. The sites of layers are not diagnosed element by
    /// element, so they are summarised separately.
    fn sites(
        &self,
        infer: &InferenceBlock,
        found: &[Quantity],
        context: &Context,
    ) -> Result<Vec<SiteSummary>, Stop> {
        let diagnosed = of_draws(infer, found);
        let of_same = |site: &SiteSummary| diagnosed.iter().find(|other| other.name == site.name);
        let all = self.summaries(infer, context)?;
        Ok(all
            .into_iter()
            .map(|site| of_same(&site).cloned().unwrap_or(site))
            .collect())
    }
}

/// Starts count as different if their distance is at least this fraction of a posterior standard
/// deviation.
const APART: f64 = 1e-3;

/// Returns a warning if the program sets a jitter of the starts that is negligible compared with
/// every posterior standard deviation. The standard deviation on the unconstrained scale is
/// approximated by a product: the standard deviation of the values, times the derivative of the
/// transformation at their mean.
fn close_starts(infer: &InferenceBlock, found: &[Quantity]) -> Option<Diagnostic> {
    let sampling = infer.sampling()?;
    let options = &sampling.options;
    let jitter = options
        .jitter
        .filter(|jitter| *jitter > 0.0 && options.chains > 1)?;
    let sd = |quantity: &Quantity| {
        let (site, _) = quantity.element?;
        let (mean, sd) = (quantity.summary.mean, quantity.summary.sd);
        let sd = match infer.reports.get(site)?.prior.support {
            // In the non-centred parameterisation, the sampled state is noise. Its standard
            // deviation is 1.
            _ if sampling.noncentred.contains(&site) => 1.0,
            Support::Interval(low, high) => match (low.is_finite(), high.is_finite()) {
                (true, true) => sd * (high - low) / ((mean - low) * (high - mean)),
                (true, false) => sd / (mean - low),
                (false, true) => sd / (high - mean),
                (false, false) => sd,
            },
            _ => sd,
        };
        sd.is_finite().then_some(sd)
    };
    let least = found.iter().filter_map(sd).min_by(f64::total_cmp)?;
    (jitter < APART * least)
        .then(|| super::diagnostics::close_starts(&infer.name, options.chains, jitter, least))
}
