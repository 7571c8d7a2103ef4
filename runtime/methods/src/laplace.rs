//! Laplace's approximation: the search for a maximum, the curvature at the maximum, and the
//! predictions that are computed from both.
//!
//! `search` finds the maximum. `online` also finds the maximum, but tunes the prior factors and the
//! noise by the marginal likelihood during the search. The modules `machines` and `jacobians` call
//! the compiled programs on blocks of rows, `curve` sums the curvature over rows, `select` chooses
//! subnetworks, and `tune` tunes the factors on the prior. The module `predictor` computes
//! predictions from the Gaussian, block by block.

pub mod bends;
pub mod closed;
pub mod curve;
pub mod diagnostics;
pub mod functions;
pub mod gaussian;
pub mod jacobians;
pub mod joint;
pub mod machines;
pub mod memory;
pub mod method;
pub mod moments;
pub mod online;
pub mod others;
mod posterior;
pub mod predictor;
pub mod prior;
pub mod report;
pub mod residual;
pub mod search;
pub mod select;
pub mod slopes;
pub mod spread;
pub mod tune;
pub mod weights;

use crate::MethodFolder;
use bnnc_abi::manifest::{InferenceBlock, Length};
use bnnc_abi::methods::Work;
use bnnc_abi::methods::laplace::{Laplace, PriorPrecision, Structure};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics::bound::skewed_at_bound;
use bnnc_core::diagnostics::{misjudged_parameter, no_rows};
use bnnc_core::feed::examples;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_laplace::{self as algebra};
use bnnc_training::start::Starts;
use bnnc_training::{Task, TrainingResult, report::longer, restarts};
pub use gaussian::{Approximated, Gaussian};
use gaussian::{GaussianFacts, Kept, part};
use jacobians::Which;
use machines::Evaluator;
use online::Chosen;
use prior::LocalPrior;
use select::EarlierVariances;
use tune::{TuningProblem, rise};

/// The method `laplace`.
pub(crate) const FOLDER: MethodFolder = MethodFolder {
    of: |infer| match &infer.work {
        Work::Laplace(laplace) => Some(Box::new(method::Approximates { infer, laplace })),
        _ => None,
    },
    codes: diagnostics::CODES,
    prefix: Some(gaussian::PREFIX),
};

/// A centre counts as a maximum if, according to the Gaussian, the log posterior can rise by at
/// most this amount per weight.
const RISE: f64 = 0.1;

/// For each start, finds a maximum and computes the Gaussian around it. Uses the training rows of
/// one split. If there are several maxima, the approximation is a mixture of their Gaussians
/// with equal weights. If an earlier run is being resumed, its results are read from the
/// checkpoint.
///
/// # Errors
/// Fails if the training fails, if the precision is not positive definite, or if the subnetwork cannot be chosen.
pub fn laplace(
    infer: &InferenceBlock,
    dataset: &Dataset,
    (starts, split): (&Starts<'_>, usize),
    earlier: EarlierVariances<'_>,
    context: &Context,
) -> Result<Approximated, Stop> {
    let kept: Option<Kept<'static>> = context.checkpoint.kept(&infer.name, split);
    if let Some(mut found) = kept.and_then(Kept::restore) {
        found.warnings = warnings(infer, part(infer)?, &found.members);
        return Ok(found);
    }
    if context.interrupt.is_raised() {
        return Err(Stop::Interrupted);
    }
    let laplace = part(infer)?;
    for member in 0..starts.count().max(1) {
        search::stated(infer, laplace, starts, member)?;
    }
    let found = approximate(infer, dataset, (starts, split), earlier, context)?;
    context.checkpoint.keep(&infer.name, split, &Kept::of(&found))?;
    Ok(found)
}

fn approximate(
    infer: &InferenceBlock,
    dataset: &Dataset,
    (starts, split): (&Starts<'_>, usize),
    earlier: EarlierVariances<'_>,
    context: &Context,
) -> Result<Approximated, Stop> {
    let laplace = part(infer)?;
    if examples(&infer.bindings, &dataset.train) == 0 {
        return Err(no_rows(&infer.data).into());
    }
    if !laplace.independent && laplace.options.structure != Structure::Full {
        return Err(diagnostics::dependent_prior(&infer.name).into());
    }
    let mut members = Vec::with_capacity(starts.count());
    let mut kept = None;
    let around = Around {
        infer,
        laplace,
        dataset,
        earlier,
        context,
    };
    for member in 0..starts.count().max(1) {
        let start = |task: &Task<'_>| starts.of_task(task, member);
        let name = format!("{}-start{member}", infer.name);
        let task = Task {
            infer,
            dataset,
            split,
            name: &name,
            context,
            restart: 0,
        };
        around.reject(&start(&task))?;
        let (fitted, chosen) = around.maximum(&task, &start)?;
        members.push(around.gaussian(&fitted.values, chosen.as_ref())?);
        kept.get_or_insert(fitted);
    }
    let (Some(fitted), Some(first)) = (kept, members.first()) else {
        return Err(no_rows(&infer.data).into());
    };
    Ok(Approximated {
        values: first.values.clone(),
        fitted,
        warnings: warnings(infer, laplace, &members),
        members,
    })
}

/// The search lengths that warnings recommend if the program does not request a search.
const SEARCH_EPOCHS: usize = 100;
const SEARCH_STEPS: usize = 2000;

/// Returns the text of an option that makes the search for the maximum longer. The option uses the
/// same unit (epochs or steps) as the program.
fn longer_search(infer: &InferenceBlock, laplace: &Laplace) -> String {
    match infer.training().map(|train| &train.options) {
        Some(options) if laplace.search => longer(options, false),
        Some(options) if matches!(options.length(), Length::Steps(_)) => format!("steps = {SEARCH_STEPS}"),
        Some(_) | None => format!("epochs = {SEARCH_EPOCHS}"),
    }
}

/// Returns the warnings about the Gaussians.
fn warnings(infer: &InferenceBlock, laplace: &Laplace, members: &[Gaussian]) -> Vec<Diagnostic> {
    let longer = longer_search(infer, laplace);
    let search = diagnostics::SearchForMaximum {
        searched: laplace.search,
        longer: &longer,
    };
    let far = members.iter().filter_map(|member| {
        let weights = member.facts.weights;
        let rise = member.facts.rise.filter(|rise| *rise > RISE * weights as f64)?;
        Some(diagnostics::not_at_maximum(&infer.name, rise, weights, search))
    });
    let elsewhere = members.iter().filter_map(|member| {
        let weights = member.facts.weights;
        let rise = member
            .facts
            .rise_of_own
            .filter(|rise| *rise > RISE * weights as f64)?;
        let elsewhere = diagnostics::Elsewhere {
            rise,
            weights,
            precisions: &member.facts.prior_precision,
            is_normal: member.facts.is_normal,
        };
        // If the factor is at an end of the searched range, the warning about the factor already explains why the centre is not the maximum.
        let is_inside = member.facts.at_end.is_none();
        is_inside.then(|| diagnostics::other_centre(&infer.name, &elsewhere, laplace))
    });
    let others = members.iter().filter_map(|member| member.facts.others_rise);
    let others = others.map(|rise| diagnostics::others_not_at_maximum(&infer.name, rise, search));
    let ends = members.iter().filter_map(|member| member.facts.at_end);
    let ends = ends.map(|factor| diagnostics::factor_at_end(&infer.name, factor, laplace));
    let is_unsettled = members.iter().any(|member| member.facts.unsettled);
    let unsettled = is_unsettled.then(|| diagnostics::factors_not_found(&infer.name));
    let is_averaged = members.iter().any(|member| member.facts.prior_averaged);
    let averaged = is_averaged.then(|| diagnostics::prior_averaged(&infer.name));
    // At any other point, the second derivative does not determine the spread; another warning
    // reports how far the point is from the maximum.
    let is_maximum = |member: &&Gaussian| {
        member
            .facts
            .rise
            .is_none_or(|rise| rise <= RISE * member.facts.weights as f64)
    };
    let misjudged = members.iter().filter(is_maximum).filter_map(|member| {
        let found = member.facts.misjudged.as_ref()?;
        let options = &laplace.options;
        Some(misjudged_parameter(
            &infer.name,
            &found.name,
            found.curvature,
            options,
        ))
    });
    let piled_up = members.iter().filter_map(|member| {
        let found = member.facts.piled_up.as_ref()?;
        Some(skewed_at_bound(&infer.name, &found.name, found.end))
    });
    // The search uses the means over the rows of each step. The Gaussian uses the stored running means. The gradient at the centre is therefore not
    // zero, however long the search is. The losses of the steps show whether the search has converged.
    // A search on transformed images ends at the maximum for these images, not for the images as they are.
    let is_augmented = laplace.search && !laplace.train.options.augment.is_empty();
    let checks_centre = !laplace.train.joins_rows && !is_augmented;
    let far = far.take(1).chain(elsewhere.take(1)).chain(others.take(1));
    let far = far.filter(|_| checks_centre);
    let of_factors = ends.take(1).chain(unsettled).chain(averaged);
    far.chain(of_factors)
        .chain(misjudged.take(1))
        .chain(piled_up.take(1))
        .collect()
}

/// An inference block with its data, the earlier results and the context.
struct Around<'a> {
    infer: &'a InferenceBlock,
    laplace: &'a Laplace,
    dataset: &'a Dataset,
    earlier: EarlierVariances<'a>,
    context: &'a Context,
}

/// The quantities at a maximum. They are computed before the factors on the prior precision are
/// tuned.
struct Before<'a> {
    tuned: TuningProblem<'a>,
    facts: GaussianFacts,
    /// The derivative of the log likelihood with respect to the random weights.
    gradient: Vec<f64>,
    /// The log prior of all parameters except the random weights.
    of_others: f64,
    /// The Gaussian of all weights, if it was computed to choose a subnetwork.
    full: Option<algebra::posterior::GaussianPosterior>,
    /// True if no row contributes to the curvature.
    is_empty: bool,
}

impl Around<'_> {
    /// Searches for the maximum from a start, or reads the maximum that an earlier run found from
    /// the checkpoint. Returns the maximum. If the search was online, also returns the factors and
    /// the noise that it chose.
    fn maximum(
        &self,
        task: &Task<'_>,
        start: &(dyn Fn(&Task<'_>) -> StateValues + Sync),
    ) -> Result<(TrainingResult, Option<Chosen>), Stop> {
        let checkpoint = &task.context.checkpoint;
        if let Some(kept) = checkpoint.kept(task.name, task.split) {
            return Ok(kept);
        }
        let found = match self.laplace.options.online {
            true => {
                // The restarts run one after another, because the curvatures of a single search
                // already need all of the planned memory.
                let (fitted, chosen) = restarts::in_turn(task, &|task| {
                    let start = start(task);
                    self.online(task, start)
                })?;
                (fitted, Some(chosen))
            }
            false => (search::maximum(task, self.laplace, start)?, None),
        };
        if self.laplace.search {
            checkpoint.keep(task.name, task.split, &found)?;
        }
        Ok(found)
    }

    fn evaluation<'e>(&'e self, values: &'e StateValues) -> Result<Evaluator<'e>, Stop> {
        let rows = (&self.dataset.train, true);
        Evaluator::new(
            (self.infer, self.laplace),
            values,
            rows,
            self.dataset,
            self.context,
        )
    }

    /// Returns an error if the options need a marginal likelihood but the prior is not Normal. The
    /// marginal likelihood is known only for Normal priors. The check uses the weights at the
    /// start. The result of this check is the same for all values of the weights.
    fn reject(&self, start: &StateValues) -> Result<(), Stop> {
        let options = &self.laplace.options;
        let option = match (options.online, options.prior_precision) {
            (true, _) => "online = true",
            (false, PriorPrecision::MarginalLikelihood) => "prior_precision = marginal_likelihood",
            (false, PriorPrecision::Given(_) | PriorPrecision::Validation) => return Ok(()),
        };
        let evaluation = self.evaluation(start)?;
        let local = LocalPrior::new(&evaluation, options.structure == Structure::Full)?;
        match local.is_normal(self.infer.precision, &self.context.pool) {
            true => Ok(()),
            false => Err(diagnostics::prior_not_normal(&self.infer.name, option).into()),
        }
    }

    /// Computes the curvatures of the log likelihood and of the log prior.
    fn before<'e>(&'e self, evaluation: &'e Evaluator<'e>) -> Result<Before<'e>, Stop> {
        let options = &self.laplace.options;
        let local = LocalPrior::new(evaluation, options.structure == Structure::Full)?;
        let is_normal = local.is_normal(self.infer.precision, &self.context.pool);
        let (log_likelihood, mut gradient) = jacobians::gradient(evaluation)?;
        let stated = match options.prior_precision {
            PriorPrecision::Given(factor) if factor != 1.0 => {
                local.prior.scaled(&vec![factor; local.slope.len()])
            }
            _ => local.prior.clone(),
        };
        let subnetwork = select::subnetwork(evaluation, &stated, self.earlier)?;
        let (index, full) = subnetwork.map_or((None, None), |found| (Some(found.index), found.full));
        let which = index.as_deref().map_or(Which::All, Which::Selected);
        let curve::Curved {
            curvature,
            clipped,
            is_empty,
        } = curve::curvature(evaluation, which)?;
        let log_prior = index.is_none().then_some(local.log_prior);
        let (mut prior, mut slope) = (local.prior, local.slope);
        if let Some(index) = &index {
            prior = prior.select(index);
            let chosen = |all: &[f64]| -> Vec<f64> { index.iter().map(|at| all[*at]).collect() };
            (gradient, slope) = (chosen(&gradient), chosen(&slope));
        }
        let prior_scale = match options.scales_prior() {
            true => slope.len() as f64 / self.laplace.parameters.max(1) as f64,
            false => 1.0,
        };
        Ok(Before {
            tuned: TuningProblem {
                evaluation,
                dataset: self.dataset,
                index,
                curvature,
                prior,
                slope,
                log_likelihood,
                log_prior,
                is_normal,
            },
            facts: GaussianFacts {
                parameters: self.laplace.parameters,
                prior_scale,
                clipped,
                is_normal,
                ..GaussianFacts::default()
            },
            gradient,
            of_others: local.of_others,
            full,
            is_empty,
        })
    }

    /// Computes the Gaussian around a maximum. `chosen` contains the factors and the noise that an
    /// online search chose.
    fn gaussian(&self, values: &StateValues, chosen: Option<&Chosen>) -> Result<Gaussian, Stop> {
        let evaluation = self.evaluation(values)?;
        let Before {
            mut tuned,
            mut facts,
            gradient,
            full,
            is_empty,
            ..
        } = self.before(&evaluation)?;
        if is_empty {
            return Err(diagnostics::nowhere_concave(&self.infer.name).into());
        }
        let options = &self.laplace.options;
        let given = chosen.map(|chosen| &chosen.tuned);
        let (searched, is_own) = match (given, options.prior_precision) {
            (Some(given), _) => (tuned.of_weights(&given.factors), true),
            (None, PriorPrecision::Given(factor)) if self.laplace.search => {
                (vec![factor; tuned.slope.len()], true)
            }
            (None, given) => (vec![1.0; tuned.slope.len()], given == PriorPrecision::Given(1.0)),
        };
        // `is_own` is true if the Gaussian approximates the density that the search maximised. The
        // prior scale of a subnetwork is not considered.
        let is_own = is_own && options.temperature == 1.0;
        let is_same = is_own && facts.prior_scale == 1.0;
        facts.others_rise = others::rise(&evaluation, chosen.map(|chosen| &chosen.slope))?;
        let slope = tuned.log_posterior_slope(&gradient, &searched);
        if !is_same {
            let posterior = tuned.posterior(&searched, 1.0).ok();
            facts.rise = posterior.map(|posterior| rise(&posterior, &slope, &self.context.pool));
        }
        tuned.scale(facts.prior_scale);
        let mut member = tuned.gaussian(given, facts, (!is_own).then_some(&gradient))?;
        if is_same {
            member.facts.rise = Some(rise(&member.posterior, &slope, &self.context.pool));
        }
        let piled_up = bends::check(self.infer, self.laplace, (&member, &gradient), &self.context.pool)?;
        member.facts.piled_up = piled_up;
        // The Gaussian of the subnetwork can be compared with the Gaussian of all weights only if
        // both have the same prior factor. Both Gaussians have the same factor if the options set
        // it, and if a search has not tuned it.
        let is_given = matches!(options.prior_precision, PriorPrecision::Given(_)) && given.is_none();
        let distance = full.filter(|_| is_given).map(|full| self.distance(full, &member));
        member.facts.wasserstein = distance;
        Ok(member)
    }

    /// Returns the Wasserstein distance between the Gaussian of all weights and the Gaussian of a subnetwork.
    fn distance(&self, full: algebra::posterior::GaussianPosterior, member: &Gaussian) -> f64 {
        let pool = &self.context.pool;
        let covariance = full.inverse(pool);
        drop(full);
        let own = member.posterior.inverse(pool);
        let index = member.index.as_deref().unwrap_or_default();
        algebra::select::wasserstein(&covariance.values, &own.values, index)
    }
}
