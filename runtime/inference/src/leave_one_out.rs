//! Computes PSIS-LOO and WAIC for the training rows. The steps are to select draws, to compute the likelihoods of the rows under
//! these draws, and to sum the estimates over the rows.

use crate::chains::{SampledChain, SamplingResult};
use crate::draws::StateDraws;
use crate::posterior::Posterior;
use bnnc_abi::manifest::{InferenceBlock, Output, OutputKind};
use bnnc_abi::methods::sampling::{LooPolicy, Sampling};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::examples;
use bnnc_core::predict::{Predictor, units};
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_mcmc::loo::{LooEstimator, LooRow, Total};
use std::sync::Arc;

/// If the program does not explicitly request leave-one-out estimates, at most this number of log likelihoods is computed. The same limit applies
/// to the number of stored reals, which is the number of draws times the number of parameters.
const LIKELIHOODS: usize = 8_000_000;

/// The number of draws from an approximation that are used for leave-one-out estimates, if the
/// limits allow this number. With 1000 draws, the threshold for the
/// Pareto shape is 0.67. The Monte Carlo error of the sum is then small compared to its standard error over the rows.
const DRAWS: usize = 1000;

/// Returns the number of bytes of the estimates of `rows` rows.
pub fn bytes(rows: usize) -> u64 {
    (rows * size_of::<LooRow>()) as u64
}

/// The leave-one-out estimates of the training rows. Densities are in the original units of the target.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// The sums of the estimates over all rows.
    pub total: Total,
    /// The estimates of each row.
    pub rows: Vec<LooRow>,
    /// The number of draws in the estimates.
    pub draws: usize,
}

/// Returns the number of draws for leave-one-out estimates. The result is the number of all draws, or the number that `LIKELIHOODS` allows if
/// this is less. However, the result is never below the number of predictive draws. Returns `None` if the estimates are not computed.
pub fn draws(sampling: &Sampling, sizes: (usize, usize), there_are: (usize, usize)) -> Option<usize> {
    chosen((sampling, sampling.options.leave_one_out), sizes, there_are)
}

fn chosen(
    (sampling, wanted): (&Sampling, LooPolicy),
    (rows, dimension): (usize, usize),
    (predictive, all): (usize, usize),
) -> Option<usize> {
    let few = rows.saturating_mul(predictive) <= LIKELIHOODS;
    let wanted = match wanted {
        LooPolicy::Never => false,
        LooPolicy::Automatic => few,
        LooPolicy::Always => true,
    };
    let draws = (LIKELIHOODS / rows.max(dimension).max(1))
        .max(predictive)
        .min(all);
    (wanted && is_posterior(sampling, rows) && rows >= 2 && draws >= 4).then_some(draws)
}

/// Computes the leave-one-out estimates of each training row. For chains, the estimates are computed if the options or `asked` request them. For
/// approximations, the estimates are computed only if `asked` requests them. Returns `None` if the inference block does not have draws of a
/// posterior, or if all draws are the same.
///
/// # Errors
/// Fails if a file of draws cannot be read, or if there is too little memory.
pub fn leave_one_out(
    infer: &InferenceBlock,
    found: &dyn Posterior,
    dataset: &Dataset,
    asked: bool,
    context: &Context,
) -> Result<Option<LeftOut>, Stop> {
    if let (Some(sampled), Some(sampling)) = (found.sampled(), infer.sampling()) {
        return of_chains((infer, sampling), sampled, dataset, asked, context);
    }
    let rows = examples(&infer.bindings, &dataset.train);
    if !asked || rows < 2 || infer.is_point() {
        return Ok(None);
    }
    let Some(StateDraws { values, count }) =
        found.draws(infer, draws_of_approximation(infer, rows), context)?
    else {
        return Ok(None);
    };
    let drawn = Drawn {
        values: &values,
        draws: count,
        ends: Vec::new(),
    };
    let left_out = sums(infer, &drawn, dataset, context)?;
    // If the posterior is a point estimate, the log likelihoods are the same under every draw.
    let moves = left_out.rows.iter().any(|row| row.p_waic != 0.0);
    Ok(moves.then_some(left_out))
}

/// Returns the number of draws of an approximation that are used for leave-one-out estimates. The number is at most `DRAWS`. The number is also
/// limited such that neither the likelihoods nor the positions exceed `LIKELIHOODS` reals. However, it is at least the number of predictive
/// draws.
pub fn draws_of_approximation(infer: &InferenceBlock, rows: usize) -> usize {
    let dimension = infer.cost.parameters;
    DRAWS
        .min(LIKELIHOODS / rows.max(dimension).max(1))
        .max(infer.predictive_draws())
}

fn of_chains(
    (infer, sampling): (&InferenceBlock, &Sampling),
    sampled: &SamplingResult,
    dataset: &Dataset,
    asked: bool,
    context: &Context,
) -> Result<Option<LeftOut>, Stop> {
    let rows = examples(&infer.bindings, &dataset.train);
    let there_are = (sampled.predictive, sampled.draws());
    let wanted = match (sampling.options.leave_one_out, asked) {
        (LooPolicy::Automatic, true) => LooPolicy::Always,
        (wanted, _) => wanted,
    };
    let Some(draws) = chosen((sampling, wanted), (rows, sampled.layout.dimension), there_are) else {
        return Ok(None);
    };
    let values = match draws == sampled.predictive {
        true => sampled.values.clone(),
        false => Arc::new(sampled.spread(draws)?),
    };
    let drawn = Drawn {
        values: &values,
        draws,
        ends: ends(sampled, draws),
    };
    Ok(Some(sums(infer, &drawn, dataset, context)?))
}

/// The states of a model at several draws.
struct Drawn<'a> {
    values: &'a StateValues,
    draws: usize,
    /// For each chain, the index after its last draw. The vector is empty if the draws are independent.
    ends: Vec<usize>,
}

/// Returns the leave-one-out estimates for each training row, and their sums.
fn sums(
    infer: &InferenceBlock,
    drawn: &Drawn<'_>,
    dataset: &Dataset,
    context: &Context,
) -> Result<LeftOut, Stop> {
    let draws = drawn.draws;
    let mut predictor = Predictor::new(infer, &dataset.train, dataset, draws, context)?;
    predictor.set_parameters(drawn.values)?;
    // The density of a standardised target is a density per standard deviation of the target.
    let unit: f64 = infer
        .outputs
        .iter()
        .map(|output| log_unit(infer, output, dataset))
        .sum();
    let mut estimator = LooEstimator::default();
    let mut total = Total::new(draws);
    let mut rows = Vec::with_capacity(examples(&infer.bindings, &dataset.train));
    let mut log_likelihood = vec![0.0; draws];
    predictor.likelihoods(|_, block| {
        for row in 0..block.rows {
            for (draw, value) in log_likelihood.iter_mut().enumerate() {
                *value = block.log_likelihood[draw * block.rows + row] - unit;
            }
            let mut chains = Vec::with_capacity(drawn.ends.len());
            let mut first = 0;
            for end in &drawn.ends {
                chains.push(&log_likelihood[first..*end]);
                first = *end;
            }
            let efficiency = match chains.is_empty() {
                true => 1.0,
                false => estimator.relative_efficiency(&chains),
            };
            let of_row = estimator.row(&log_likelihood, efficiency);
            total.add(&of_row);
            rows.push(of_row);
        }
    })?;
    Ok(LeftOut { total, rows, draws })
}

/// Returns the logarithm of the model's unit for an output. The log density in original units is lower than the log density of the model by this
/// number.
pub fn log_unit(infer: &InferenceBlock, output: &Output, dataset: &Dataset) -> f64 {
    match output.kind {
        OutputKind::Real => output.elements() as f64 * units(infer, output, &dataset.preparation).sd.ln(),
        OutputKind::Count | OutputKind::Classes(_) | OutputKind::Bool => 0.0,
    }
}

/// Returns whether the draws come from the posterior itself. Leave-one-out estimates need such draws.
fn is_posterior(sampling: &Sampling, rows: usize) -> bool {
    sampling.transition.part().likelihood_power(rows) == Some(sampling.options.temperature)
}

/// The selected `draws` draws are evenly spaced over all chains. For each chain, returns the index after its last
/// selected draw.
fn ends(sampled: &SamplingResult, draws: usize) -> Vec<usize> {
    let all = sampled.draws();
    let mut before = 0;
    let end = |chain: &SampledChain| {
        before += chain.store.len();
        // The selected draw with the index `at` is the draw `at * all / draws` of all draws.
        (before * draws).div_ceil(all.max(1))
    };
    sampled.chains.iter().map(end).collect()
}
