//! One chain. It advances from one evaluation of the density to the next.

use super::chains::Chains;
use super::target::DensityMachines;
use bnnc_core::checkpoint::ChainFile;
use bnnc_core::context::Stop;
use bnnc_core::interrupt::Interrupt;
use bnnc_core::progress::Progress;
use bnnc_inference::chains::SampledChain;
use bnnc_mcmc::seam::{Answer, Sampler, SamplerRequest};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// After an interruption by the user, chains continue to iterate for this time. An iteration that
/// ends within this time is completed, so that its work is not lost.
const GRACE: Duration = Duration::from_millis(250);

/// The evaluation that the sampler requested last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The sampler has made a draw, or has not requested an evaluation yet.
    Nothing,
    Gradient,
    Value,
    Differences,
}

/// A chain that is being run.
pub struct RunningChain {
    number: usize,
    /// The index of the chain's position among the positions in one call.
    place: usize,
    sampler: Box<dyn Sampler>,
    file: ChainFile,
    /// The number of iterations that the chain has made.
    iteration: usize,
    asked: Asked,
    /// The result of the request `Value`. For the request `Differences`, the part of the result
    /// that comes from the prior.
    value: f64,
    gradient: Vec<f64>,
    sums: Vec<f64>,
    /// The index of the statistic that records whether an iteration diverged.
    diverging: Option<usize>,
    /// Two numbers: the number of divergences that the progress line does not show yet, and the
    /// iteration that it shows.
    diverged: u64,
    shown: usize,
}

impl RunningChain {
    /// Prepares a chain at its start. If an earlier run saved the chain, prepares it at the saved
    /// point.
    ///
    /// # Errors
    /// Fails if the saved file is damaged.
    pub fn new(
        number: usize,
        place: usize,
        mut sampler: Box<dyn Sampler>,
        mut file: ChainFile,
    ) -> Result<RunningChain, Stop> {
        let mut iteration = 0;
        if let Some(resumed) = file.resumed() {
            if sampler.restore(&resumed.sampler).is_err() {
                return Err(file.corrupt().into());
            }
            iteration = resumed.iteration;
        }
        Ok(RunningChain {
            number,
            place,
            diverging: sampler.stats().iter().position(|name| *name == "diverging"),
            sampler,
            file,
            iteration,
            asked: Asked::Nothing,
            value: 0.0,
            gradient: Vec::new(),
            sums: Vec::new(),
            diverged: 0,
            shown: iteration,
        })
    }

    /// Passes the evaluated density to the sampler. Then runs the sampler until it has written the
    /// next position that needs the density. Returns `false` if the chain is complete. Also returns
    /// `false` if the user has interrupted the run and an iteration has just ended.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or if the machine has a bug.
    pub fn advance(
        &mut self,
        chains: &Chains<'_>,
        model: &mut DensityMachines<'_>,
        progress: &Mutex<Progress>,
    ) -> Result<bool, Stop> {
        self.read(model)?;
        loop {
            let is_between = self.asked == Asked::Nothing;
            let is_complete = self.iteration >= chains.sampling.options.iterations();
            if is_between && (is_complete || chains.context.interrupt.is_raised()) {
                return Ok(false);
            }
            let answer = match self.asked {
                Asked::Nothing => Answer::Go,
                Asked::Gradient => Answer::Gradient {
                    log_density: self.value,
                    gradient: &self.gradient,
                },
                Asked::Value => Answer::Value(self.value),
                Asked::Differences => Answer::Differences {
                    prior: self.value,
                    sums: &self.sums,
                },
            };
            match self.sampler.advance(answer) {
                SamplerRequest::Gradient { at, rows, scale } => {
                    self.gradient.resize(at.len(), 0.0);
                    self.asked = Asked::Gradient;
                    model.ask(self.place, at, rows, scale)?;
                    return Ok(true);
                }
                SamplerRequest::Value { at, rows, scale } => {
                    self.asked = Asked::Value;
                    model.ask(self.place, at, rows, scale)?;
                    return Ok(true);
                }
                SamplerRequest::Differences { from, to, rows, ends } => {
                    self.sums.resize(ends.len(), 0.0);
                    self.asked = Asked::Differences;
                    self.value = model.differences((from, to), rows, ends, &mut self.sums)?;
                }
                SamplerRequest::Draw(draw) => {
                    self.asked = Asked::Nothing;
                    self.iteration += 1;
                    let sampling = chains.sampling;
                    let drawn = self.iteration.saturating_sub(sampling.options.warmup);
                    if !draw.warmup && drawn > 0 {
                        let diverged = self.diverging.is_some_and(|at| draw.stats[at] > 0.0);
                        self.diverged += u64::from(diverged);
                        if drawn.is_multiple_of(sampling.options.thin) {
                            self.file.append(draw.position, draw.stats)?;
                        }
                    }
                    self.drawn(chains, progress)?;
                }
            }
        }
    }

    /// Reads the requested evaluation from the model.
    fn read(&mut self, model: &DensityMachines<'_>) -> Result<(), Stop> {
        match self.asked {
            Asked::Gradient => self.value = model.gradient(self.place, &mut self.gradient)?,
            Asked::Value => self.value = model.value(self.place)?,
            Asked::Nothing | Asked::Differences => {}
        }
        Ok(())
    }

    /// Called after each iteration. Saves the chain if a save is due, and reports progress.
    fn drawn(&mut self, chains: &Chains<'_>, progress: &Mutex<Progress>) -> Result<(), Stop> {
        if self.file.is_due() {
            self.file.commit(self.iteration, self.sampler.save())?;
        }
        // Only one worker at a time can write the progress line. A worker that finds the line in
        // use skips the update instead of waiting.
        if chains.context.progress
            && let Ok(mut line) = progress.try_lock()
        {
            line.advance((self.iteration - self.shown) as u64, self.diverged);
            (self.shown, self.diverged) = (self.iteration, 0);
        }
        Ok(())
    }

    /// Returns the number of the chain and its result.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn finished(self) -> Result<(usize, SampledChain), Stop> {
        let stats = self.sampler.stats();
        let inverse_metric = self.sampler.inverse_metric();
        // The state of a sampler can be saved only between iterations.
        let store = match self.asked {
            Asked::Nothing => self.file.finish(self.iteration, || self.sampler.save())?,
            Asked::Gradient | Asked::Value | Asked::Differences => self.file.left()?,
        };
        let chain = SampledChain {
            store,
            stats,
            iterations: self.iteration,
            inverse_metric,
        };
        Ok((self.number, chain))
    }
}

/// The time limit, after an interruption, for iterations that have begun.
#[derive(Default)]
pub struct Patience {
    asked: Option<Instant>,
}

impl Patience {
    /// Returns whether the interruption was first noticed more than [`GRACE`] ago.
    pub fn is_over(&mut self, interrupt: &Interrupt) -> bool {
        interrupt.is_raised() && self.asked.get_or_insert_with(Instant::now).elapsed() > GRACE
    }
}
