//! Performs several training runs from different starts, and keeps the best.
//!
//! Several training runs run at the same time on the threads of the machine. The result of each training run
//! depends only on its seed, not on the number of threads. The results are compared in a fixed order, so the
//! choice of the best result does not depend on which training run ends first. Only the best training
//! is followed by a descent.
//!
//! Note \[Restarts on threads\]. Chains may share one evaluation of their density, but restarts do
//! not share a training step. The reason is the time that a step takes. The table shows this time, in
//! microseconds per step and restart, on one thread (`cargo bench -p bnnc-tests --bench restarts`). In
//! the column `alone`, a step advances one restart. In the last three columns, a step advances 2, 4 or
//! 8 restarts in lockstep.
//!
//! | model | parameters | rows | operations | alone | 2 in lockstep | 4 | 8 |
//! |---|---:|---:|---:|---:|---:|---:|---:|
//! | linear regression, `map` | 8 | 128 | 6,728 | 1.3 | 1.1 | 1.0 | 0.9 |
//! | yacht, 10 hidden units | 164 | 32 | 17,557 | 3.1 | 2.8 | 2.3 | 2.1 |
//! | yacht, 50 hidden units | 804 | 32 | 84,957 | 7.4 | 7.4 | 6.9 | 6.8 |
//! | wine, 10 hidden units | 264 | 128 | 87,539 | 5.8 | 5.5 | 5.1 | 5.0 |
//! | concrete, 50 hidden units | 1,004 | 64 | 185,401 | 10.1 | 10.2 | 9.9 | 9.9 |
//! | wine, 50 hidden units | 1,304 | 128 | 428,339 | 17.9 | 18.4 | 18.4 | 18.4 |
//! | concrete, 3 layers of 50 | 11,204 | 64 | 2,424,017 | 64.6 | 65.2 | 65.1 | 66.0 |
//! | wine, 400 hidden units | 10,404 | 128 | 3,410,339 | 116 | 119 | 122 | 127 |
//!
//! Restarts do not share rows or weights, so their matrix products stay separate. Lockstep saves
//! only launches and scalar inputs. Below about 20,000 operations, a step takes a few microseconds, and lockstep
//! saves up to a third of this time. Eight restarts of 10,000 steps take 0.25 s on one thread. Lockstep
//! saves less than 0.1 s of this time. For the yacht example, two threads with four restarts each
//! would save 7 % of a step. Steps with more operations take as long in lockstep as alone, or longer.

use super::windows::LossEstimate;
use super::{Task, TrainingResult, maximum};
use crate::step::training;
use bnnc_abi::manifest::Training;
use bnnc_core::context::{Context, Stop};
use bnnc_kernels::pool::Pool;
use bnnc_math::philox;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The maximum number of training runs that run at the same time. Each training run has its own
/// machine. The limit is a constant, because the predicted memory must not depend on the number of
/// threads.
pub const AT_ONCE: usize = 8;

/// The seed and the final loss of one of several training runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// The seed of the start and of the shuffles.
    pub seed: u64,
    /// The loss at the end of the training.
    pub settled: LossEstimate,
}

/// Returns the seed of training `number` of several training runs. The first training run has the seed
/// of the inference run, so that its result is the same as without restarts. The other seeds are below
/// 2^53. Every JSON reader can represent such numbers.
pub fn seed_of(seed: u64, kind: &str, number: usize) -> u64 {
    match number {
        0 => seed,
        _ => philox::key(seed, &format!("{kind}/{number}")) >> 11,
    }
}

/// Returns the loss at the end of a training run. The result is the mean loss over the last
/// twentieth of the training. If the parameters of the best window are kept, the result is the mean
/// loss in this window.
pub fn settled(fitted: &TrainingResult) -> LossEstimate {
    if let Some(worsened) = &fitted.worsened {
        return worsened.best.estimate;
    }
    let means = fitted.history.means();
    let last = (means.len() / 20).max(3).min(means.len());
    LossEstimate::of(&means[means.len() - last..])
}

/// A function that performs one training run of a task. In addition to the result of the training,
/// it may return another result.
pub type One<'a, T> = dyn Fn(&Task<'_>) -> Result<(TrainingResult, T), Stop> + 'a;

/// A function like [`One`] that may be called on any thread.
pub type OneOnThread<'a, T> = dyn Fn(&Task<'_>) -> Result<(TrainingResult, T), Stop> + Sync + 'a;

/// Returns the largest number of training runs that [`best`] runs at the same time.
pub fn at_once(options: &Training) -> usize {
    options.restarts.clamp(1, AT_ONCE)
}

/// Returns the maximum number of results that ended training runs keep in memory. If there are
/// several training runs, this number is two: the best result so far, and the result of the
/// training run that has just ended.
pub fn kept(options: &Training) -> usize {
    if options.restarts > 1 { 2 } else { 0 }
}

/// Runs the training runs of a task with `one`, on the threads of the machine. Each training run
/// has its own seed. Returns the training run with the lowest final loss, including a descent from its
/// parameters. Also returns the other result of `one`. If the task is interrupted, the checkpoint keeps the
/// finished training runs.
///
/// # Errors
/// Fails if the training fails.
pub fn best<T: Serialize + DeserializeOwned + Send>(
    task: &Task<'_>,
    one: &OneOnThread<'_, T>,
) -> Result<(TrainingResult, T), Stop> {
    let options = &training(task.infer)?.options;
    let workers = task.context.pool.threads().clamp(1, at_once(options));
    if workers == 1 {
        return in_turn(task, one);
    }
    let one = |task: &Task<'_>, number: usize| {
        one(&Task {
            restart: number,
            ..*task
        })
    };
    let runs = NumberedRuns::new(task, "restart", options.restarts, &one, Compared::new());
    runs.on_threads(workers, Compared::add);
    compared(runs)
}

/// Runs `work` on `workers` threads at the same time. Each thread has a pool with an equal part of
/// the context's threads. Only one thread may show progress.
fn on_threads(context: &Context, workers: usize, work: &(dyn Fn(&Arc<Pool>, bool) + Sync)) {
    let threads = context.pool.threads().max(1);
    let own = || Arc::new(Pool::new(threads / workers));
    thread::scope(|scope| {
        // If the system cannot start all threads, the threads that have started do all of the work.
        let start = |_| {
            let worker = thread::Builder::new();
            worker.spawn_scoped(scope, || work(&own(), false)).ok()
        };
        let handles: Vec<_> = (1..workers).map_while(start).collect();
        // Only this thread shows a progress line.
        work(&own(), context.progress);
        for handle in handles {
            if let Err(payload) = handle.join() {
                std::panic::resume_unwind(payload);
            }
        }
    });
}

/// Runs the training runs of a task as [`best`] does, but one after the other.
///
/// # Errors
/// Fails if the training fails.
pub fn in_turn<T: Serialize + DeserializeOwned>(
    task: &Task<'_>,
    one: &One<'_, T>,
) -> Result<(TrainingResult, T), Stop> {
    let restarts = training(task.infer)?.options.restarts;
    if restarts <= 1 {
        return descended(task, one(task)?);
    }
    let one = |task: &Task<'_>, number: usize| {
        one(&Task {
            restart: number,
            ..*task
        })
    };
    let runs = NumberedRuns::new(task, "restart", restarts, &one, Compared::new());
    runs.work(&task.context.pool, task.context.progress, Compared::add);
    compared(runs)
}

/// Makes a descent from the parameters of the training that is kept, and adds its result. The other
/// training runs are compared by their losses alone, because a descent may take longer than a short
/// training run.
fn descended<T>(
    task: &Task<'_>,
    (mut fitted, rest): (TrainingResult, T),
) -> Result<(TrainingResult, T), Stop> {
    fitted.descent = maximum::descent(task, &fitted)?;
    Ok((fitted, rest))
}

/// Several numbered training runs of a task, of which each has its own seed. Their results are gathered in `A`.
pub struct NumberedRuns<'a, A, F> {
    task: &'a Task<'a>,
    /// The word for one of the training runs in its seed and in the names of its files.
    kind: &'static str,
    one: &'a F,
    count: usize,
    /// The number of the training run that starts next.
    next: AtomicUsize,
    ended: Mutex<Ended<A>>,
}

/// The training runs that have ended so far.
struct Ended<A> {
    found: A,
    interrupted: bool,
    /// The failed training run with the lowest number, and its error.
    failed: Option<(usize, Stop)>,
}

/// The number of a training run, and its result.
pub type Numbered<T> = (usize, (TrainingResult, T));

impl<'a, A, T, F> NumberedRuns<'a, A, F>
where
    T: Serialize + DeserializeOwned,
    F: Fn(&Task<'_>, usize) -> Result<(TrainingResult, T), Stop>,
{
    /// Returns the training runs with the numbers below `count`, none of which has started. `one` runs one of
    /// them. `found` is the value for no results.
    pub fn new(task: &'a Task<'a>, kind: &'static str, count: usize, one: &'a F, found: A) -> Self {
        let ended = Ended {
            found,
            interrupted: false,
            failed: None,
        };
        NumberedRuns {
            task,
            kind,
            one,
            count,
            next: AtomicUsize::new(0),
            ended: Mutex::new(ended),
        }
    }

    /// Runs training runs on a pool, one after the other, until all have been started. `add` gathers a result.
    fn work(&self, pool: &Arc<Pool>, progress: bool, add: fn(&mut A, Numbered<T>)) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            let context = Context {
                pool: pool.clone(),
                progress,
                seed: seed_of(self.task.context.seed, self.kind, number),
                ..self.task.context.clone()
            };
            let found = self.run(number, &context);
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            match found {
                Ok(Some(found)) => {
                    ended.interrupted |= found.0.interrupted;
                    add(&mut ended.found, (number, found));
                }
                Ok(None) => ended.interrupted = true,
                Err(stop) => {
                    // Further training runs are not started. Training runs with lower numbers still
                    // finish. The reported failure therefore does not depend on thread scheduling.
                    self.next.store(self.count, Ordering::Relaxed);
                    if ended.failed.as_ref().is_none_or(|(first, _)| number < *first) {
                        ended.failed = Some((number, stop));
                    }
                }
            }
        }
    }

    /// Runs all training runs, on `workers` threads at the same time. `add` gathers a result.
    pub fn on_threads(&self, workers: usize, add: fn(&mut A, Numbered<T>))
    where
        A: Send,
        F: Sync,
    {
        let context = self.task.context;
        match workers {
            1 => self.work(&context.pool, context.progress, add),
            _ => on_threads(context, workers, &|pool, progress| self.work(pool, progress, add)),
        }
    }

    /// Returns the gathered results, and whether the user interrupted the training runs.
    ///
    /// # Errors
    /// Fails if a training run failed.
    pub fn finish(self) -> Result<(A, bool), Stop> {
        let ended = self.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        match ended.failed {
            Some((_, stop)) => Err(stop),
            None => Ok((ended.found, ended.interrupted)),
        }
    }

    /// Runs one training run, or returns its result from an earlier run. Returns `None` if the user
    /// interrupts the run before the training begins.
    fn run(&self, number: usize, context: &Context) -> Result<Option<(TrainingResult, T)>, Stop> {
        let task = self.task;
        let name = format!("{}-{}{number}", task.name, self.kind);
        if let Some(kept) = context.checkpoint.kept(&name, task.split) {
            return Ok(Some(kept));
        }
        if context.interrupt.is_raised() {
            return Ok(None);
        }
        let own = Task {
            name: &name,
            context,
            ..*task
        };
        let found = (self.one)(&own, number)?;
        if !found.0.interrupted {
            context.checkpoint.keep(&name, task.split, &found)?;
        }
        Ok(Some(found))
    }
}

/// Returns the best of training runs that have ended, including a descent from its parameters.
fn compared<T, F>(runs: NumberedRuns<'_, Compared<T>, F>) -> Result<(TrainingResult, T), Stop>
where
    T: Serialize + DeserializeOwned,
    F: Fn(&Task<'_>, usize) -> Result<(TrainingResult, T), Stop>,
{
    let task = runs.task;
    let (compared, interrupted) = runs.finish()?;
    let (mut fitted, rest) = compared.best(task.context.seed)?;
    fitted.interrupted = interrupted;
    descended(task, (fitted, rest))
}

/// The results of the training runs that have ended so far.
struct Compared<T> {
    /// The number, the final loss and the number of steps of each complete training run.
    all: Vec<(usize, LossEstimate, u64)>,
    /// The complete training with the lowest loss.
    best: Option<Numbered<T>>,
    /// The interrupted training run with the lowest number. This training run is only used if no
    /// training is complete.
    stopped: Option<Numbered<T>>,
}

impl<T> Compared<T> {
    fn new() -> Compared<T> {
        Compared {
            all: Vec::new(),
            best: None,
            stopped: None,
        }
    }

    fn add(&mut self, (number, found): Numbered<T>) {
        if found.0.interrupted {
            if self.stopped.as_ref().is_none_or(|(first, _)| number < *first) {
                self.stopped = Some((number, found));
            }
            return;
        }
        let settled = settled(&found.0);
        self.all.push((number, settled, found.0.steps));
        let is_best = self.best.as_ref().is_none_or(|(other, best)| {
            let order = settled.loss.total_cmp(&self::settled(&best.0).loss);
            order.then(number.cmp(other)).is_lt()
        });
        if is_best {
            self.best = Some((number, found));
        }
    }

    /// Returns the best result. `seed` is the seed of the task.
    fn best(mut self, seed: u64) -> Result<(TrainingResult, T), Stop> {
        let (_, (mut fitted, rest)) = match (self.best, self.stopped) {
            (Some(best), _) => best,
            (None, Some(stopped)) => {
                let (number, (fitted, _)) = &stopped;
                self.all.push((*number, settled(fitted), fitted.steps));
                stopped
            }
            (None, None) => return Err(Stop::Interrupted),
        };
        self.all.sort_by_key(|(number, ..)| *number);
        let restart = |&(number, settled, _): &(usize, LossEstimate, u64)| Restart {
            seed: seed_of(seed, "restart", number),
            settled,
        };
        fitted.restarts = self.all.iter().map(restart).collect();
        fitted.steps = self.all.iter().map(|(.., steps)| steps).sum();
        Ok((fitted, rest))
    }
}
