//! Posteriors made of what training passes through: averages of iterates, and ensembles.

pub mod gaussian;
pub mod memory;
pub mod report;
pub mod taken;

use crate::codes;
use crate::collapsed::choice::{self, Choice};
use crate::fit::{Context, Fitted, Stop, fit, fit_watched};
use crate::start::{self, Starts};
use crate::states::Values;
use bnnc_abi::iterates::{Covariance, Ensemble, Swag};
use bnnc_abi::manifest::{Infer, Output, OutputKind, State, Work};
use bnnc_base::fault::Fault;
use bnnc_base::philox;
use bnnc_base::shape::Sizes;
use bnnc_data::Dataset;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use taken::{Iterated, Taken};

/// What was collected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Collected {
    /// How the last training went; of an ensemble, how its members went together.
    pub fitted: Fitted,
    /// For predictions: the states that move at `draws` draws (`[draws, ..]`), the others as they are.
    pub values: Arc<Values>,
    /// The draws in `values`.
    pub draws: usize,
    /// The states for infers that start from this one: the mean of the iterates, or the first member.
    pub mean: Arc<Values>,
    /// The variance of each element of the states that move, over the iterates; empty without them.
    pub variances: Arc<Values>,
    /// The states of each member of an ensemble.
    pub members: Vec<Arc<Values>>,
    /// How each training went.
    pub trainings: Vec<Trained>,
    /// The iterates that were taken, and how many deviations the covariance is made of; none of an ensemble.
    pub iterates: (usize, usize),
    /// Which weights are integrated over; none where none are.
    pub choice: Choice,
}

/// How one training went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// The seed of its start and its shuffles: `map` with this seed finds the same.
    pub seed: u64,
    /// The loss of the last epoch.
    pub loss: f64,
    /// The epochs that were run.
    pub epochs: usize,
    /// The epoch whose parameters were kept.
    pub best_epoch: usize,
    /// Steps that were run.
    pub steps: u64,
}

impl Trained {
    fn of(fitted: &Fitted, seed: u64) -> Trained {
        Trained {
            seed,
            loss: fitted.loss,
            epochs: fitted.epochs,
            best_epoch: fitted.best_epoch,
            steps: fitted.steps,
        }
    }
}

/// Collects iterates or members of one infer on the training rows of a dataset. What is finished of an interrupted ensemble is kept.
///
/// # Errors
/// As training; fewer iterates than the covariance needs.
pub fn collect(
    infer: &Infer,
    dataset: &Dataset,
    starts: &Starts<'_>,
    split: usize,
    context: &Context,
) -> Result<Collected, Stop> {
    match &infer.work {
        Work::Swag(swag) => iterated(infer, swag, dataset, starts, context),
        Work::Collapsed(collapsed) => {
            let mut found = iterated(infer, &collapsed.iterates, dataset, starts, context)?;
            found.choice = choice::choose((infer, collapsed), &found, dataset, context)?;
            Ok(found)
        }
        Work::Ensemble(ensemble) => members(infer, ensemble, (dataset, split), starts, context),
        Work::Train(_) | Work::Sample(_) | Work::Laplace(_) => {
            Err(Fault::Bug(format!("`{}` collects nothing", infer.name)).into())
        }
    }
}

/// The states that move, with their sizes.
fn moved<'a>(infer: &'a Infer, names: &'a [String]) -> Vec<(&'a str, usize)> {
    let is_moved = |state: &&State| names.contains(&state.name);
    let states = infer.states.iter().filter(is_moved);
    states
        .map(|state| (&*state.name, state.shape.count(&Sizes::default())))
        .collect()
}

/// What is made of the iterates of one training, or of those that an earlier infer found.
fn iterated(
    infer: &Infer,
    swag: &Swag,
    dataset: &Dataset,
    starts: &Starts<'_>,
    context: &Context,
) -> Result<Collected, Stop> {
    let moved = moved(infer, &swag.moved);
    let elements = moved.iter().map(|(_, size)| size).sum();
    let mut taken = Taken::new(swag, elements);
    let fitted = match starts.iterates() {
        Some(found) => taken_before(infer, found, (starts, context), &moved, &mut taken)?,
        None => trained(infer, swag, (dataset, starts, context), &moved, &mut taken)?,
    };
    let all = taken.finish(swag);
    let count = all.moments.count();
    if count < swag.least() {
        return Err(match fitted.interrupted {
            true => Stop::Interrupted,
            false => codes::too_few_iterates(&infer.name, count, swag.least()).into(),
        });
    }
    let mut variances = Values::new();
    if swag.covariance != Covariance::Point {
        let all: Vec<f64> = (0..elements).map(|at| all.moments.variance(at)).collect();
        put(&moved, &all, &mut variances);
    }
    let (mut mean, mut values) = (fitted.values.as_ref().clone(), fitted.values.as_ref().clone());
    put(&moved, all.moments.mean(), &mut mean);
    let draws = draws_of(infer, swag, count);
    spread(
        &moved,
        &all,
        (swag.scale, draws),
        key(infer, context),
        &mut values,
    );
    Ok(Collected {
        values: Arc::new(values),
        draws,
        mean: Arc::new(mean),
        variances: Arc::new(variances),
        members: Vec::new(),
        trainings: match swag.from {
            None => vec![Trained::of(&fitted, context.seed)],
            Some(_) => Vec::new(),
        },
        iterates: (count, all.moments.rank()),
        choice: Choice::default(),
        fitted,
    })
}

/// A training whose iterates are taken.
fn trained(
    infer: &Infer,
    swag: &Swag,
    (dataset, starts, context): (&Dataset, &Starts<'_>, &Context),
    moved: &[(&str, usize)],
    taken: &mut Taken,
) -> Result<Fitted, Stop> {
    let mut iterate = vec![0.0; moved.iter().map(|(_, size)| size).sum()];
    let start = starts.of(context.seed, 0);
    fit_watched(infer, dataset, start, context, &mut |epoch, machine| {
        if swag.takes(epoch) {
            let mut rest = iterate.as_mut_slice();
            for (name, size) in moved {
                let (own, others) = rest.split_at_mut(*size);
                machine.read_into(name, own)?;
                rest = others;
            }
            taken.take(&iterate);
        }
        Ok(())
    })
}

/// The iterates of an earlier infer, and what it found for the states that do not move; nothing is trained.
///
/// # Errors
/// A bug: states that are not those of the earlier infer.
fn taken_before(
    infer: &Infer,
    found: &start::Iterates,
    (starts, context): (&Starts<'_>, &Context),
    moved: &[(&str, usize)],
    taken: &mut Taken,
) -> Result<Fitted, Stop> {
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
    // What an optimiser remembers has no part in it.
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
    Ok(Fitted {
        values: Arc::new(values),
        loss: f64::NAN,
        losses: Vec::new(),
        epochs: 0,
        best_epoch: 0,
        bytes: 0,
        steps: 0,
        interrupted: false,
    })
}

/// The iterates of a finished infer for those that take them; nothing where it holds none.
pub fn found(infer: &Infer, found: &Collected) -> Option<start::Iterates> {
    // The draws of a Gaussian are no iterates; members of an ensemble serve as well as iterates of one training.
    let is_gaussian = swag(infer).is_some_and(|swag| swag.covariance != Covariance::Snapshots);
    (!is_gaussian).then(|| start::Iterates {
        infer: infer.name.clone(),
        values: found.values.clone(),
        count: found.draws,
    })
}

/// How an infer takes iterates, where it does.
pub fn swag(infer: &Infer) -> Option<&Swag> {
    match &infer.work {
        Work::Swag(swag) => Some(swag),
        Work::Collapsed(collapsed) => Some(&collapsed.iterates),
        Work::Train(_) | Work::Sample(_) | Work::Laplace(_) | Work::Ensemble(_) => None,
    }
}

/// The key of the draws.
fn key(infer: &Infer, context: &Context) -> u64 {
    philox::key(context.seed, &format!("iterates/{}", infer.name))
}

/// The draws that are held of so many iterates: one of a Gaussian that has no spread.
fn draws_of(infer: &Infer, swag: &Swag, iterates: usize) -> usize {
    match swag.covariance {
        Covariance::Point => 1,
        Covariance::Snapshots => iterates,
        Covariance::Diagonal | Covariance::LowRank(_) => infer.predictive_draws,
    }
}

/// Puts one position in the place of each state that moves.
fn put(moved: &[(&str, usize)], position: &[f64], values: &mut Values) {
    let mut at = 0;
    for (name, size) in moved {
        values.insert((*name).to_owned(), position[at..at + size].to_vec());
        at += size;
    }
}

/// Puts draws, or the iterates themselves, in the place of each state that moves.
fn spread(
    moved: &[(&str, usize)],
    iterated: &Iterated,
    (scale, draws): (f64, usize),
    key: u64,
    values: &mut Values,
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

/// The seed of a member. The first has that of the run, so that it is what `map` finds; those of the others are below 2^53, so that every reader of
/// numbers can hold them.
pub fn seed_of(seed: u64, member: usize) -> u64 {
    match member {
        0 => seed,
        _ => philox::key(seed, &format!("member/{member}")) >> 11,
    }
}

/// Several trainings from different starts.
fn members(
    infer: &Infer,
    ensemble: &Ensemble,
    (dataset, split): (&Dataset, usize),
    starts: &Starts<'_>,
    context: &Context,
) -> Result<Collected, Stop> {
    let mut found: Vec<Fitted> = Vec::new();
    let mut interrupted = false;
    for member in 0..ensemble.members {
        let Some(fitted) = one_member(infer, member, (dataset, split), starts, context)? else {
            interrupted = true;
            break;
        };
        interrupted = fitted.interrupted;
        // What was trained for a part of its epochs is no member like the others, but better than nothing.
        if !interrupted || found.is_empty() {
            found.push(fitted);
        }
        if interrupted {
            break;
        }
    }
    match found.is_empty() {
        true => Err(Stop::Interrupted),
        false => Ok(together(infer, ensemble, found, interrupted, context.seed)),
    }
}

/// One training, or that of an earlier run that is continued; nothing where the user wants an end before it begins.
fn one_member(
    infer: &Infer,
    member: usize,
    (dataset, split): (&Dataset, usize),
    starts: &Starts<'_>,
    context: &Context,
) -> Result<Option<Fitted>, Stop> {
    let name = format!("{}-member{member}", infer.name);
    if let Some(kept) = context.checkpoint.kept(&name, split) {
        return Ok(Some(kept));
    }
    if context.interrupt.is_raised() {
        return Ok(None);
    }
    let seed = seed_of(context.seed, member);
    let own = Context {
        seed,
        ..context.clone()
    };
    let fitted = fit(infer, dataset, starts.of(seed, member), &own)?;
    if !fitted.interrupted {
        context.checkpoint.keep(&name, split, &fitted)?;
    }
    Ok(Some(fitted))
}

/// What several trainings found, as draws.
fn together(
    infer: &Infer,
    ensemble: &Ensemble,
    found: Vec<Fitted>,
    interrupted: bool,
    seed: u64,
) -> Collected {
    let trained = |(member, fitted): (usize, &Fitted)| Trained::of(fitted, seed_of(seed, member));
    let trainings: Vec<Trained> = found.iter().enumerate().map(trained).collect();
    let members: Vec<Arc<Values>> = found.iter().map(|fitted| fitted.values.clone()).collect();
    let mean = members[0].clone();
    let mut values = mean.as_ref().clone();
    for (name, size) in moved(infer, &ensemble.moved) {
        let mut column = Vec::with_capacity(size * members.len());
        let own = members.iter().filter_map(|member| member.get(name));
        own.for_each(|own| column.extend_from_slice(own));
        values.insert(name.to_owned(), column);
    }
    Collected {
        fitted: average(&found, mean.clone(), interrupted),
        values: Arc::new(values),
        draws: members.len(),
        mean,
        variances: Arc::default(),
        members,
        trainings,
        iterates: (0, 0),
        choice: Choice::default(),
    }
}

/// The mean losses of several trainings, and the sum of their work.
fn average(found: &[Fitted], values: Arc<Values>, interrupted: bool) -> Fitted {
    let longest = found.iter().map(|fitted| fitted.losses.len()).max().unwrap_or(0);
    let mean = |of: &dyn Fn(&Fitted) -> Option<f64>| {
        let all: Vec<f64> = found.iter().filter_map(of).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let most = |of: fn(&Fitted) -> usize| found.iter().map(of).max().unwrap_or(0);
    Fitted {
        values,
        loss: mean(&|fitted| Some(fitted.loss)),
        losses: (0..longest)
            .map(|epoch| mean(&|fitted| fitted.losses.get(epoch).copied()))
            .collect(),
        epochs: most(|fitted| fitted.epochs),
        best_epoch: most(|fitted| fitted.best_epoch),
        bytes: found.iter().map(|fitted| fitted.bytes).max().unwrap_or(0),
        steps: found.iter().map(|fitted| fitted.steps).sum(),
        interrupted,
    }
}

/// How many draws predictions are made of where so many positions are held: at least `predictive_draws` where draws of the target say
/// more than positions alone, each position equally often.
pub fn predictive_draws(infer: &Infer, held: usize) -> usize {
    let held = held.max(1);
    let is_of_classes = |output: &Output| matches!(output.kind, OutputKind::Classes(_) | OutputKind::Bool);
    match infer.outputs.iter().all(is_of_classes) {
        true => held,
        false => held * infer.predictive_draws.div_ceil(held),
    }
}
