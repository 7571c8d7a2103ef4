//! Training: epochs of shuffled batches through the compiled step, with a schedule and early stopping.

use crate::checkpoint::Checkpoint;
use crate::codes;
use crate::feed::{Feed, examples};
use crate::interrupt::Interrupt;
use crate::predict::Predictor;
use crate::progress::Progress;
use crate::rows;
use crate::states::Values;
use crate::step::{Stepper, Terms, kl_weight, training};
use bnnc_abi::manifest::{Infer, Schedule, Training};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_data::Dataset;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a run shares between its infers.
#[derive(Clone)]
pub struct Context {
    /// The threads.
    pub pool: Arc<Pool>,
    /// The seed.
    pub seed: u64,
    /// Whether progress lines are shown.
    pub progress: bool,
    /// Where the run is kept while it goes on.
    pub checkpoint: Checkpoint,
    /// The user's wish to stop.
    pub interrupt: Interrupt,
}

impl Context {
    /// Threads and a seed; nothing is shown, kept or interrupted.
    pub fn new(pool: Arc<Pool>, seed: u64) -> Context {
        Context {
            pool,
            seed,
            progress: false,
            checkpoint: Checkpoint::none(),
            interrupt: Interrupt::default(),
        }
    }
}

/// Why a run stopped.
#[derive(Debug)]
pub enum Stop {
    /// The user can do something about it.
    Diagnostics(Vec<Diagnostic>),
    /// Our fault or our limit.
    Fault(Fault),
    /// The user's wish, before there was anything to report.
    Interrupted,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Diagnostics(diagnostics) => {
                let lines: Vec<String> = diagnostics
                    .iter()
                    .map(|diagnostic| format!("{}: {}", diagnostic.code.id, diagnostic.message))
                    .collect();
                f.write_str(&lines.join("\n"))
            }
            Stop::Fault(fault) => fault.fmt(f),
            Stop::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Diagnostics(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for Stop {
    fn from(diagnostics: Vec<Diagnostic>) -> Stop {
        Stop::Diagnostics(diagnostics)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

/// A fitted infer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fitted {
    /// The parameters, by state name.
    pub values: Arc<Values>,
    /// The negative evidence lower bound of all training rows, averaged over the steps of the last epoch.
    pub loss: f64,
    /// The same of every epoch.
    pub losses: Vec<f64>,
    /// The epochs that were run.
    pub epochs: usize,
    /// The epoch whose parameters were kept.
    pub best_epoch: usize,
    /// Bytes of the training machine.
    pub bytes: u64,
    /// Steps that were run.
    pub steps: u64,
    /// Whether the user stopped it before its end.
    pub interrupted: bool,
}

/// Fits one infer to the training rows of a dataset from the given start.
///
/// # Errors
/// A diverging loss, columns that do not fit, or a limit.
pub fn fit(infer: &Infer, dataset: &Dataset, start: Values, context: &Context) -> Result<Fitted, Stop> {
    fit_watched(infer, dataset, start, context, &mut |_, _| Ok(()))
}

/// What sees the machine that holds the parameters after each epoch, by the number of that epoch from 1 on, and may write what the next one reads.
pub type Watch<'a> = dyn FnMut(usize, &mut Machine) -> Result<(), Stop> + 'a;

/// As [`fit`], with somebody who watches.
///
/// # Errors
/// As [`fit`], and what the watch returns.
pub fn fit_watched(
    infer: &Infer,
    dataset: &Dataset,
    start: Values,
    context: &Context,
    watch: &mut Watch<'_>,
) -> Result<Fitted, Stop> {
    Trainer::new(infer, dataset, start, context)?.run(watch)
}

struct Trainer<'a> {
    infer: &'a Infer,
    options: &'a Training,
    context: &'a Context,
    stepper: Stepper<'a>,
    feed: Feed,
    order: Vec<u32>,
    /// The key of the rows' order.
    shuffle: u64,
    batch: usize,
    validation: Option<Validation>,
}

struct Validation {
    predictor: Predictor,
    best: f64,
    best_epoch: usize,
    kept: Option<Values>,
}

impl<'a> Trainer<'a> {
    fn new(infer: &'a Infer, dataset: &Dataset, start: Values, context: &'a Context) -> Result<Self, Stop> {
        let rows = examples(&infer.bindings, &dataset.train);
        if rows == 0 {
            return Err(codes::no_rows(&infer.data).into());
        }
        let options = &training(infer)?.options;
        let batch = if options.batch == 0 {
            rows
        } else {
            options.batch.min(rows)
        };
        let mut stepper = Stepper::new(infer, rows, &start, context)?;
        drop(start);
        let feed = stepper.feed(&dataset.train, dataset)?;
        feed.write_shared(&mut stepper.machine)?;
        let watched = options.patience > 0 && dataset.validation.count > 0;
        let validation = match watched {
            true => {
                let draws = infer.predictive_draws.min(20);
                let predictor = Predictor::new(infer, &dataset.validation, dataset, draws, context)?;
                Some(Validation {
                    predictor,
                    best: f64::NEG_INFINITY,
                    best_epoch: 0,
                    kept: None,
                })
            }
            false => None,
        };
        let order = (0..rows as u32).collect();
        Ok(Trainer {
            infer,
            options,
            context,
            stepper,
            feed,
            order,
            shuffle: rows::key(context.seed, &infer.name),
            batch,
            validation,
        })
    }

    fn run(mut self, watch: &mut Watch<'_>) -> Result<Fitted, Stop> {
        let epochs = self.options.epochs;
        let per_epoch = self.order.len().div_ceil(self.batch);
        let mut progress = Progress::new(
            &self.infer.name,
            (epochs * per_epoch) as u64,
            self.context.progress,
        );
        let (mut loss, mut done, mut interrupted) = (f64::NAN, 0, false);
        let mut losses = Vec::with_capacity(epochs);
        for epoch in 0..epochs {
            loss = self.epoch(epoch, epochs * per_epoch, &mut progress)?;
            losses.push(loss);
            done = epoch + 1;
            if !loss.is_finite() {
                progress.done();
                return Err(codes::training_diverged(&self.infer.name, epoch, loss).into());
            }
            watch(done, &mut self.stepper.machine)?;
            if self.validate(epoch)? {
                break;
            }
            if self.context.interrupt.is_raised() && done < epochs {
                interrupted = true;
                break;
            }
        }
        progress.done();
        let (best_epoch, kept) = match self.validation.take() {
            Some(Validation {
                best_epoch,
                kept: Some(values),
                ..
            }) => (best_epoch, values),
            _ => (done, self.stepper.parameters()?),
        };
        let bytes = self.stepper.machine.arena_bytes();
        Ok(Fitted {
            values: Arc::new(kept),
            loss,
            losses,
            epochs: done,
            best_epoch,
            bytes,
            steps: self.stepper.count,
            interrupted,
        })
    }

    /// One pass over the rows; returns the mean loss of its steps.
    fn epoch(&mut self, epoch: usize, total: usize, progress: &mut Progress) -> Result<f64, Fault> {
        rows::shuffle(&mut self.order, self.shuffle, epoch);
        let rows = self.order.len();
        let options = self.options;
        let batches = rows.div_ceil(self.batch);
        let (mut sum, mut count) = (0.0, 0.0);
        for (at, batch) in self.order.chunks(self.batch).enumerate() {
            let done = self.stepper.count as f64 / total as f64;
            let terms = Terms {
                rows,
                rate: options.rate * factor(options.schedule, done),
                kl_weight: kl_weight(options.kl_weight, (at, batches), batch.len(), rows),
            };
            let loss = self.stepper.step(&self.feed, batch, terms)?;
            // A step with few rows counts for as much as its rows.
            sum += loss * batch.len() as f64;
            count += batch.len() as f64;
            progress.at(self.stepper.count, loss);
        }
        Ok(sum / count)
    }

    /// Scores the validation rows; returns whether patience is over.
    fn validate(&mut self, epoch: usize) -> Result<bool, Stop> {
        let Some(validation) = self.validation.as_mut() else {
            return Ok(false);
        };
        validation.predictor.take_parameters(&self.stepper.machine)?;
        let score = validation.predictor.log_likelihood()?;
        if score > validation.best {
            validation.best = score;
            validation.best_epoch = epoch + 1;
            validation.kept = Some(self.stepper.parameters()?);
        }
        Ok(epoch + 1 - validation.best_epoch >= self.options.patience)
    }
}

/// What the learning rate is multiplied by after a fraction of the steps.
fn factor(schedule: Schedule, done: f64) -> f64 {
    match schedule {
        Schedule::Constant => 1.0,
        Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
        Schedule::Linear => 1.0 - done,
        Schedule::Step { fraction, factor } => {
            if done < fraction {
                1.0
            } else {
                factor
            }
        }
    }
}
