//! The report of a run. `report.html` has the tables and plots. In addition, the main plot of each inference block is written to a separate
//! file.

pub mod chain_tables;
pub mod chains;
pub mod characters;
pub mod checks;
pub mod export;
pub mod figures;
pub mod forecast;
pub mod histogram;
pub mod overview;
pub mod page;
pub mod replicates;
pub mod result;
mod sheet;
mod shifted;
pub mod svg;
pub mod ticks;

use bnnc_abi::manifest::{InferenceBlock, Manifest, NoPrior, Output};
use bnnc_core::columns;
use bnnc_core::context::{Context, Stop};
use bnnc_data::write::ResultColumn;
use bnnc_inference::outcome::{InferenceOutcome, RunResult};
use bnnc_kernels::pool::Pool;
use chains::ChainReport;
use figures::ClassPredictions;
use page::Plots;
use replicates::PredictiveCheck;
use std::sync::Arc;

/// A confusion matrix is drawn only if there are at most this number of classes.
const CLASSES: usize = 40;

/// The report of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The HTML page.
    pub html: String,
    /// For each inference block, its name and its main plot.
    pub main: Vec<(String, String)>,
}

/// Builds the report of a run. `text` is the text of the program, and `checks` contains the predictive
/// checks of each outcome. The predictions that the
/// plots show are computed again for the last split.
///
/// # Errors
/// Fails if there is too little memory.
pub fn report(
    manifest: &Manifest,
    result: &RunResult,
    program: &str,
    checks: &[Vec<PredictiveCheck>],
) -> Result<Report, Stop> {
    let context = Context::new(Arc::new(Pool::new(1)), manifest.seed);
    let mut report = Report::default();
    let mut all = Vec::new();
    for (outcome, checks) in result.outcomes.iter().zip(checks) {
        let infer = manifest.infers.iter().find(|infer| infer.name == outcome.name);
        let mut figures = match infer {
            Some(infer) => predictive(manifest, infer, outcome, &context)?,
            None => Vec::new(),
        };
        if let Some(main) = figures.first() {
            report.main.push((outcome.name.clone(), svg::standalone(main)));
        }
        figures.extend(checks.iter().flat_map(checks::replicated));
        // The parameters of layers are left out, because their individual elements have little meaning.
        let own = outcome
            .sites
            .iter()
            .filter(|site| site.elements.len() > 1 && site.own);
        figures.extend(own.map(figures::intervals));
        if let Some(infer) = infer {
            figures.extend(checks::densities(infer, outcome, &context)?);
        }
        figures.extend(
            outcome
                .left_out
                .as_ref()
                .and_then(|left_out| checks::shapes(left_out, &outcome.dataset.train)),
        );
        figures.extend(figures::pruning(outcome));
        figures.extend(shifted::figures(outcome));
        if let Some(infer) = infer.filter(|infer| infer.training().is_some()) {
            figures.extend(figures::loss(infer, outcome));
            figures.extend(figures::validation(outcome));
            figures.extend(sheet::contact(infer, outcome, manifest.seed));
        }
        all.push(Plots {
            figures,
            notes: checks.iter().filter_map(no_prior).collect(),
            chains: chain_plots(outcome)?,
        });
    }
    report.html = page::page(manifest, result, program, &all);
    Ok(report)
}

/// Returns the reason why an output does not have a prior predictive check.
fn no_prior(check: &PredictiveCheck) -> Option<String> {
    let NoPrior(why) = check.prior.as_ref().err()?;
    Some(format!("No prior predictive check of `{}`: {why}", check.column))
}

/// Returns the plots of the Markov chains if the posterior consists of chains.
fn chain_plots(outcome: &InferenceOutcome) -> Result<Vec<String>, Stop> {
    let sampled = outcome.splits.last().and_then(|split| split.found.sampled());
    let (Some(sampled), Some(diagnosis)) = (sampled, &outcome.diagnosis) else {
        return Ok(Vec::new());
    };
    Ok(ChainReport::new(sampled, &outcome.quantities, diagnosis)?.plots())
}

/// Returns the plots of the predictive distribution. The main plot comes first.
fn predictive(
    manifest: &Manifest,
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Vec<String>, Stop> {
    let mut plots = Vec::new();
    for (place, output) in infer.outputs.iter().enumerate() {
        plots.extend(match output.kind.classes() {
            Some(count) => classes((infer, output), count, outcome),
            None => numbers(manifest, (infer, place), outcome, context)?,
        });
    }
    Ok(plots)
}

/// Returns the plots for an output that is a number.
fn numbers(
    manifest: &Manifest,
    (infer, place): (&InferenceBlock, usize),
    outcome: &InferenceOutcome,
    context: &Context,
) -> Result<Vec<String>, Stop> {
    let (_, rows) = outcome.scored();
    let target = infer.column(&infer.outputs[place]);
    let mut plots = Vec::new();
    let spec = manifest.data.iter().find(|spec| spec.name == infer.data);
    if let Some(spec) = spec
        && let Some(curve) = forecast::curve((infer, place), outcome, spec, context)?
    {
        let what = match (infer.finds_point(), curve.forecast.of_mean) {
            (true, true) => "Plug-in estimate of the mean",
            (true, false) => "Plug-in predictive",
            (false, true) => "Posterior of the mean",
            (false, false) => "Posterior predictive",
        };
        let title = match manifest.infers.len() {
            1 => what.to_owned(),
            _ => format!("{what} of {}", infer.name),
        };
        plots.push(figures::band(&title, &curve, target));
    }
    if let Some(forecast) = forecast::of_rows((infer, place), outcome, context)? {
        plots.push(figures::observed(&forecast, target, rows));
        plots.extend(checks::residuals(&forecast, target, rows));
        if !forecast.ranks.is_empty() {
            plots.push(figures::calibration(
                &forecast,
                infer.only_output().map_or(target, |_| ""),
            ));
        }
    }
    Ok(plots)
}

/// Returns the plots for an output that is one of `count` classes.
fn classes(
    (infer, output): (&InferenceBlock, &Output),
    count: usize,
    outcome: &InferenceOutcome,
) -> Vec<String> {
    let named = |name: String| {
        let name = infer.quantity_name(output, &name);
        let found = outcome.predictions.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, column)| match column {
            ResultColumn::Real(values) => Some(values.as_slice()),
            ResultColumn::Int(_) | ResultColumn::Text(_) => None,
        })
    };
    let names = columns::classes(infer, output, count);
    let probabilities: Option<Vec<&[f64]>> = names.into_iter().map(named).collect();
    let Some(probabilities) = probabilities else {
        return Vec::new();
    };
    let (scored, rows) = outcome.scored();
    let target = infer.column(output);
    let Ok(right) = scored.ints(target) else {
        return Vec::new();
    };
    if probabilities.iter().any(|column| column.len() != right.len()) {
        return Vec::new();
    }
    let classes = ClassPredictions {
        probabilities: &probabilities,
        right: &right,
        names: infer.names.classes(&output.name, count).unwrap_or_default(),
    };
    let rows = match infer.only_output() {
        Some(_) => format!("{rows} rows"),
        None => format!("{rows} rows of {target}"),
    };
    let mut plots = vec![classes.reliability(&rows), classes.calibration(&rows)];
    if probabilities.len() <= CLASSES {
        plots.push(classes.confusion(&rows));
    }
    plots
}
