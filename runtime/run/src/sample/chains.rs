//! Chains on threads: each is run by one worker from its start, or from where an earlier run left it, to its end.

use super::target::{Model, Shared};
use crate::checkpoint::{ChainFile, ChainId};
use crate::codes;
use crate::fit::{Context, Stop};
use crate::progress::Progress;
use crate::store::{ChainStore, Layout};
use bnnc_abi::manifest::Infer;
use bnnc_abi::sampling::Sampling;
use bnnc_kernels::pool::Pool;
use bnnc_mcmc::noise::{Noise, Purpose};
use bnnc_mcmc::registry::{Setup, sampler};
use bnnc_mcmc::seam::{self, Answers, Sampler};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How often a start with a finite density is looked for.
const ATTEMPTS: u64 = 100;

/// What the chains of an infer have in common.
pub struct Chains<'a> {
    /// The infer.
    pub infer: &'a Infer,
    /// Its options.
    pub sampling: &'a Sampling,
    /// The model and its rows.
    pub shared: &'a Shared<'a>,
    /// Rows of each shard.
    pub shards: &'a [usize],
    /// Where the chains start before they are moved apart.
    pub start: &'a [f64],
    /// The split.
    pub split: usize,
    /// Threads, progress, checkpoint.
    pub context: &'a Context,
}

/// What a chain left.
pub struct Chain {
    /// Its draws.
    pub store: ChainStore,
    /// The names of the numbers that come with each draw.
    pub stats: &'static [&'static str],
    /// Iterations that were made, those of the warm-up included.
    pub iterations: usize,
    /// The sampler's inverse metric, as [`Sampler::inverse_metric`] gives it.
    pub inverse_metric: Vec<f64>,
}

impl Chains<'_> {
    /// Runs all chains, as many at a time as there are threads; threads beyond the number of chains work inside them.
    ///
    /// # Errors
    /// No start with a finite density, a limit of the machine, a file that cannot be written.
    pub fn run(&self) -> Result<Vec<Chain>, Stop> {
        let chains = self.sampling.chains;
        let threads = self.context.pool.threads();
        let workers = threads.min(chains).max(1);
        let next = AtomicUsize::new(0);
        let progress = Progress::new(
            &self.infer.name,
            chains.saturating_mul(self.iterations()) as u64,
            self.context.progress,
        );
        let progress = Mutex::new(progress);
        let work = || self.work(&next, threads / workers, &progress);
        let found = thread::scope(|scope| {
            let handles: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
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

    fn iterations(&self) -> usize {
        self.sampling.iterations()
    }

    /// Runs chains until none is left.
    fn work(
        &self,
        next: &AtomicUsize,
        threads: usize,
        progress: &Mutex<Progress>,
    ) -> Result<Vec<(usize, Chain)>, Stop> {
        let pool = Arc::new(Pool::new(threads));
        let mut model = None;
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.sampling.chains {
                return Ok(done);
            }
            let model = match &mut model {
                Some(model) => model,
                None => model.insert(Model::new(self.shared, &pool)?),
            };
            let chain = self.chain(number, model, progress);
            if chain.is_err() {
                // The others stop at their next chain.
                next.store(self.sampling.chains, Ordering::Relaxed);
            }
            done.push((number, chain?));
        }
    }

    fn chain(&self, number: usize, model: &mut Model<'_>, progress: &Mutex<Progress>) -> Result<Chain, Stop> {
        let noise = Noise::new(self.context.seed, &self.infer.name, number);
        let start = self.found_start(number, noise, model)?;
        let setup = Setup {
            transition: &self.sampling.transition,
            start: &start,
            shards: self.shards,
            warmup: self.sampling.warmup,
            draws: self.iterations() - self.sampling.warmup,
            temperature: self.sampling.temperature,
            noise,
        };
        let mut sampler = sampler(&setup);
        let id = ChainId {
            infer: &self.infer.name,
            split: self.split,
            chain: number,
        };
        let layout = Layout {
            dim: start.len(),
            stats: sampler.stats().len(),
        };
        let mut file = self.context.checkpoint.chain(id, layout, self.sampling.store)?;
        let mut iteration = 0;
        if let Some(resumed) = file.resumed() {
            if sampler.restore(&resumed.sampler).is_err() {
                return Err(file.corrupt().into());
            }
            iteration = resumed.iteration;
        }
        let iterations = self.advance(&mut *sampler, model, &mut file, iteration, progress)?;
        Ok(Chain {
            stats: sampler.stats(),
            inverse_metric: sampler.inverse_metric(),
            store: file.finish(iterations, || sampler.save())?,
            iterations,
        })
    }

    /// Makes iterations until the chain is complete or the user has had enough; returns how many there are.
    fn advance(
        &self,
        sampler: &mut dyn Sampler,
        model: &mut Model<'_>,
        file: &mut ChainFile,
        mut iteration: usize,
        progress: &Mutex<Progress>,
    ) -> Result<usize, Stop> {
        let mut answers = Answers::default();
        let (mut shown, thin) = (iteration, self.sampling.thin);
        let diverging = sampler.stats().iter().position(|name| *name == "diverging");
        let mut diverged = 0;
        while iteration < self.iterations() && !self.context.interrupt.is_raised() {
            iteration += 1;
            let kept =
                (iteration > self.sampling.warmup) && (iteration - self.sampling.warmup).is_multiple_of(thin);
            seam::next(sampler, model, &mut answers, |draw| {
                let counts = !draw.warmup && diverging.is_some_and(|at| draw.stats[at] > 0.0);
                diverged += u64::from(counts);
                match kept && !draw.warmup {
                    true => file.append(draw.position, draw.stats),
                    false => Ok(()),
                }
            })?;
            model.check()?;
            if file.is_due() {
                file.commit(iteration, sampler.save())?;
            }
            // One worker at a time draws the line; the others go on.
            if self.context.progress
                && let Ok(mut line) = progress.try_lock()
            {
                line.advance((iteration - shown) as u64, diverged);
                (shown, diverged) = (iteration, 0);
            }
        }
        Ok(iteration)
    }

    /// A point near the start where the density and its gradient are finite.
    fn found_start(&self, number: usize, noise: Noise, model: &mut Model<'_>) -> Result<Vec<f64>, Stop> {
        let mut gradient = vec![0.0; self.start.len()];
        let jitter = self.sampling.jitter;
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
        Err(codes::no_start(&self.infer.name, number, ATTEMPTS).into())
    }
}
