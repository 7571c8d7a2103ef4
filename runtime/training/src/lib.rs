//! Training. The compiled step runs on epochs of shuffled batches, with a schedule of the rate,
//! early stopping and restarts.
//!
//! `trainer` runs one training run. The run can be interrupted after every step and resumed with
//! bit-identical results. `windows` keeps the best parameters, and `history` keeps the losses.
//! `convergence` uses the losses to test whether the training has converged. `maximum` searches for a
//! lower loss with a `descent` on the loss `surface`. `gap` does the same for losses with noise. For
//! this purpose, it also uses a `continuation`. `restarts` compares several training runs.

pub mod augment;
pub mod continuation;
pub mod convergence;
pub mod descent;
pub mod diagnostics;
mod ends;
pub mod gap;
pub mod history;
pub mod iterates;
pub mod maximum;
pub mod memory;
pub mod online;
pub mod report;
pub mod restarts;
mod saddle;
pub mod spread;
pub mod start;
pub mod step;
pub mod surface;
mod trainer;
pub mod windows;

use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::StateValues;
use bnnc_data::Dataset;
use bnnc_kernels::executor::Machine;
use history::{History, ValidationCurve};
use maximum::Descent;
use restarts::Restart;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use trainer::Trainer;
use windows::Worsened;

/// The result of a training run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TrainingResult {
    /// The parameters, by the name of their state.
    pub values: Arc<StateValues>,
    /// The loss: the negative evidence lower bound of all training rows. The loss is the mean over
    /// the steps of the last epoch. If the parameters of the best window are kept, the loss is the
    /// mean over this window.
    pub loss: f64,
    /// The losses during the training.
    pub history: History,
    /// The losses of the validation rows, or `None` without validation rows.
    pub validation: Option<ValidationCurve>,
    /// The number of epochs that were run.
    pub epochs: usize,
    /// The number of epochs that were planned.
    pub planned: usize,
    /// The epoch whose parameters were kept.
    pub best_epoch: usize,
    /// The number of bytes of the machine that ran the training.
    pub bytes: u64,
    /// The number of steps that were run.
    pub steps: u64,
    /// True if the user stopped the training before its end.
    pub interrupted: bool,
    /// The increase of the loss, if it was so large that earlier parameters were kept. Otherwise `None`.
    pub worsened: Option<Worsened>,
    /// All restarts, including this training run, which is the best of them. Empty if there was
    /// only one training run.
    pub restarts: Vec<Restart>,
    /// The result of a descent that starts at the parameters of the best restart, or `None`
    /// without a descent. The module `restarts` fills it in.
    pub descent: Option<Descent>,
}

/// The inputs of a training run: its data, its seed, and the name under which its state is stored.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The inference block.
    pub infer: &'a InferenceBlock,
    /// The data set. Only its training rows are used.
    pub dataset: &'a Dataset,
    /// The index of the split.
    pub split: usize,
    /// The name of the training's files in the checkpoint. The name consists of the name of the
    /// inference block and, if there are several training runs, the member or the restart.
    pub name: &'a str,
    /// The context that all inference blocks share. The seed of the context determines the
    /// shuffles.
    pub context: &'a Context,
    /// The index of the restart. Each restart has its own noise.
    pub restart: usize,
}

/// An observer that is called after each epoch of a training run.
pub trait Watch {
    /// Called after each epoch with the machine. The machine contains the parameters. Epochs are
    /// counted from 1. The method may write inputs of the next step.
    ///
    /// # Errors
    /// If the method returns an error, the training ends with this error.
    fn epoch(&mut self, epoch: usize, machine: &mut Machine) -> Result<(), Stop>;

    /// Returns the state of the observer as bytes.
    ///
    /// # Errors
    /// Fails if the state cannot be serialised. This would be a bug.
    fn save(&self) -> Result<Vec<u8>, Fault>;

    /// Restores the state from the bytes that `save` returned, and writes the inputs of the next
    /// step again. Returns false if the bytes do not represent such a state.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    fn restore(&mut self, bytes: &[u8], machine: &mut Machine) -> Result<bool, Stop>;
}

/// Runs one training run from a start, or continues it from the state of an interrupted run.
///
/// # Errors
/// Fails if the loss diverges, some columns do not fit the program, there is too little memory, the
/// observer returns an error, or a checkpoint cannot be read or written.
pub fn train(
    task: &Task<'_>,
    start: StateValues,
    watch: Option<&mut dyn Watch>,
) -> Result<TrainingResult, Stop> {
    Trainer::new(task, start, watch)?.run()
}
