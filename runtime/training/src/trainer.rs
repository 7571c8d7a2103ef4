//! One training run, with its steps, epochs, validation and checkpoints.

use super::history::{History, ValidationCurve};
use super::windows::LossWindows;
use super::{Task, TrainingResult, Watch};
use crate::augment::AugmentedInput;
use crate::convergence::material;
use crate::diagnostics::losses::{single_example, single_row};
use crate::memory::validation_draws;
use crate::step::{self, Stepper, Terms, kl_weight, training};
use bnnc_abi::manifest::{KlWeight, Train};
use bnnc_base::fault::Fault;
use bnnc_core::checkpoint::TrainingFile;
use bnnc_core::context::Stop;
use bnnc_core::feed::{Feed, examples};
use bnnc_core::predict::Predictor;
use bnnc_core::progress::Progress;
use bnnc_core::states::StateValues;
use bnnc_core::{diagnostics, impossible, ports, positions, rows};
use bnnc_math::philox;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The minimum number of losses in a history. With this number, a slope can be distinguished from
/// noise.
const LEAST_LOSSES: usize = 64;

/// The number of draws that are searched for a position outside its axis. The search finds the row
/// of the position, so that the error can name it.
const LOCATED: usize = 1000;

/// A sum of losses, weighted by numbers of rows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sum {
    loss: f64,
    rows: f64,
}

impl Sum {
    /// Adds the loss of a step, weighted by the number of rows in the step.
    fn add(&mut self, loss: f64, rows: usize) {
        self.loss += loss * rows as f64;
        self.rows += rows as f64;
    }

    fn mean(self) -> f64 {
        self.loss / self.rows
    }
}

/// The progress of a training run, without the states in the machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    /// The number of epochs that are complete.
    epoch: usize,
    /// The number of steps that have been taken in the current epoch.
    batch: usize,
    /// The order of the rows in the current epoch.
    order: Vec<u32>,
    /// The sum of losses over the current epoch. `of_piece` is the sum over the current part of the
    /// epoch.
    of_epoch: Sum,
    of_piece: Sum,
    /// The mean loss of the last complete epoch.
    loss: f64,
    history: History,
    /// The windows that select the best parameters, or `None` if the parameters are selected in
    /// another way.
    windows: Option<LossWindows>,
    validation: Option<Validated>,
    /// True if early stopping ended the training.
    stopped: bool,
}

/// The losses of the validation rows. With early stopping, the field also contains the best epoch
/// according to these losses, and the parameters of this epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Validated {
    curve: ValidationCurve,
    score: f64,
    epoch: usize,
    kept: Option<StateValues>,
}

/// The state of a training run as the checkpoint stores it.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The states in the machine, in the order of the inference block's list.
    states: Vec<Vec<f64>>,
    steps: u64,
    position: Position,
    watch: Vec<u8>,
}

/// A training run that is running.
pub(super) struct Trainer<'a, 'w> {
    task: &'a Task<'a>,
    train: &'a Train,
    stepper: Stepper<'a>,
    feed: Feed,
    /// The key of the random order of rows in each epoch.
    shuffle: u64,
    batch: usize,
    /// The number of epochs. `batches` is the number of steps per epoch, and `pieces` the number of
    /// recorded losses per epoch.
    epochs: usize,
    batches: usize,
    pieces: usize,
    predictor: Option<Predictor>,
    watch: Option<&'w mut dyn Watch>,
    file: TrainingFile,
    position: Position,
}

/// Returns the predictor of the validation rows.
fn validator(task: &Task<'_>) -> Result<Predictor, Stop> {
    let draws = validation_draws(task.infer);
    let predictor = Predictor::new(
        task.infer,
        &task.dataset.validation,
        task.dataset,
        draws,
        task.context,
    )?;
    Ok(predictor)
}

impl<'a, 'w> Trainer<'a, 'w> {
    /// Prepares a training run. The training begins at `start`, or at the state of an interrupted
    /// run.
    pub(super) fn new(
        task: &'a Task<'a>,
        start: StateValues,
        watch: Option<&'w mut dyn Watch>,
    ) -> Result<Self, Stop> {
        let Task {
            infer,
            dataset,
            context,
            ..
        } = *task;
        let rows = examples(&infer.bindings, &dataset.train);
        if rows == 0 {
            return Err(diagnostics::no_rows(&infer.data).into());
        }
        let train = training(infer)?;
        let options = &train.options;
        let batch = options.batch_of(rows);
        if train.joins_rows && (batch == 1 || rows % batch == 1) {
            let is_whole = rows < dataset.train.count;
            return Err(match is_whole {
                true => single_example(&infer.name).into(),
                false => single_row(&infer.name, rows, batch).into(),
            });
        }
        let mut stepper = Stepper::new(infer, rows, &start, context)?;
        drop(start);
        stepper.noise = noise(task);
        stepper.images = AugmentedInput::new(infer, train, &dataset.preparation, context.seed);
        let feed = stepper.feed(&dataset.train, dataset)?;
        feed.write_shared(&mut stepper.machine)?;
        let validates = dataset.validation.count > 0;
        let chooses = validates && options.patience > 0;
        let predictor = validates.then(|| validator(task)).transpose()?;
        let (epochs, batches) = (options.epochs_of(rows), rows.div_ceil(batch));
        // The weight of the KL divergence may differ between the batches of an epoch. Losses are
        // then comparable only between whole epochs.
        let pieces = match train.kl_weight() {
            KlWeight::Exact => LEAST_LOSSES.div_ceil(epochs.max(1)).clamp(1, batches),
            KlWeight::Graves | KlWeight::Blundell => 1,
        };
        let losses = epochs.saturating_mul(pieces);
        let is_free = watch.is_none() && !chooses;
        let mut trainer = Trainer {
            task,
            train,
            feed,
            shuffle: rows::key(context.seed, &infer.name),
            batch,
            epochs,
            batches,
            pieces,
            predictor,
            watch,
            file: context.checkpoint.training(task.name, task.split),
            position: Position {
                epoch: 0,
                batch: 0,
                order: (0..rows as u32).collect(),
                of_epoch: Sum::default(),
                of_piece: Sum::default(),
                loss: f64::NAN,
                history: History::new(pieces, losses),
                windows: match is_free {
                    true => Some(LossWindows::new(losses, stepper.parameters()?)),
                    false => None,
                },
                validation: validates.then(|| Validated {
                    curve: ValidationCurve::new(epochs, chooses),
                    score: f64::NEG_INFINITY,
                    epoch: 0,
                    kept: None,
                }),
                stopped: false,
            },
            stepper,
        };
        trainer.resume()?;
        Ok(trainer)
    }

    /// Restores the state of an interrupted run, if the checkpoint contains such a state.
    fn resume(&mut self) -> Result<(), Stop> {
        let Some(saved) = self.file.resumed::<Saved>()? else {
            return Ok(());
        };
        let states = &self.task.infer.states;
        let machine = &mut self.stepper.machine;
        let fits = saved.states.len() == states.len()
            && saved.position.order.len() == self.position.order.len()
            && saved.position.windows.is_some() == self.position.windows.is_some()
            && saved.position.validation.is_some() == self.position.validation.is_some();
        if !fits {
            return Err(self.file.corrupt().into());
        }
        for (state, values) in states.iter().zip(&saved.states) {
            ports::real(machine, &state.name, values)?;
        }
        if let Some(watch) = self.watch.as_deref_mut()
            && !watch.restore(&saved.watch, machine)?
        {
            return Err(self.file.corrupt().into());
        }
        self.stepper.count = saved.steps;
        self.position = saved.position;
        Ok(())
    }

    /// Writes the current state to the checkpoint, so that a later run can resume from it.
    fn commit(&mut self) -> Result<(), Stop> {
        let machine = &self.stepper.machine;
        let states = self.task.infer.states.iter();
        let states = states.map(|state| match machine.has_port(&state.name) {
            true => machine.read_real(&state.name),
            false => Ok(Vec::new()),
        });
        let saved = Saved {
            states: states.collect::<Result<_, Fault>>()?,
            steps: self.stepper.count,
            position: self.position.clone(),
            watch: match &self.watch {
                Some(watch) => watch.save()?,
                None => Vec::new(),
            },
        };
        Ok(self.file.commit(&saved)?)
    }

    /// Runs the training until it is complete, or until the user interrupts the run.
    pub(super) fn run(mut self) -> Result<TrainingResult, Stop> {
        let total = self.epochs.saturating_mul(self.batches) as u64;
        let context = self.task.context;
        let mut progress = Progress::new(&self.task.infer.name, total, context.progress);
        let mut interrupted = false;
        while self.position.epoch < self.epochs && !self.position.stopped {
            if self.position.batch == 0 {
                let epoch = self.position.epoch;
                rows::shuffle(&mut self.position.order, self.shuffle, epoch);
            }
            while self.position.batch < self.batches {
                self.step(total, &mut progress)?;
                if self.position.batch == self.batches {
                    break;
                }
                interrupted = context.interrupt.is_raised();
                if interrupted || self.file.is_due() {
                    self.commit()?;
                }
                if interrupted {
                    break;
                }
            }
            if interrupted {
                break;
            }
            self.end_epoch()?;
            let is_over = self.position.epoch == self.epochs || self.position.stopped;
            interrupted = context.interrupt.is_raised() && !is_over;
            if interrupted || (self.file.is_due() && !is_over) {
                self.commit()?;
            }
            if interrupted {
                break;
            }
        }
        progress.done();
        self.finish(interrupted)
    }

    /// Takes the next step of the current epoch.
    fn step(&mut self, total: u64, progress: &mut Progress) -> Result<(), Stop> {
        let train = self.train;
        let at = self.position.batch;
        let rows = self.position.order.len();
        let from = at * self.batch;
        let batch = &self.position.order[from..(from + self.batch).min(rows)];
        let done = self.stepper.count as f64 / total as f64;
        let terms = Terms {
            rows,
            rate: train.rate * train.options.rates(rows).factor(done),
            kl_weight: kl_weight(train.kl_weight(), (at, self.batches), batch.len(), rows),
            epoch: self.position.epoch,
        };
        let loss = self.stepper.step(&self.feed, batch, terms)?;
        if self.stepper.is_outside {
            self.file.forget()?;
            return Err(self.outside());
        }
        let taken = batch.len();
        let position = &mut self.position;
        position.of_epoch.add(loss, taken);
        position.of_piece.add(loss, taken);
        position.batch += 1;
        progress.at(self.stepper.count, loss);
        let is_closed = position.batch * self.pieces / self.batches > at * self.pieces / self.batches;
        if is_closed {
            let loss = position.of_piece.mean();
            position.of_piece = Sum::default();
            position.history.push(loss);
            if let Some(windows) = &mut position.windows {
                windows.push(loss, position.epoch + 1, &self.stepper.machine)?;
            }
        }
        Ok(())
    }

    /// Ends an epoch. Checks its loss, calls the observer, and computes the loss of the validation
    /// rows.
    fn end_epoch(&mut self) -> Result<(), Stop> {
        let position = &mut self.position;
        let loss = position.of_epoch.mean();
        if !loss.is_finite() {
            self.file.forget()?;
            return Err(self.diverged(loss));
        }
        (position.loss, position.of_epoch) = (loss, Sum::default());
        position.epoch += 1;
        position.batch = 0;
        if let Some(watch) = self.watch.as_deref_mut() {
            watch.epoch(position.epoch, &mut self.stepper.machine)?;
        }
        self.validate()
    }

    /// Returns the diagnostic of a loss that is not finite. The diagnostic names the first row
    /// whose likelihood is zero or NaN. The likelihood is computed at the start, or at the last
    /// parameters with a finite loss.
    fn diverged(&self, loss: f64) -> Stop {
        let Task {
            infer,
            dataset,
            context,
            ..
        } = *self.task;
        let error = diagnostics::training_diverged(&infer.name, self.position.epoch, loss);
        let values = self.position.windows.as_ref().map(LossWindows::values);
        let begin = match self.position.epoch {
            0 => "at the start",
            _ => "at the last parameters with a finite loss",
        };
        let note = values.map(|values| impossible::note(infer, dataset, (values, begin), context));
        match note {
            Some(Ok(Some(note))) => error.note(note).into(),
            // If the search for the row fails, the diagnostic does not name a row.
            Some(Ok(None) | Err(_)) | None => error.into(),
        }
    }

    /// Returns the diagnostic of a step in which the parameters selected a position outside its axis. If
    /// the parameters after the step also select such a position, the diagnostic names the row.
    fn outside(&self) -> Stop {
        let Task {
            infer,
            dataset,
            context,
            ..
        } = *self.task;
        let values = match self.stepper.parameters() {
            Ok(values) => values,
            Err(fault) => return fault.into(),
        };
        let of_rows = (&dataset.train, true);
        let draws = infer.predictive_draws().max(LOCATED);
        match positions::check_values(infer, (&values, draws), of_rows, (dataset, context)) {
            Err(stop) => stop,
            Ok(()) => step::outside(infer, self.stepper.count).into(),
        }
    }

    /// Computes the log likelihood of the validation rows. Ends the training if this log likelihood
    /// has not improved for `patience` epochs.
    fn validate(&mut self) -> Result<(), Stop> {
        let (Some(validated), Some(predictor)) = (self.position.validation.as_mut(), self.predictor.as_mut())
        else {
            return Ok(());
        };
        let epoch = self.position.epoch;
        if !validated.curve.is_due(epoch) {
            return Ok(());
        }
        predictor.take_parameters(&self.stepper.machine)?;
        let score = predictor.log_likelihood()?;
        validated.curve.push(-score);
        if self.train.options.patience == 0 {
            return Ok(());
        }
        if score > validated.score {
            validated.score = score;
            validated.epoch = epoch;
            validated.kept = Some(self.stepper.parameters()?);
        }
        self.position.stopped = epoch - validated.epoch >= self.train.options.patience;
        Ok(())
    }

    fn finish(self, interrupted: bool) -> Result<TrainingResult, Stop> {
        let infer = self.task.infer;
        let Position {
            epoch,
            order,
            of_epoch,
            loss,
            history,
            windows,
            validation,
            ..
        } = self.position;
        let mut fitted = TrainingResult {
            // If no epoch is complete, the mean loss of the steps so far is returned.
            loss: if loss.is_nan() { of_epoch.mean() } else { loss },
            history,
            epochs: epoch,
            planned: self.epochs,
            best_epoch: epoch,
            bytes: self.stepper.machine.arena_bytes(),
            steps: self.stepper.count,
            interrupted,
            ..TrainingResult::default()
        };
        fitted.validation = validation.as_ref().map(|validated| validated.curve.clone());
        let validated = validation.and_then(|validated| Some((validated.epoch, validated.kept?)));
        let worsened =
            windows.and_then(|windows| windows.worsened(material(infer.cost.parameters, order.len())));
        fitted.values = Arc::new(match (validated, worsened) {
            (Some((epoch, values)), _) => {
                fitted.best_epoch = epoch;
                values
            }
            (None, Some((worsened, values))) if !interrupted => {
                fitted.best_epoch = worsened.best.epoch;
                fitted.loss = worsened.best.estimate.loss;
                fitted.worsened = Some(worsened);
                values
            }
            _ => self.stepper.parameters()?,
        });
        Ok(fitted)
    }
}

/// Returns the number that is added to the index of each step. It differs between restarts, so that
/// each restart has its own noise.
fn noise(task: &Task<'_>) -> i32 {
    match task.restart {
        0 => 0,
        restart => (philox::key(0, &format!("noise/{restart}")) >> 34) as i32,
    }
}
