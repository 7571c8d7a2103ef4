//! One chain between two answers.

use super::chains::Chains;
use super::target::Model;
use bnnc_core::checkpoint::ChainFile;
use bnnc_core::context::Stop;
use bnnc_core::interrupt::Interrupt;
use bnnc_core::progress::Progress;
use bnnc_inference::chains::Chain;
use bnnc_mcmc::seam::{Answer, Request, Sampler};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long iterations go on when the user has had enough: quick ones end, so that nothing of them is lost.
const GRACE: Duration = Duration::from_millis(250);

/// What a sampler was asked for last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Nothing yet, or a draw was made.
    Nothing,
    Gradient,
    Value,
    Differences,
}

/// A chain that runs.
pub struct Member {
    number: usize,
    /// Its place among the positions of the density.
    place: usize,
    sampler: Box<dyn Sampler>,
    file: ChainFile,
    /// Iterations that were made.
    iteration: usize,
    asked: Asked,
    /// The answer to `Value` or `Differences`, with that of the prior.
    value: f64,
    gradient: Vec<f64>,
    sums: Vec<f64>,
    /// Where the statistics say whether an iteration diverged.
    diverging: Option<usize>,
    /// Divergences and the iteration that the progress line has been told of.
    diverged: u64,
    shown: usize,
}

impl Member {
    /// A chain at its start, or where an earlier run left it.
    ///
    /// # Errors
    /// A file that no run left in this way.
    pub fn new(
        number: usize,
        place: usize,
        mut sampler: Box<dyn Sampler>,
        mut file: ChainFile,
    ) -> Result<Member, Stop> {
        let mut iteration = 0;
        if let Some(resumed) = file.resumed() {
            if sampler.restore(&resumed.sampler).is_err() {
                return Err(file.corrupt().into());
            }
            iteration = resumed.iteration;
        }
        Ok(Member {
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

    /// Goes on with the answer that the model has for this chain until its next position is in its place; `false` where the chain
    /// is complete, or the user has had enough and an iteration has just ended.
    ///
    /// # Errors
    /// A bug of the machine, a file that cannot be written.
    pub fn advance(
        &mut self,
        chains: &Chains<'_>,
        model: &mut Model<'_>,
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
                Request::Gradient { at, rows, scale } => {
                    self.gradient.resize(at.len(), 0.0);
                    self.asked = Asked::Gradient;
                    model.ask(self.place, at, rows, scale)?;
                    return Ok(true);
                }
                Request::Value { at, rows, scale } => {
                    self.asked = Asked::Value;
                    model.ask(self.place, at, rows, scale)?;
                    return Ok(true);
                }
                Request::Differences { from, to, rows, ends } => {
                    self.sums.resize(ends.len(), 0.0);
                    self.asked = Asked::Differences;
                    self.value = model.differences((from, to), rows, ends, &mut self.sums)?;
                }
                Request::Draw(draw) => {
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

    /// Takes the answer from the model.
    fn read(&mut self, model: &Model<'_>) -> Result<(), Stop> {
        match self.asked {
            Asked::Gradient => self.value = model.gradient(self.place, &mut self.gradient)?,
            Asked::Value => self.value = model.value(self.place)?,
            Asked::Nothing | Asked::Differences => {}
        }
        Ok(())
    }

    /// After an iteration: keeps the chain where it is time to, and says how far it is.
    fn drawn(&mut self, chains: &Chains<'_>, progress: &Mutex<Progress>) -> Result<(), Stop> {
        if self.file.is_due() {
            self.file.commit(self.iteration, self.sampler.save())?;
        }
        // One worker at a time draws the line; the others go on.
        if chains.context.progress
            && let Ok(mut line) = progress.try_lock()
        {
            line.advance((self.iteration - self.shown) as u64, self.diverged);
            (self.shown, self.diverged) = (self.iteration, 0);
        }
        Ok(())
    }

    /// What the chain leaves, by its number.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finished(self) -> Result<(usize, Chain), Stop> {
        let stats = self.sampler.stats();
        let inverse_metric = self.sampler.inverse_metric();
        // A sampler can be saved between iterations only.
        let store = match self.asked {
            Asked::Nothing => self.file.finish(self.iteration, || self.sampler.save())?,
            Asked::Gradient | Asked::Value | Asked::Differences => self.file.left()?,
        };
        let chain = Chain {
            store,
            stats,
            iterations: self.iteration,
            inverse_metric,
        };
        Ok((self.number, chain))
    }
}

/// How long the iterations of some chains may go on.
#[derive(Default)]
pub struct Patience {
    asked: Option<Instant>,
}

impl Patience {
    /// Whether the user asked for an end longer than [`GRACE`] ago.
    pub fn is_over(&mut self, interrupt: &Interrupt) -> bool {
        interrupt.is_raised() && self.asked.get_or_insert_with(Instant::now).elapsed() > GRACE
    }
}
