//! Collapsed inference (Zeng and Van den Broeck 2023): predictions integrate over some of the
//! weights, within a box that spans the iterates.
//!
//! The posterior is a mixture with one component per iterate. In each component, the chosen weights
//! have a uniform distribution on the box. All other weights are fixed at their values at the
//! iterate. The integrals are exact if the location of an observation is an affine or piecewise
//! affine function of the chosen weights.

pub mod around;
pub mod boxes;
pub mod choice;
pub mod classes;
pub mod diagnostics;
pub mod errors;
pub mod function;
pub mod integrals;
pub mod local;
pub mod memory;
pub mod method;
pub mod mixture;
pub mod moves;
pub mod normals;
pub mod pieces;
mod posterior;
pub mod published;
pub mod report;
pub mod sampled;

use crate::MethodFolder;
use bnnc_abi::manifest::{InferenceBlock, OutputKind};
use bnnc_abi::methods::Work;
use bnnc_abi::methods::collapsed::{Collapsed, LocationForm};
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::Forecaster;
use bnnc_core::predict::predictive_draws;
use bnnc_core::states::StateValues;
use bnnc_core::tally::Tally;
use bnnc_data::{Dataset, Rows};
use boxes::Boxes;
use choice::Choice;
use integrals::Integrals;
pub use posterior::CollapsedPosterior;
use sampled::SampledPredictions;

/// The method `collapsed`.
pub(crate) const FOLDER: MethodFolder = MethodFolder {
    of: |infer| match &infer.work {
        Work::Collapsed(collapsed) => Some(Box::new(method::Collapses { infer, collapsed })),
        _ => None,
    },
    codes: diagnostics::CODES,
    prefix: Some(choice::PREFIX),
};

/// Returns whether the integrals have exact forms. If the integrals do not have exact forms, the
/// weights are drawn from the box.
pub fn is_exact(infer: &InferenceBlock, collapsed: &Collapsed) -> bool {
    let Some(output) = infer.only_output() else {
        return false;
    };
    let elements = output.elements();
    let fits = match (collapsed.likelihood, &output.kind) {
        (Likelihood::Normal, _) => collapsed.outputs == elements,
        (Likelihood::Categorical, OutputKind::Classes(count)) => *count == collapsed.outputs && elements == 1,
        (Likelihood::Bernoulli, _) => collapsed.outputs == 1 && elements == 1,
        (Likelihood::Categorical | Likelihood::Other, _) => false,
    };
    fits && collapsed.local.is_some() && !matches!(collapsed.form, LocationForm::Sampled(_))
}

/// Returns the number of draws in predictions from `iterates` iterates. If the integrals are exact,
/// these draws are quantiles of the predictive distribution.
pub fn draws(infer: &InferenceBlock, collapsed: &Collapsed, iterates: usize) -> usize {
    match is_exact(infer, collapsed) {
        true => infer.predictive_draws(),
        false => predictive_draws(infer, iterates * collapsed.options.draws.max(1)),
    }
}

/// The iterates, and the weights that the boxes around them cover.
pub struct FoundBox<'a, 'c> {
    /// The states at all iterates: `[iterates, ..]`.
    pub values: &'a StateValues,
    /// The number of iterates.
    pub iterates: usize,
    /// The weights that are integrated over.
    pub choice: &'c Choice,
}

/// Returns a forecaster that predicts from the states at the iterates in `found`. The targets of
/// the predicted rows may be unknown.
///
/// # Errors
/// Fails if some columns do not fit the program, or if there is too little memory.
pub fn forecaster<'a>(
    (infer, collapsed): (&'a InferenceBlock, &'a Collapsed),
    found: &FoundBox<'a, '_>,
    (rows, is_known): (&Rows, bool),
    dataset: &Dataset,
    (draws, context): (usize, &'a Context),
) -> Result<Box<dyn Forecaster + 'a>, Stop> {
    if is_exact(infer, collapsed) {
        let rows = (rows, is_known);
        let integrals = Integrals::new((infer, collapsed), found, rows, dataset, (draws, context))?;
        return Ok(Box::new(integrals));
    }
    let boxes = Boxes::new(collapsed, found.values, found.iterates);
    let (found, rows) = ((found.values, &boxes), (rows, is_known));
    let drawn = SampledPredictions::new((infer, collapsed), found, rows, dataset, (draws, context))?;
    Ok(Box::new(drawn))
}

/// Returns the warnings about the iterates and about the integrals.
pub fn warnings(
    infer: &InferenceBlock,
    collapsed: &Collapsed,
    found: &CollapsedPosterior,
    tally: Option<&Tally>,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let is_point = found.choice.columns.is_empty();
    if is_point {
        let why = match found.collected.draws {
            0 | 1 => "there is one iterate".to_owned(),
            draws => format!("the {draws} iterates agree on every weight that may be integrated over"),
        };
        warnings.push(diagnostics::point(&infer.name, &why));
    }
    if collapsed.options.is_published() {
        warnings.push(diagnostics::looks_ahead(&infer.name));
    }
    if let Some((tally, why)) = tally.and_then(|tally| Some((tally, tally.why.as_ref()?))) {
        let error = Some(tally.log_density_error).filter(|error| *error > 0.0);
        let drawn = diagnostics::DrawnRows {
            rows: tally.drawn_rows,
            all: tally.rows,
            draws: collapsed.options.draws,
        };
        warnings.push(diagnostics::too_many_pieces(&infer.name, &drawn, why, error));
    }
    let is_shared = tally.is_some_and(|tally| tally.is_shared);
    if is_shared && collapsed.likelihood == Likelihood::Categorical {
        warnings.push(diagnostics::others_held(&infer.name));
    }
    warnings
}
