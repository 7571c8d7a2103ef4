//! Samples posteriors: runs Markov chains on the compiled model, and stores their draws in the form
//! that predictions and reports read.

pub mod chains;
pub mod diagnose;
pub mod diagnostics;
mod member;
pub mod method;
mod posterior;
pub mod quantities;
pub mod report;
pub mod target;

use crate::MethodFolder;
use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::methods::Work;
use bnnc_abi::methods::sampling::{DrawStorage, MetricKind, Sampling};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics::{no_rows, too_many_files, with_impossible_rows};
use bnnc_core::feed::examples;
use bnnc_core::impossible;
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_inference::chains::{DIAGNOSED, SampledChain, SamplingResult, StateLayout, spread};
use bnnc_inference::sites::Sites;
use chains::Chains;
use std::sync::Arc;
use target::Shared;

/// The samplers.
pub(crate) const FOLDER: MethodFolder = MethodFolder {
    of: |infer| match &infer.work {
        Work::Sampling(sampling) => Some(Box::new(method::Samples { infer, sampling })),
        _ => None,
    },
    codes: diagnostics::CODES,
    prefix: None,
};

/// Samples the posterior of one inference block, given the training rows of a data set. The chains
/// begin at the given start.
///
/// # Errors
/// Fails if the data set does not have rows, if no start has a finite density, or if some columns
/// do not fit the program. Also fails if there is too little memory, or if a file cannot be
/// written.
pub fn sample(
    infer: &InferenceBlock,
    dataset: &Dataset,
    start: StateValues,
    split: usize,
    context: &Context,
) -> Result<SamplingResult, Stop> {
    let Some(sampling) = infer.sampling() else {
        return Err(Fault::Bug(format!("`{}` does not sample", infer.name)).into());
    };
    let rows = examples(&infer.bindings, &dataset.train);
    if rows == 0 {
        return Err(no_rows(&infer.data).into());
    }
    let shared = Shared::new(infer, sampling, dataset, &start, &context.pool)?;
    let shards: Vec<usize> = match dataset.shards.as_slice() {
        ranges if ranges.iter().map(|range| range.len()).sum::<usize>() == rows => {
            ranges.iter().map(|range| range.len()).collect()
        }
        _ => vec![rows],
    };
    let checked = sampling.transition.part().check_shards(&shards);
    checked.map_err(|rejection| too_many_files(&infer.name, &rejection.message, &rejection.help))?;
    let chains = Chains {
        infer,
        sampling,
        shared: &shared,
        shards: &shards,
        start: &shared.layout.position(&start),
        split,
        context,
    };
    let mut chains = match chains.run() {
        Err(Stop::Diagnostics(found)) => {
            let begin = (&start, "at the start, before `jitter` moves it,");
            let note = impossible::note(infer, dataset, begin, context)?;
            return Err(Stop::Diagnostics(with_impossible_rows(found, note)));
        }
        run => run?,
    };
    let layout = shared.layout.clone();
    drop(shared);
    let planned = sampling.options.iterations();
    let interrupted = chains.iter().any(|chain| chain.iterations < planned);
    let mut without_draws = Vec::new();
    if interrupted {
        // The run was stopped before the chains had made a draw, so nothing can be reported.
        let numbers = 0..chains.len();
        without_draws = numbers
            .filter(|number| chains[*number].store.is_empty())
            .collect();
        chains.retain(|chain| !chain.store.is_empty());
    }
    let all: usize = chains.iter().map(|chain| chain.store.len()).sum();
    if all == 0 {
        return Err(match interrupted {
            true => Stop::Interrupted,
            false => Fault::Bug(format!("`{}` kept no draws", infer.name)).into(),
        });
    }
    let predictive = infer.predictive_draws().min(all);
    let (mut values, mut mean) = (start.clone(), start);
    values.extend(spread(&chains, &layout, predictive)?);
    average(&chains, &layout, &mut mean)?;
    let mut found = SamplingResult {
        values: Arc::new(values),
        predictive,
        mean: Arc::new(mean),
        chains,
        without_draws,
        layout,
        interrupted,
    };
    found.mean = Arc::new(centred(infer, sampling, &found, dataset, context)?);
    Ok(found)
}

/// Returns the mean of each state over the draws. Other inference blocks may start from these
/// means. For a non-centred site, the mean of the site's values is returned instead of the mean of
/// its noise, because the blocks that start from this mean are centred.
fn centred(
    infer: &InferenceBlock,
    sampling: &Sampling,
    sampled: &SamplingResult,
    dataset: &Dataset,
    context: &Context,
) -> Result<StateValues, Stop> {
    let mut mean = sampled.mean.as_ref().clone();
    if sampling.noncentred.is_empty() {
        return Ok(mean);
    }
    let mut sites = Sites::new(infer, sampled, dataset, context)?;
    for &site in &sampling.noncentred {
        let state = infer.reports[site].location();
        let Some(values) = mean.get_mut(&state) else {
            continue;
        };
        values.fill(0.0);
        let share = 1.0 / sampled.draws() as f64;
        for chain in 0..sampled.chains.len() {
            sites.visit(chain, &[site], |_, draws| {
                for draw in draws.chunks_exact(values.len().max(1)) {
                    values
                        .iter_mut()
                        .zip(draw)
                        .for_each(|(mean, value)| *mean += share * value);
                }
            })?;
        }
    }
    Ok(mean)
}

/// Replaces each sampled state by its mean over all draws of all chains.
fn average(
    chains: &[SampledChain],
    layout: &StateLayout,
    values: &mut StateValues,
) -> Result<(), Diagnostic> {
    let mut mean = vec![0.0; layout.dimension];
    let mut seen = 0.0;
    for chain in chains {
        let record = chain.store.layout().width();
        chain.store.blocks(0..chain.store.len(), |block| {
            for draw in block.chunks_exact(record) {
                seen += 1.0;
                for (mean, value) in mean.iter_mut().zip(draw) {
                    *mean += (value - *mean) / seen;
                }
            }
        })?;
    }
    for (name, range) in &layout.slots {
        values.insert(name.clone(), mean[range.clone()].to_vec());
    }
    Ok(())
}

/// The largest number of sampler statistics that are stored with each draw.
const STATS: usize = 9;

/// Returns the number of bytes that sampling needs on one thread: the machines for one chain, the
/// rows, and the draws in [`held`].
pub fn bytes(infer: &InferenceBlock, sampling: &Sampling, rows: usize) -> u64 {
    let draws = sampling.options.chains.saturating_mul(sampling.options.draws);
    let size = |site: &SiteReport| quantities::of_site(site, sampling);
    // Diagnostics read the draws of one site at a time.
    let site = infer
        .reports
        .iter()
        .map(size)
        .max()
        .unwrap_or(1)
        .max(quantities::PREDICTIONS);
    let looked = match sampling.options.store {
        DrawStorage::Memory => draws,
        DrawStorage::Disk => draws.min(DIAGNOSED),
    };
    let diagnosed = looked.saturating_mul(site + 3).saturating_mul(size_of::<f64>()) as u64;
    target::bytes(infer, sampling, rows)
        .saturating_add(metrics(infer, sampling))
        .saturating_add(held(infer, sampling))
        .saturating_add(diagnosed)
}

/// Returns the number of bytes that dense metrics need. During adaptation, a chain stores sums of products
/// of its positions, a matrix to be factored, and the factor of this matrix. The chain stores two
/// such sums if gradients determine when old draws are forgotten. While the state of a chain is
/// saved, memory contains a second copy of these matrices, with spare capacity. In addition, every
/// chain has its metric.
fn metrics(infer: &InferenceBlock, sampling: &Sampling) -> u64 {
    let matrices = match sampling
        .transition
        .part()
        .adaptation()
        .map(|adaptation| adaptation.metric)
    {
        Some(MetricKind::Dense) => 9,
        Some(MetricKind::WindowedDense) => 6,
        Some(MetricKind::Automatic | MetricKind::Unit | MetricKind::Diagonal | MetricKind::Windowed)
        | None => return 0,
    };
    let dimension = StateLayout::new(infer, sampling).dimension as u64;
    let numbers = dimension.saturating_mul(dimension);
    let matrices = sampling.options.chains.saturating_add(matrices) as u64;
    numbers
        .saturating_mul(matrices)
        .saturating_mul(size_of::<f64>() as u64)
}

/// Returns the number of bytes of those draws that stay in memory until the end of the run.
pub fn held(infer: &InferenceBlock, sampling: &Sampling) -> u64 {
    let draws = sampling.options.chains.saturating_mul(sampling.options.draws);
    let dimension = StateLayout::new(infer, sampling).dimension;
    let predictions = match quantities::predicts(infer) {
        true => quantities::PREDICTIONS,
        false => 0,
    };
    let elements = |site: &SiteReport| quantities::of_site(site, sampling);
    let in_memory = match sampling.options.store {
        // These bytes are for the draws, with spare capacity, and for the diagnosed quantities.
        DrawStorage::Memory => {
            2 * (dimension + STATS) + infer.reports.iter().map(elements).sum::<usize>() + predictions + 1
        }
        DrawStorage::Disk => 0,
    };
    let predictive = infer.predictive_draws().min(draws).saturating_mul(dimension);
    let numbers = draws.saturating_mul(in_memory).saturating_add(predictive);
    numbers.saturating_mul(size_of::<f64>()) as u64
}
