//! Markov chains, as the rest of a run reads them: their draws, the quantities that are diagnosed, and how far they can be trusted.

use bnnc_abi::manifest::{Infer, State};
use bnnc_abi::sampling::Sampling;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::states::Values;
use bnnc_core::store::ChainStore;
use bnnc_mcmc::diagnostics::Summary;
use std::ops::Range;
use std::sync::Arc;

/// What sampling found.
pub struct Sampled {
    /// For predictions: the states that move at `predictive` draws (`[predictive, ..]`), the others as they are.
    pub values: Arc<Values>,
    /// The draws in `values`.
    pub predictive: usize,
    /// The states at the mean of all draws, for infers that start from this one.
    pub mean: Arc<Values>,
    /// The draws of each chain that has some.
    pub chains: Vec<Chain>,
    /// The numbers of the chains that were stopped before their first draw.
    pub without_draws: Vec<usize>,
    /// Where the states lie in a position.
    pub layout: Layout,
    /// Whether the user stopped the chains before their end.
    pub interrupted: bool,
}

impl std::fmt::Debug for Sampled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let draws: Vec<usize> = self.chains.iter().map(|chain| chain.store.len()).collect();
        write!(formatter, "Sampled {{ draws: {draws:?} }}")
    }
}

impl Sampled {
    /// The names of the numbers that come with each draw.
    pub fn stats(&self) -> &'static [&'static str] {
        self.chains.first().map_or(&[], |chain| chain.stats)
    }

    /// One of these numbers for every draw of every chain; `None` where the sampler has none of this name.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn stat(&self, name: &str) -> Result<Option<Vec<Vec<f64>>>, Diagnostic> {
        if !self.stats().contains(&name) {
            return Ok(None);
        }
        let column = |chain: &Chain| {
            let mut values = Vec::with_capacity(chain.store.len());
            self.visit(name, chain, |value| values.push(value))?;
            Ok(values)
        };
        self.chains.iter().map(column).collect::<Result<_, _>>().map(Some)
    }

    /// Shows one of these numbers for every draw of a chain in their order, without holding them; none where the sampler has none of
    /// this name.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn visit(&self, name: &str, chain: &Chain, mut visit: impl FnMut(f64)) -> Result<(), Diagnostic> {
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

    /// Every so many-th draw is diagnosed: each where draws are in memory, else so few that at most [`DIAGNOSED`] are.
    pub fn every(&self) -> usize {
        match self.chains.iter().all(|chain| chain.store.is_in_memory()) {
            true => 1,
            false => self.draws().div_ceil(DIAGNOSED).max(1),
        }
    }

    /// All states for a [`bnnc_core::predict::Predictor`] of so many draws, evenly spaced over all chains.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn spread(&self, count: usize) -> Result<Values, Diagnostic> {
        let mut values = spread(&self.chains, &self.layout, count)?;
        for (name, held) in self.values.iter() {
            if !values.contains_key(name) {
                values.insert(name.clone(), held.clone());
            }
        }
        Ok(values)
    }

    /// Draws of all chains.
    pub fn draws(&self) -> usize {
        self.chains.iter().map(|chain| chain.store.len()).sum()
    }
}

/// Draws of all chains that are diagnosed where draws are on disk alone, at most: ranks need all of a quantity in memory.
pub const DIAGNOSED: usize = 1 << 18;

/// The states that move at `count` draws, evenly spaced over all chains.
pub fn spread(chains: &[Chain], layout: &Layout, count: usize) -> Result<Values, Diagnostic> {
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
                // Draw number `taken * all / count` is the next one wanted.
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

/// What a chain left.
pub struct Chain {
    /// Its draws.
    pub store: ChainStore,
    /// The names of the numbers that come with each draw.
    pub stats: &'static [&'static str],
    /// Iterations that were made, those of the warm-up included.
    pub iterations: usize,
    /// The sampler's inverse metric, as `Sampler::inverse_metric` gives it.
    pub inverse_metric: Vec<f64>,
}

/// Where the states that move lie in a position.
#[derive(Clone, Debug)]
pub struct Layout {
    /// State and coordinates, in order.
    pub slots: Vec<(String, Range<usize>)>,
    /// Coordinates in all.
    pub dimension: usize,
}

impl Layout {
    /// The layout of an infer's positions.
    pub fn new(infer: &Infer, sampling: &Sampling) -> Layout {
        let mut slots = Vec::new();
        let mut dimension = 0;
        for name in &sampling.moved {
            let state = infer.states.iter().find(|state| state.name == *name);
            let count = state.map_or(0, |state| state.shape.count(&Sizes::default()));
            slots.push((name.clone(), dimension..dimension + count));
            dimension += count;
        }
        Layout { slots, dimension }
    }

    /// The position that values of states make.
    pub fn position(&self, values: &Values) -> Vec<f64> {
        let mut position = vec![0.0; self.dimension];
        for (name, range) in &self.slots {
            if let Some(values) = values.get(name).filter(|values| values.len() == range.len()) {
                position[range.clone()].copy_from_slice(values);
            }
        }
        position
    }

    /// Whether a state is part of a position.
    pub fn moves(&self, state: &State) -> bool {
        self.slots.iter().any(|(name, _)| *name == state.name)
    }
}

/// One number per draw.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// `tau`, `theta[2]`, `norm(hidden.w)`.
    pub name: String,
    /// The element of a site that it is, if it is one: the site's number in the infer's reports, and the element's.
    pub element: Option<(usize, usize)>,
    /// What is diagnosed of it.
    pub summary: Summary,
    /// Its draws, chain by chain; empty where draws are kept on disk alone.
    pub chains: Vec<Vec<f64>>,
}

/// What is known of the chains of an infer.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Quantities by name.
    pub quantities: Vec<(String, Summary)>,
    /// Iterations after the warm-up that diverged.
    pub divergences: usize,
    /// Trajectories that were cut at the largest depth.
    pub cut: usize,
    /// Means over the draws of each chain of numbers that come with the draws: by name.
    pub means: Vec<(&'static str, Vec<f64>)>,
    /// The estimated fraction of missing information of each chain; empty where there is no energy.
    pub missing_information: Vec<f64>,
    /// What the penalty method samples.
    pub target: Option<String>,
    /// What should be done about it.
    pub warnings: Vec<Diagnostic>,
}

/// The quantities that the diagnostics are worst for, each with its number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst<'a> {
    /// The largest R-hat.
    pub rhat: (&'a str, f64),
    /// The smallest effective sample size of the bulk.
    pub bulk: (&'a str, f64),
    /// The smallest effective sample size of the tails.
    pub tail: (&'a str, f64),
}

impl Diagnosis {
    /// The means over each chain of a number that comes with the draws; empty where it does not.
    pub fn mean(&self, name: &str) -> &[f64] {
        let found = self.means.iter().find(|(known, _)| *known == name);
        found.map_or(&[], |(_, means)| means)
    }

    /// The quantities with the largest R-hat and the smallest effective sample sizes.
    pub fn worst(&self) -> Option<Worst<'_>> {
        let known = || {
            self.quantities
                .iter()
                .filter(|(_, summary)| !summary.rhat.is_nan())
        };
        let rhat = known().max_by(|a, b| a.1.rhat.total_cmp(&b.1.rhat))?;
        let least = |of: fn(&Summary) -> f64| {
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
