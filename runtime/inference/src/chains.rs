//! The results of Markov chains, in the form that the rest of a run uses: draws, diagnosed quantities, and convergence diagnostics.

use bnnc_abi::manifest::{InferenceBlock, State};
use bnnc_abi::methods::sampling::Sampling;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::states::StateValues;
use bnnc_core::store::ChainStore;
use bnnc_mcmc::diagnostics::QuantitySummary;
use std::ops::Range;
use std::sync::Arc;

/// The result of sampling with Markov chains.
pub struct SamplingResult {
    /// The states for making predictions. Sampled states have one value per draw, `[predictive, ..]`. All other states have a single value.
    pub values: Arc<StateValues>,
    /// The number of draws in `values`.
    pub predictive: usize,
    /// The states at the mean of all draws. Inference blocks that start from this block use them.
    pub mean: Arc<StateValues>,
    /// The chains that have at least one draw.
    pub chains: Vec<SampledChain>,
    /// The indices of the chains that the user stopped before their first draw.
    pub without_draws: Vec<usize>,
    /// For each sampled state, the range of its coordinates within a position.
    pub layout: StateLayout,
    /// True if the user stopped the chains before they were complete.
    pub interrupted: bool,
}

impl std::fmt::Debug for SamplingResult {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let draws: Vec<usize> = self.chains.iter().map(|chain| chain.store.len()).collect();
        write!(formatter, "Sampled {{ draws: {draws:?} }}")
    }
}

impl SamplingResult {
    /// Returns the names of the statistics that the sampler records with each draw.
    pub fn stats(&self) -> &'static [&'static str] {
        self.chains.first().map_or(&[], |chain| chain.stats)
    }

    /// Returns the sampler statistic `name` for every draw of every chain. Returns `None` if the sampler does not record this statistic.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn stat(&self, name: &str) -> Result<Option<Vec<Vec<f64>>>, Diagnostic> {
        if !self.stats().contains(&name) {
            return Ok(None);
        }
        let column = |chain: &SampledChain| {
            let mut values = Vec::with_capacity(chain.store.len());
            self.visit(name, chain, |value| values.push(value))?;
            Ok(values)
        };
        self.chains.iter().map(column).collect::<Result<_, _>>().map(Some)
    }

    /// For every draw of a chain, in order, calls `visit` with the sampler statistic `name`. The values are not stored. If the sampler does not
    /// record this statistic, `visit` is not called.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn visit(
        &self,
        name: &str,
        chain: &SampledChain,
        mut visit: impl FnMut(f64),
    ) -> Result<(), Diagnostic> {
        let Some(at) = self.stats().iter().position(|stat| *stat == name) else {
            return Ok(());
        };
        let (at, width) = (self.layout.dimension + at, chain.store.layout().width());
        chain.store.blocks(0..chain.store.len(), |block| {
            block
                .iter()
                .skip(at)
                .step_by(width)
                .for_each(|value| visit(*value));
        })
    }

    /// Returns the step between the draws that are diagnosed. If the draws are in memory, all draws are diagnosed, so the step is 1. Otherwise, it is
    /// the smallest step that leaves at most [`DIAGNOSED`] draws.
    pub fn every(&self) -> usize {
        match self.chains.iter().all(|chain| chain.store.is_in_memory()) {
            true => 1,
            false => self.draws().div_ceil(DIAGNOSED).max(1),
        }
    }

    /// Returns the states at some draws of a chain. `records` are the records of these draws, one after the
    /// other. States that are sampled have the shape `[draws, ..]`, and the others their means.
    pub fn states(&self, chain: &SampledChain, records: &[f64]) -> StateValues {
        let mut values = self.mean.as_ref().clone();
        for (name, range) in &self.layout.slots {
            let records = records.chunks_exact(chain.store.layout().width());
            let column = records.flat_map(|record| record[range.clone()].iter().copied());
            values.insert(name.clone(), column.collect());
        }
        values
    }

    /// Returns the values of all states for a [`bnnc_core::predict::Predictor`] with `count` draws. The draws are evenly spaced over all chains.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn spread(&self, count: usize) -> Result<StateValues, Diagnostic> {
        let mut values = spread(&self.chains, &self.layout, count)?;
        for (name, held) in self.values.iter() {
            if !values.contains_key(name) {
                values.insert(name.clone(), held.clone());
            }
        }
        Ok(values)
    }

    /// Returns the number of draws in all chains together.
    pub fn draws(&self) -> usize {
        self.chains.iter().map(|chain| chain.store.len()).sum()
    }
}

/// If draws are only on disk, at most this number of draws (over all chains) is diagnosed. To compute ranks, all diagnosed draws of a quantity must
/// be in memory.
pub const DIAGNOSED: usize = 1 << 18;

/// Returns the values of the sampled states at `count` draws. These draws are evenly spaced over all
/// chains.
pub fn spread(
    chains: &[SampledChain],
    layout: &StateLayout,
    count: usize,
) -> Result<StateValues, Diagnostic> {
    let all: usize = chains.iter().map(|chain| chain.store.len()).sum();
    let width = |range: &std::ops::Range<usize>| range.len();
    let mut columns: Vec<Vec<f64>> = layout
        .slots
        .iter()
        .map(|(_, range)| Vec::with_capacity(count * width(range)))
        .collect();
    let (mut first, mut taken) = (0, 0);
    for chain in chains {
        let record = chain.store.layout().width();
        let mut at = first;
        chain.store.blocks(0..chain.store.len(), |block| {
            for draw in block.chunks_exact(record) {
                // The next selected draw has the index `taken * all / count` among all draws.
                if taken < count && at == taken * all / count {
                    for (column, (_, range)) in columns.iter_mut().zip(&layout.slots) {
                        column.extend_from_slice(&draw[range.clone()]);
                    }
                    taken += 1;
                }
                at += 1;
            }
        })?;
        first += chain.store.len();
    }
    let names = layout.slots.iter().map(|(name, _)| name.clone());
    Ok(names.zip(columns).collect())
}

/// The result of one chain.
pub struct SampledChain {
    /// The draws of the chain.
    pub store: ChainStore,
    /// The names of the statistics that the sampler records with each draw.
    pub stats: &'static [&'static str],
    /// The number of iterations, including the warm-up.
    pub iterations: usize,
    /// The inverse metric of the sampler, as `Sampler::inverse_metric` returns it.
    pub inverse_metric: Vec<f64>,
}

/// The layout of a position: for each sampled state, the range of its coordinates.
#[derive(Clone, Debug)]
pub struct StateLayout {
    /// The sampled states in order, each with the range of its coordinates.
    pub slots: Vec<(String, Range<usize>)>,
    /// The number of coordinates of a position.
    pub dimension: usize,
}

impl StateLayout {
    /// Returns the layout of the positions of an inference block.
    pub fn new(infer: &InferenceBlock, sampling: &Sampling) -> StateLayout {
        let mut slots = Vec::new();
        let mut dimension = 0;
        for name in &sampling.moved {
            let state = infer.states.iter().find(|state| state.name == *name);
            let count = state.map_or(0, |state| state.shape.count(&Sizes::default()));
            slots.push((name.clone(), dimension..dimension + count));
            dimension += count;
        }
        StateLayout { slots, dimension }
    }

    /// Concatenates these values of the states to a position.
    pub fn position(&self, values: &StateValues) -> Vec<f64> {
        let mut position = vec![0.0; self.dimension];
        for (name, range) in &self.slots {
            if let Some(values) = values.get(name).filter(|values| values.len() == range.len()) {
                position[range.clone()].copy_from_slice(values);
            }
        }
        position
    }

    /// Returns whether a state is part of the position. All sampled states are part of it.
    pub fn moves(&self, state: &State) -> bool {
        self.slots.iter().any(|(name, _)| *name == state.name)
    }
}

/// A scalar quantity with one number per draw.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The name of the quantity, for example `tau`, `theta[2]` or `norm(hidden.w)`.
    pub name: String,
    /// If the quantity is an element of a site, the index of the site in [`InferenceBlock::reports`], and the index of the element.
    pub element: Option<(usize, usize)>,
    /// The summary of the draws, with convergence diagnostics.
    pub summary: QuantitySummary,
    /// The draws of each chain. The vector is empty if the draws are only on disk.
    pub chains: Vec<Vec<f64>>,
}

/// The diagnostics of the chains of an inference block.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The names of the quantities with their summaries.
    pub quantities: Vec<(String, QuantitySummary)>,
    /// The number of divergent iterations after the warm-up.
    pub divergences: usize,
    /// The number of trajectories that stopped because they reached the maximum tree depth.
    pub cut: usize,
    /// The names of the sampler statistics. For each of them and each chain, the mean over the draws.
    pub means: Vec<(&'static str, Vec<f64>)>,
    /// The E-BFMI of each chain. The vector is empty if the sampler does not record an energy.
    pub missing_information: Vec<f64>,
    /// A description of the distribution that the penalty method samples.
    pub target: Option<String>,
    /// The warnings about the chains.
    pub warnings: Vec<Diagnostic>,
}

/// The quantities with the worst convergence diagnostics. For each diagnostic, the name of the quantity and the value are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst<'a> {
    /// The quantity with the largest R-hat.
    pub rhat: (&'a str, f64),
    /// The quantity with the smallest bulk ESS.
    pub bulk: (&'a str, f64),
    /// The quantity with the smallest tail ESS.
    pub tail: (&'a str, f64),
}

impl Diagnosis {
    /// Returns the mean of a sampler statistic for each chain. The result is empty if the sampler does not record this statistic.
    pub fn mean(&self, name: &str) -> &[f64] {
        let found = self.means.iter().find(|(known, _)| *known == name);
        found.map_or(&[], |(_, means)| means)
    }

    /// Returns the quantities with the largest R-hat and the smallest effective sample sizes.
    pub fn worst(&self) -> Option<Worst<'_>> {
        let known = || {
            self.quantities
                .iter()
                .filter(|(_, summary)| !summary.rhat.is_nan())
        };
        let rhat = known().max_by(|a, b| a.1.rhat.total_cmp(&b.1.rhat))?;
        let least = |of: fn(&QuantitySummary) -> f64| {
            let smallest = known().min_by(|a, b| of(&a.1).total_cmp(&of(&b.1)));
            smallest.map(|quantity| (quantity.0.as_str(), of(&quantity.1)))
        };
        Some(Worst {
            rhat: (&rhat.0, rhat.1.rhat),
            bulk: least(|summary| summary.ess_bulk)?,
            tail: least(|summary| summary.ess_tail)?,
        })
    }
}
