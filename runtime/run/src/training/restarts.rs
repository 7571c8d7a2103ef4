//! Several trainings from different starts, of which the best is kept.

use super::windows::Estimate;
use super::{Fitted, Task};
use crate::core::context::{Context, Stop};
use crate::training::step::training;
use bnnc_math::philox;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One of several trainings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// The seed of its start and its shuffles.
    pub seed: u64,
    /// The loss at its end.
    pub settled: Estimate,
}

/// The seed of one of several trainings. The first has that of the run, so that it is what a training alone finds; those of the others are below 2^53, so
/// that every reader of numbers can hold them.
pub fn seed_of(seed: u64, kind: &str, number: usize) -> u64 {
    match number {
        0 => seed,
        _ => philox::key(seed, &format!("{kind}/{number}")) >> 11,
    }
}

/// The loss at the end of a training: of the last twentieth, or of the best window where that is kept.
pub fn settled(fitted: &Fitted) -> Estimate {
    if let Some(worsened) = &fitted.worsened {
        return worsened.best.estimate;
    }
    let means = fitted.history.means();
    let last = (means.len() / 20).max(3).min(means.len());
    Estimate::of(&means[means.len() - last..])
}

/// Runs one training of a task, and makes something of it.
pub type One<'a, T> = dyn FnMut(&Task<'_>) -> Result<(Fitted, T), Stop> + 'a;

/// Runs the trainings of a task by `one`, which takes a task and its seed, one after the other. Gives the one with the lowest loss at its end, with
/// whatever else `one` made of it. What is finished of an interrupted task is kept.
///
/// # Errors
/// As a training.
pub fn best<T: Serialize + DeserializeOwned>(
    task: &Task<'_>,
    one: &mut One<'_, T>,
) -> Result<(Fitted, T), Stop> {
    let restarts = training(task.infer)?.options.restarts;
    if restarts <= 1 {
        return one(task);
    }
    let checkpoint = &task.context.checkpoint;
    let mut best: Option<(f64, (Fitted, T))> = None;
    let mut all = Vec::new();
    let (mut interrupted, mut steps) = (false, 0);
    for restart in 0..restarts {
        let name = format!("{}-restart{restart}", task.name);
        let context = Context {
            seed: seed_of(task.context.seed, "restart", restart),
            ..task.context.clone()
        };
        let found = match checkpoint.kept(&name, task.split) {
            Some(kept) => kept,
            None if task.context.interrupt.is_raised() => {
                interrupted = true;
                break;
            }
            None => {
                let task = Task {
                    name: &name,
                    context: &context,
                    restart,
                    ..*task
                };
                let found = one(&task)?;
                if !found.0.interrupted {
                    checkpoint.keep(&name, task.split, &found)?;
                }
                found
            }
        };
        interrupted = found.0.interrupted;
        // A training that was stopped is not compared with complete ones, but better than nothing.
        if interrupted && best.is_some() {
            break;
        }
        let settled = settled(&found.0);
        steps += found.0.steps;
        all.push(Restart {
            seed: context.seed,
            settled,
        });
        if best.as_ref().is_none_or(|(least, _)| settled.loss < *least) {
            best = Some((settled.loss, found));
        }
        if interrupted {
            break;
        }
    }
    let Some((_, (mut fitted, rest))) = best else {
        return Err(Stop::Interrupted);
    };
    fitted.restarts = all;
    fitted.interrupted = interrupted;
    fitted.steps = steps;
    Ok((fitted, rest))
}
