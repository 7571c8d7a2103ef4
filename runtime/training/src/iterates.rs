//! Posteriors that are built from the iterates of a training run.

pub mod gaussian;
pub mod means;
pub mod memory;
pub mod taken;

use crate::start::{self, Starts};
use crate::{Task, TrainingResult, Watch, restarts, spread, train};
use bnnc_abi::manifest::{InferenceBlock, State};
use bnnc_abi::methods::iterates::{Covariance, Swag};
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::StateValues;
use bnnc_kernels::executor::Machine;
use bnnc_math::philox;
use means::MeansPass;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use taken::{Iterated, Taken};

/// The result of collecting iterates. Predictions and later inference blocks use it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Collected {
    /// The result of the last training run. For an ensemble, the values are averages over the
    /// training runs of the members.
    pub fitted: TrainingResult,
    /// The states that predictions use. A state that the training changes has the shape `[draws,
    /// ..]`. A state that the training does not change has a single value.
    pub values: Arc<StateValues>,
    /// The number of draws of each state in `values`.
    pub draws: usize,
    /// The states that a later inference block starts from: the mean of the iterates, or the first
    /// member.
    pub mean: Arc<StateValues>,
    /// The variance over the iterates, for each element of the states that the training changes.
    /// Empty if variances are not needed.
    pub variances: Arc<StateValues>,
    /// The states of each member of an ensemble.
    pub members: Vec<Arc<StateValues>>,
    /// The summaries of the training runs.
    pub trainings: Vec<TrainingSummary>,
    /// The number of iterates, and the number of deviations in the covariance. Both numbers are
    /// zero for an ensemble.
    pub iterates: (usize, usize),
    /// The estimated variance of the Gaussian over iterates, divided by the posterior variance.
    /// `None` if this ratio was not estimated.
    #[serde(default)]
    pub breadth: Option<f64>,
    /// The parameter whose Gaussian is narrowest relative to the posterior. The number is an upper
    /// bound on a ratio: the variance of this Gaussian divided by the posterior variance.
    #[serde(default)]
    pub narrowest: Option<(String, f64)>,
    /// The largest ratio of variances over all parameters. The numerator is the variance between
    /// the members of an ensemble, and the denominator is the posterior variance. `None` if the
    /// members do not agree in all parameters.
    #[serde(default)]
    pub agreement: Option<f64>,
}

/// The summary of one training run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainingSummary {
    /// The seed of the start and of the shuffles. `map` with this seed finds the same point.
    pub seed: u64,
    /// The mean loss of the last epoch.
    pub loss: f64,
    /// The number of epochs that were run.
    pub epochs: usize,
    /// The epoch whose parameters were kept.
    pub best_epoch: usize,
    /// The number of steps that were run.
    pub steps: u64,
}

impl Collected {
    /// Restores the collected iterates from the folder of a run. Only the data that predictions
    /// need are restored.
    pub fn restored(values: &StateValues, draws: usize) -> Collected {
        let values = Arc::new(values.clone());
        Collected {
            fitted: TrainingResult::default(),
            draws,
            mean: values.clone(),
            values,
            variances: Arc::default(),
            members: Vec::new(),
            trainings: Vec::new(),
            iterates: (0, 0),
            breadth: None,
            narrowest: None,
            agreement: None,
        }
    }
}

impl TrainingSummary {
    /// Returns the summary of a training run.
    pub fn of(fitted: &TrainingResult, seed: u64) -> TrainingSummary {
        TrainingSummary {
            seed,
            loss: fitted.loss,
            epochs: fitted.epochs,
            best_epoch: fitted.best_epoch,
            steps: fitted.steps,
        }
    }
}

/// Returns the name of each state in `names`, with its number of elements.
pub fn moved<'a>(infer: &'a InferenceBlock, names: &'a [String]) -> Vec<(&'a str, usize)> {
    let is_moved = |state: &&State| names.contains(&state.name);
    let states = infer.states.iter().filter(is_moved);
    states
        .map(|state| (&*state.name, state.shape.count(&Sizes::default())))
        .collect()
}

/// Returns the posterior from the iterates of a new training run, or from the iterates of an
/// earlier inference block.
///
/// # Errors
/// Fails if the training fails, or if there are fewer iterates than the covariance needs.
pub fn iterated(task: &Task<'_>, swag: &Swag, starts: &Starts<'_>) -> Result<Collected, Stop> {
    let Task { infer, context, .. } = *task;
    let moved = moved(infer, &swag.moved);
    let elements = moved.iter().map(|(_, size)| size).sum();
    let (fitted, taken) = match starts.iterates() {
        Some(found) => {
            let mut taken = Taken::new(swag, elements);
            let fitted = taken_before(infer, found, (starts, context), &moved, &mut taken)?;
            (fitted, taken)
        }
        None => restarts::best(task, &|task| {
            let mut collector = Collector {
                swag,
                epochs: swag
                    .train
                    .options
                    .epochs_of(infer.examples(task.dataset.train.count)),
                moved: &moved,
                iterate: vec![0.0; elements],
                taken: Taken::new(swag, elements),
            };
            let start = starts.of_task(task, 0);
            let fitted = train(task, start, Some(&mut collector))?;
            Ok((fitted, collector.taken))
        })?,
    };
    let all = taken.finish(swag);
    let count = all.moments.count();
    if count < swag.least() {
        return Err(match fitted.interrupted {
            true => Stop::Interrupted,
            false => crate::diagnostics::iterates::too_few_iterates(&infer.name, count, swag.least()).into(),
        });
    }
    let mut variances = StateValues::new();
    if swag.gaussian.covariance != Covariance::Point {
        let all: Vec<f64> = (0..elements).map(|at| all.moments.variance(at)).collect();
        put(&moved, &all, &mut variances);
    }
    let (mut mean, mut values) = (fitted.values.as_ref().clone(), fitted.values.as_ref().clone());
    put(&moved, all.moments.mean(), &mut mean);
    let draws = draws_of(infer, swag, count);
    spread(
        &moved,
        &all,
        (swag.gaussian.scale, draws),
        key(infer, context),
        &mut values,
    );
    if let Some(program) = &swag.means {
        let mut pass = MeansPass::new(task, swag, program)?;
        pass.replace(&mut mean, 1)?;
        // The running means of an iterate are those that the training stored with it.
        if swag.gaussian.covariance != Covariance::Snapshots {
            pass.replace(&mut values, draws)?;
        }
    }
    let is_gaussian = matches!(
        swag.gaussian.covariance,
        Covariance::Diagonal | Covariance::LowRank(_)
    );
    let breadth = match is_gaussian && !fitted.interrupted {
        true => spread::breadth(task, &mean, (&values, draws))?,
        false => None,
    };
    Ok(Collected {
        values: Arc::new(values),
        draws,
        mean: Arc::new(mean),
        variances: Arc::new(variances),
        members: Vec::new(),
        trainings: match swag.options.iterates {
            None => vec![TrainingSummary::of(&fitted, context.seed)],
            Some(_) => Vec::new(),
        },
        iterates: (count, all.moments.rank()),
        breadth: breadth.as_ref().map(|breadth| breadth.all),
        narrowest: breadth.and_then(|breadth| breadth.narrowest),
        agreement: None,
        fitted,
    })
}

/// Collects the iterates during a training run.
struct Collector<'a> {
    swag: &'a Swag,
    /// The number of epochs of the training.
    epochs: usize,
    moved: &'a [(&'a str, usize)],
    /// The values of the trained states at one iterate.
    iterate: Vec<f64>,
    taken: Taken,
}

impl Watch for Collector<'_> {
    fn epoch(&mut self, epoch: usize, machine: &mut Machine) -> Result<(), Stop> {
        if self.swag.takes(epoch, self.epochs) {
            let mut rest = self.iterate.as_mut_slice();
            for (name, size) in self.moved {
                let (own, others) = rest.split_at_mut(*size);
                machine.read_into(name, own)?;
                rest = others;
            }
            self.taken.take(&self.iterate);
        }
        Ok(())
    }

    fn save(&self) -> Result<Vec<u8>, Fault> {
        postcard::to_extend(&self.taken, Vec::new()).map_err(|error| Fault::Bug(error.to_string()))
    }

    fn restore(&mut self, bytes: &[u8], _: &mut Machine) -> Result<bool, Stop> {
        match postcard::from_bytes(bytes) {
            Ok(taken) => {
                self.taken = taken;
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }
}

/// Returns the posterior from the iterates of an earlier inference block, without a new training
/// run. States that the training does not change keep their values from the earlier block.
///
/// # Errors
/// Fails if the two inference blocks have different states. This would be a bug.
fn taken_before(
    infer: &InferenceBlock,
    found: &start::EarlierIterates,
    (starts, context): (&Starts<'_>, &Context),
    moved: &[(&str, usize)],
    taken: &mut Taken,
) -> Result<TrainingResult, Stop> {
    let mut columns = Vec::new();
    for (name, size) in moved {
        let column = found
            .values
            .get(*name)
            .filter(|column| column.len() == size * found.count);
        let missing = || Fault::Bug(format!("`{}` has no iterates of `{name}`", found.infer));
        columns.push((column.ok_or_else(missing)?, *size));
    }
    let mut iterate = Vec::new();
    for number in 0..found.count {
        iterate.clear();
        for (column, size) in &columns {
            iterate.extend_from_slice(&column[number * size..(number + 1) * size]);
        }
        taken.take(&iterate);
    }
    let mut values = starts.of(context.seed, 0);
    // The state of the optimiser is not part of the result.
    let is_parameter = |name: &str| {
        infer
            .states
            .iter()
            .any(|state| state.parameter && state.name == name)
    };
    values.retain(|name, _| is_parameter(name));
    for (name, own) in &mut values {
        if let Some(other) = found.values.get(name).filter(|other| other.len() == own.len()) {
            own.clone_from(other);
        }
    }
    Ok(TrainingResult {
        values: Arc::new(values),
        loss: f64::NAN,
        ..TrainingResult::default()
    })
}

/// Returns the key of the random numbers for draws from the Gaussian.
fn key(infer: &InferenceBlock, context: &Context) -> u64 {
    philox::key(context.seed, &format!("iterates/{}", infer.name))
}

/// Returns the number of draws that are stored for this number of iterates. A Gaussian without
/// covariance has one draw.
pub fn draws_of(infer: &InferenceBlock, swag: &Swag, iterates: usize) -> usize {
    match swag.gaussian.covariance {
        Covariance::Point => 1,
        Covariance::Snapshots => iterates,
        Covariance::Diagonal | Covariance::LowRank(_) => infer.predictive_draws(),
    }
}

/// Replaces the value of each trained state by the part of a position that belongs to this state. A position is a vector of
/// all trained elements.
fn put(moved: &[(&str, usize)], position: &[f64], values: &mut StateValues) {
    let mut at = 0;
    for (name, size) in moved {
        values.insert((*name).to_owned(), position[at..at + size].to_vec());
        at += size;
    }
}

/// Replaces the values of each trained state by draws from the Gaussian, or by the iterates
/// themselves.
fn spread(
    moved: &[(&str, usize)],
    iterated: &Iterated,
    (scale, draws): (f64, usize),
    key: u64,
    values: &mut StateValues,
) {
    let mut columns: Vec<Vec<f64>> = moved
        .iter()
        .map(|(_, size)| Vec::with_capacity(size * draws))
        .collect();
    let mut draw = Vec::new();
    for number in 0..draws {
        match iterated.snapshots.get(number) {
            Some(snapshot) => draw.clone_from(snapshot),
            None => iterated.moments.draw(scale, key, number as u32, &mut draw),
        }
        let mut at = 0;
        for (column, (_, size)) in columns.iter_mut().zip(moved) {
            column.extend_from_slice(&draw[at..at + size]);
            at += size;
        }
    }
    for ((name, _), column) in moved.iter().zip(columns) {
        values.insert((*name).to_owned(), column);
    }
}
