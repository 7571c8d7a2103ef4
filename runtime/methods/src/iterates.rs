//! Computes posteriors from the iterates of one training run (averages over iterates), or from
//! several training runs (ensembles).

pub mod diagnostics;
pub mod method;

use crate::MethodFolder;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::Work;
use bnnc_abi::methods::iterates::Ensemble;
use bnnc_core::context::Stop;
use bnnc_core::states::StateValues;
use bnnc_training::history::{History, ValidationCurve};
use bnnc_training::iterates::{Collected, TrainingSummary, moved};
use bnnc_training::restarts::{Numbered, NumberedRuns};
use bnnc_training::start::Starts;
use bnnc_training::{Task, TrainingResult, maximum, restarts, spread, train};
use std::sync::Arc;

/// The methods `swag` and `ensemble`.
pub(crate) const FOLDER: MethodFolder = MethodFolder {
    of: |infer| match &infer.work {
        Work::Swag(swag) => Some(Box::new(method::Averages { infer, swag })),
        Work::Ensemble(ensemble) => Some(Box::new(method::Ensembles { infer, ensemble })),
        _ => None,
    },
    codes: diagnostics::CODES,
    prefix: None,
};

/// Returns the seed of an ensemble member. `map` with this seed finds the same point as the
/// ensemble member.
pub fn seed_of(seed: u64, member: usize) -> u64 {
    restarts::seed_of(seed, "member", member)
}

/// Returns the largest number of members that are trained at the same time.
pub fn at_once(ensemble: &Ensemble) -> usize {
    ensemble.options.members.clamp(1, restarts::AT_ONCE)
}

/// Trains the members from different starts on the threads of the machine. Each member depends only
/// on its own seed. Therefore, the result does not depend on which member finishes first.
fn members(task: &Task<'_>, ensemble: &Ensemble, starts: &Starts<'_>) -> Result<Collected, Stop> {
    let count = ensemble.options.members;
    // If other members are trained at the same time, the restarts of a member run one after another.
    let one = |task: &Task<'_>, member: usize| {
        let one = |task: &Task<'_>| Ok((train(task, starts.of_task(task, member), None)?, ()));
        match count > 1 {
            true => restarts::in_turn(task, &one),
            false => restarts::best(task, &one),
        }
    };
    let runs = NumberedRuns::new(task, "member", count, &one, Vec::new());
    let workers = task.context.pool.threads().clamp(1, at_once(ensemble));
    runs.on_threads(workers, Vec::push);
    let (mut found, interrupted) = runs.finish()?;
    found.sort_by_key(|(member, _)| *member);
    // A member whose training was interrupted is less trained than the others. Such members are
    // dropped if another member is complete. If all members are incomplete, only the first of them
    // is kept.
    let is_whole = |(_, (fitted, ())): &Numbered<()>| !fitted.interrupted;
    match found.iter().any(is_whole) {
        true => found.retain(is_whole),
        false => found.truncate(1),
    }
    match found.is_empty() {
        true => Err(Stop::Interrupted),
        false => {
            let seed = task.context.seed;
            let mut collected = together(task.infer, ensemble, found, interrupted, seed);
            if collected.members.len() > 1 && !interrupted {
                collected.agreement = spread::agreement(task, &collected.members)?;
            }
            Ok(collected)
        }
    }
}

/// Collects the results of several training runs; each result is one draw.
fn together(
    infer: &InferenceBlock,
    ensemble: &Ensemble,
    found: Vec<Numbered<()>>,
    interrupted: bool,
    seed: u64,
) -> Collected {
    let trained = |(member, (fitted, ())): &Numbered<()>| TrainingSummary::of(fitted, seed_of(seed, *member));
    let trainings: Vec<TrainingSummary> = found.iter().map(trained).collect();
    let found: Vec<TrainingResult> = found.into_iter().map(|(_, (fitted, ()))| fitted).collect();
    let members: Vec<Arc<StateValues>> = found.iter().map(|fitted| fitted.values.clone()).collect();
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
        breadth: None,
        narrowest: None,
        agreement: None,
    }
}

/// Combines the results of several training runs into one result, with the mean of the losses and
/// the sum of the steps.
fn average(found: &[TrainingResult], values: Arc<StateValues>, interrupted: bool) -> TrainingResult {
    let sum: f64 = found.iter().map(|fitted| fitted.loss).sum();
    let most = |of: fn(&TrainingResult) -> usize| found.iter().map(of).max().unwrap_or(0);
    TrainingResult {
        values,
        loss: sum / found.len() as f64,
        history: History::average(found.iter().map(|fitted| &fitted.history)),
        validation: ValidationCurve::average(found.iter().filter_map(|fitted| fitted.validation.as_ref())),
        epochs: most(|fitted| fitted.epochs),
        planned: most(|fitted| fitted.planned),
        best_epoch: most(|fitted| fitted.best_epoch),
        bytes: found.iter().map(|fitted| fitted.bytes).max().unwrap_or(0),
        steps: found.iter().map(|fitted| fitted.steps).sum(),
        interrupted,
        worsened: found.iter().find_map(|fitted| fitted.worsened),
        restarts: found.iter().flat_map(|fitted| fitted.restarts.clone()).collect(),
        descent: maximum::worst(found),
    }
}
