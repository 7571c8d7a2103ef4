//! Runs chains on threads. A worker is a thread. The worker runs each of its chains until the chain is
//! complete. It begins at the start of the chain, or at the point that an earlier run saved. A worker may run
//! several chains in lockstep. The worker then evaluates the densities of these chains in the same
//! calls.

use super::member::{Patience, RunningChain};
use super::target::{DensityMachines, Shared};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::sampling::Sampling;
use bnnc_core::checkpoint::ChainId;
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics;
use bnnc_core::progress::Progress;
use bnnc_core::store::RecordLayout;
use bnnc_inference::chains::SampledChain;
use bnnc_kernels::pool::Pool;
use bnnc_mcmc::noise::{ChainNoise, Purpose};
use bnnc_mcmc::samplers::sampler;
use bnnc_mcmc::setup::Setup;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The largest number of attempts to find a start with a finite density.
const ATTEMPTS: u64 = 100;

/// The data that all chains of an inference block use.
pub struct Chains<'a> {
    /// The inference block whose posterior is sampled.
    pub infer: &'a InferenceBlock,
    /// The sampler and its options.
    pub sampling: &'a Sampling,
    /// The compiled model and the rows of data.
    pub shared: &'a Shared<'a>,
    /// The number of rows of each shard.
    pub shards: &'a [usize],
    /// The start of all chains, before random jitter is added.
    pub start: &'a [f64],
    /// The index of the data split.
    pub split: usize,
    /// The threads, the progress line and the checkpoint.
    pub context: &'a Context,
}

/// Returns the number of chains that a thread runs in lockstep. One call evaluates the density at
/// `lanes` positions, and every thread has `each` chains to run. The result is a divisor of
/// `lanes`, so that every chain has its own place in a call.
fn used_lanes(lanes: usize, each: usize) -> usize {
    let mut used_lanes = lanes.max(1);
    while used_lanes > each.max(1) {
        used_lanes /= 2;
    }
    used_lanes
}

impl Chains<'_> {
    /// Runs all chains of the inference block. Every thread runs several chains in lockstep. The number of
    /// these chains is the number that one call of the density can evaluate. It is smaller if other threads
    /// would otherwise be idle. If there are more threads than chains, the additional threads help to
    /// evaluate the densities.
    ///
    /// # Errors
    /// Fails if no start has a finite density, if there is too little memory, or if a file cannot be written.
    pub fn run(&self) -> Result<Vec<SampledChain>, Stop> {
        let chains = self.sampling.options.chains;
        let threads = self.context.pool.threads().max(1);
        let used_lanes = used_lanes(self.sampling.lanes, chains.div_ceil(threads));
        let workers = threads.min(chains.div_ceil(used_lanes)).max(1);
        let next = AtomicUsize::new(0);
        let progress = Progress::new(
            &self.infer.name,
            chains.saturating_mul(self.sampling.options.iterations()) as u64,
            self.context.progress,
        );
        let progress = Mutex::new(progress);
        let work = || self.work(&next, used_lanes, threads / workers, &progress);
        let found = thread::scope(|scope| {
            // If the system cannot start more threads, the existing threads run all chains.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let handles: Vec<_> = (1..workers).map_while(start).collect();
            let mut found = vec![work()];
            for handle in handles {
                found.push(match handle.join() {
                    Ok(found) => found,
                    Err(payload) => std::panic::resume_unwind(payload),
                });
            }
            found
        });
        progress
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .done();
        let mut all = Vec::with_capacity(chains);
        for found in found {
            all.extend(found?);
        }
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, chain)| chain).collect())
    }

    /// Runs `used_lanes` chains at a time until all chains are done.
    fn work(
        &self,
        next: &AtomicUsize,
        used_lanes: usize,
        threads: usize,
        progress: &Mutex<Progress>,
    ) -> Result<Vec<(usize, SampledChain)>, Stop> {
        let pool = Arc::new(Pool::new(threads));
        let chains = self.sampling.options.chains;
        let mut model = None;
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(used_lanes, Ordering::Relaxed);
            if first >= chains {
                return Ok(done);
            }
            let model = match &mut model {
                Some(model) => model,
                None => model.insert(DensityMachines::new(self.shared, &pool)?),
            };
            let together = self.together(first..(first + used_lanes).min(chains), model, progress);
            if together.is_err() {
                // The other workers do not begin further chains.
                next.store(chains, Ordering::Relaxed);
            }
            done.extend(together?);
        }
    }

    /// Runs some chains in lockstep until they are complete. Each chain advances until it needs a density.
    /// The densities of all chains are then computed in one call.
    fn together(
        &self,
        numbers: Range<usize>,
        model: &mut DensityMachines<'_>,
        progress: &Mutex<Progress>,
    ) -> Result<Vec<(usize, SampledChain)>, Stop> {
        let started = numbers.map(|number| self.started(number, model));
        let mut members = started.collect::<Result<Vec<_>, Stop>>()?;
        let mut patience = Patience::default();
        while !patience.is_over(&self.context.interrupt) {
            let mut waiting = false;
            for member in &mut members {
                waiting |= member.advance(self, model, progress)?;
            }
            if !waiting {
                break;
            }
            model.run()?;
        }
        members.into_iter().map(RunningChain::finished).collect()
    }

    /// Returns a chain at its start. If an earlier run saved the chain, returns it at the saved
    /// point.
    fn started(&self, number: usize, model: &mut DensityMachines<'_>) -> Result<RunningChain, Stop> {
        let noise = ChainNoise::new(self.context.seed, &self.infer.name, number);
        let start = self.found_start(number, noise, model)?;
        let setup = Setup {
            transition: &self.sampling.transition,
            start: &start,
            shards: self.shards,
            warmup: self.sampling.options.warmup,
            draws: self.sampling.options.iterations() - self.sampling.options.warmup,
            temperature: self.sampling.options.temperature,
            noise,
        };
        let sampler = sampler(&setup);
        let id = ChainId {
            infer: &self.infer.name,
            split: self.split,
            chain: number,
        };
        let layout = RecordLayout {
            dim: start.len(),
            stats: sampler.stats().len(),
        };
        let file = self
            .context
            .checkpoint
            .chain(id, layout, self.sampling.options.store)?;
        RunningChain::new(number, number % self.sampling.lanes, sampler, file)
    }

    /// Returns a point near the start where the density and its gradient are finite.
    fn found_start(
        &self,
        number: usize,
        noise: ChainNoise,
        model: &mut DensityMachines<'_>,
    ) -> Result<Vec<f64>, Stop> {
        let mut gradient = vec![0.0; self.start.len()];
        let jitter = self.sampling.options.jitter_of_start();
        for attempt in 0..ATTEMPTS {
            let moved = |(at, value): (usize, &f64)| {
                let uniform = noise.uniform(Purpose::Start, attempt, at);
                value + jitter * (2.0 * uniform - 1.0)
            };
            let position: Vec<f64> = self.start.iter().enumerate().map(moved).collect();
            let value = model.density_at(&position, &mut gradient)?;
            if value.is_finite() && gradient.iter().all(|slope| slope.is_finite()) {
                return Ok(position);
            }
            if jitter == 0.0 {
                break;
            }
        }
        let options = &self.sampling.options;
        Err(diagnostics::no_start(&self.infer.name, number, ATTEMPTS, options).into())
    }
}
