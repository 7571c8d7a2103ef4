//! Posteriors made of what training passes through: averages of iterates, and ensembles.

pub mod method;

use bnnc_abi::iterates::Ensemble;
use bnnc_abi::manifest::Infer;
use bnnc_core::context::{Context, Stop};
use bnnc_core::states::Values;
use bnnc_training::history::{Curve, History};
use bnnc_training::iterates::{Collected, Trained, moved};
use bnnc_training::start::Starts;
use bnnc_training::{Fitted, Task, maximum, restarts, train};
use std::sync::Arc;

/// The seed of a member; `map` with this seed finds the same.
pub fn seed_of(seed: u64, member: usize) -> u64 {
    restarts::seed_of(seed, "member", member)
}

/// Several trainings from different starts.
fn members(task: &Task<'_>, ensemble: &Ensemble, starts: &Starts<'_>) -> Result<Collected, Stop> {
    let mut found: Vec<Fitted> = Vec::new();
    let mut interrupted = false;
    for member in 0..ensemble.options.members {
        let Some(fitted) = one_member(task, member, starts)? else {
            interrupted = true;
            break;
        };
        interrupted = fitted.interrupted;
        // A member that was trained for a part of its epochs is not like the others, but better than nothing.
        if !interrupted || found.is_empty() {
            found.push(fitted);
        }
        if interrupted {
            break;
        }
    }
    match found.is_empty() {
        true => Err(Stop::Interrupted),
        false => Ok(together(
            task.infer,
            ensemble,
            found,
            interrupted,
            task.context.seed,
        )),
    }
}

/// One member, or that of an earlier run that is continued; nothing where the user wants an end before it begins.
fn one_member(task: &Task<'_>, member: usize, starts: &Starts<'_>) -> Result<Option<Fitted>, Stop> {
    let name = format!("{}-member{member}", task.infer.name);
    let checkpoint = &task.context.checkpoint;
    if let Some(kept) = checkpoint.kept(&name, task.split) {
        return Ok(Some(kept));
    }
    if task.context.interrupt.is_raised() {
        return Ok(None);
    }
    let context = Context {
        seed: seed_of(task.context.seed, member),
        ..task.context.clone()
    };
    let own = Task {
        name: &name,
        context: &context,
        ..*task
    };
    let (fitted, ()) = restarts::best(&own, &|task| {
        Ok((train(task, starts.of_task(task, member), None)?, ()))
    })?;
    if !fitted.interrupted {
        checkpoint.keep(&name, task.split, &fitted)?;
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
        breadth: None,
    }
}

/// The mean losses of several trainings, and the sum of their work.
fn average(found: &[Fitted], values: Arc<Values>, interrupted: bool) -> Fitted {
    let sum: f64 = found.iter().map(|fitted| fitted.loss).sum();
    let most = |of: fn(&Fitted) -> usize| found.iter().map(of).max().unwrap_or(0);
    Fitted {
        values,
        loss: sum / found.len() as f64,
        history: History::average(found.iter().map(|fitted| &fitted.history)),
        validation: Curve::average(found.iter().filter_map(|fitted| fitted.validation.as_ref())),
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
