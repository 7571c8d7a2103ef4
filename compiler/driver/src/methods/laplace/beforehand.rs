//! Finds errors in a Laplace approximation before any training run starts.

use crate::compilation::Compilation;
use crate::diagnostics;
use crate::failure::CompileFailure;
use crate::program::CheckedProgram;
use bnnc_abi::manifest::{InferenceBlock, SiteReport, Start, State, Training};
use bnnc_abi::method::declare::OptionName;
use bnnc_abi::methods::laplace::{
    GaussianOptions, Laplace, Over, PriorPrecision, PriorStructure, Structure, Weights,
};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_hir::tree::InferItem;
use bnnc_rewrite::methods::laplace::Approximation;

/// The options of the search for a maximum, except those that set its length.
const OF_SEARCH: [OptionName; 7] = [
    Training::batch(),
    Training::optimiser(),
    Training::schedule(),
    Training::clip(),
    Training::augment(),
    Training::patience(),
    Training::restarts(),
];

impl Compilation<'_> {
    /// Rejects an option `structure` that cannot be used with the prior of the weights.
    pub(super) fn possible(
        &self,
        options: &GaussianOptions,
        found: &Approximation,
    ) -> Result<(), CompileFailure> {
        if !found.independent && options.structure != Structure::Full {
            let message = "the prior correlates weights, which only `structure = full` can represent";
            return Err(self.apart(GaussianOptions::structure(), message, "write `structure = full`"));
        }
        if !found.independent && options.prior_structure != PriorStructure::Scalar {
            let message = "the prior correlates weights, so only one factor for all weights is possible";
            return Err(self.apart(
                GaussianOptions::prior_structure(),
                message,
                "leave `prior_structure` out",
            ));
        }
        Ok(())
    }

    /// Rejects a subnetwork that is larger than the number of weights in the model, or larger than
    /// `curved`, the number of weights that affect an output with a curved log-likelihood.
    pub(super) fn choosable(
        &self,
        options: &GaussianOptions,
        found: &Approximation,
        curved: usize,
    ) -> Result<(), CompileFailure> {
        let all: usize = found.weights.iter().map(|weights| weights.elements).sum();
        let wanted = match options.over {
            Over::Subnetwork { size, .. } if size < 1.0 => (size * all as f64).round() as usize,
            Over::Subnetwork { size, .. } => size as usize,
            Over::All | Over::LastLayer | Over::Names(_) => 0,
        };
        match (wanted > all, wanted > curved) {
            (true, _) => Err(diagnostics::too_many_weights(self.item, wanted, all).into()),
            (false, true) => Err(diagnostics::too_few_curved(self.item, wanted, curved).into()),
            (false, false) => Ok(()),
        }
    }

    /// Rejects two options if the model does not allow them: tuning the prior during the search,
    /// and a factor on the prior.
    pub(super) fn tunable(
        &self,
        options: &GaussianOptions,
        found: &Approximation,
    ) -> Result<(), CompileFailure> {
        let checked = options.check_search(self.searches()?, !found.noise.is_empty());
        checked.map_err(|found| self.conflict(&found))?;
        let Some(site) = &found.tied else {
            return Ok(());
        };
        if matches!(options.prior_precision, PriorPrecision::Given(factor) if factor != 1.0) {
            let message = format!(
                "`prior_precision` multiplies the precision of the prior of the weights, but the prior of the weights depends on the free parameter `{site}`, or the prior of `{site}` depends on a weight"
            );
            let help = format!(
                "leave `prior_precision` out, because `{site}` already scales that prior; or fix `{site}` in a posterior"
            );
            return Err(self.apart(GaussianOptions::prior_precision(), &message, &help));
        }
        if !options.online {
            return Ok(());
        }
        let message = format!(
            "`online` tunes the prior precision of the weights, but the prior of the weights depends on the free parameter `{site}`, or the prior of `{site}` depends on a weight"
        );
        let help = format!(
            "fix `{site}` in a posterior, or replace `online` by `prior_precision = marginal_likelihood`, which tunes at the maximum"
        );
        Err(self.apart(GaussianOptions::online(), &message, &help))
    }

    /// Rejects options of the search if the start is used as the maximum without a search.
    pub(super) fn heard(&self) -> Result<(), CompileFailure> {
        let mut set = OF_SEARCH.into_iter().filter(|option| self.is_set(*option));
        let searches = self.searches()?;
        match set.next().filter(|_| !searches) {
            None => Ok(()),
            Some(option) => {
                let message = format!(
                    "`{option}` applies to the search for the maximum, but this inference uses its start as the maximum"
                );
                Err(self.apart(option, &message, "set `epochs`, or leave this option out"))
            }
        }
    }

    /// Returns whether the inference searches for the maximum. Without a search, the start is used
    /// as the maximum.
    pub(super) fn searches(&self) -> Result<bool, CompileFailure> {
        Ok(match self.options_of::<Training>()?.epochs {
            Some(epochs) => epochs > 0,
            None => self.is_set(Training::steps()) || !self.is_set(Training::start()),
        })
    }
}

/// Reports an earlier inference that lacks something: a start for every weight, or the variances by
/// which weights are ranked.
pub fn lacking(program: &CheckedProgram, infers: &[InferenceBlock]) -> Vec<Diagnostic> {
    let of_one = |infer: &InferenceBlock| {
        let laplace = infer.laplace()?;
        let item = program.infer(&infer.name)?;
        no_maximum((item, infer), laplace, infers).or_else(|| no_ranking(item, laplace, infers))
    };
    infers.iter().filter_map(of_one).collect()
}

/// Reports a start that is to be used as the maximum but does not contain every site.
fn no_maximum(
    (item, infer): (&InferItem, &InferenceBlock),
    laplace: &Laplace,
    infers: &[InferenceBlock],
) -> Option<Diagnostic> {
    if laplace.search {
        return None;
    }
    let start = match &infer.start {
        None => None,
        Some(Start::Infer(name)) => Some(infers.iter().find(|other| other.name == *name)?),
        // The runtime reads the file, so its content cannot be checked here.
        Some(Start::File(_)) => return None,
    };
    let is_lacking = |weights: &&Weights| {
        let is_taken = |state: &State| state.name == weights.state && state.from.is_some();
        let mut given = start.iter().flat_map(|start| &start.reports);
        !infer.states.iter().any(is_taken) && !given.any(|site| is_of(site, weights))
    };
    let site = laplace.weights.iter().find(is_lacking)?;
    let start = start.map(|start| &*start.name);
    Some(diagnostics::no_maximum(item, &site.site, start))
}

/// Reports a subnetwork whose weights are ranked by an inference that does not have variances, or
/// does not have one of the sites.
fn no_ranking(item: &InferItem, laplace: &Laplace, infers: &[InferenceBlock]) -> Option<Diagnostic> {
    let name = laplace.options.over.ranked_by()?;
    let by = infers.iter().find(|other| other.name == name)?;
    let mut weights = laplace.weights.iter();
    let lacks = weights.find(|weights| !by.reports.iter().any(|site| is_of(site, weights)));
    let has_spread = by.work.part().has_spread(&by.reports);
    match has_spread {
        true => lacks.map(|weights| diagnostics::ranked_without_site(item, name, &weights.site)),
        false => Some(diagnostics::ranked_by_point(item, name)),
    }
}

/// Returns whether the site and the weights have the same name. If the weights are unconstrained
/// reals, their sizes must be equal too.
fn is_of(site: &SiteReport, weights: &Weights) -> bool {
    let elements = site.shape.count(&Sizes::default());
    site.name == weights.site && (!weights.real || elements == weights.elements)
}
