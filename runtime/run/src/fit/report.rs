//! The warnings about a training, and its part of the result object and of the table.

use super::convergence::{Unfinished, material, unfinished};
use super::windows::Estimate;
use super::{Fitted, restarts};
use crate::codes;
use crate::feed::examples;
use crate::result::{finite, number};
use bnnc_abi::manifest::{Infer, Length, Training};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::Dataset;
use serde_json::{Value, json};

/// The help of a training that is too short: the option of its length and another value.
fn longer(options: &Training) -> String {
    match options.length {
        Length::Epochs(epochs) => format!("epochs = {}", epochs.saturating_mul(2)),
        Length::Steps(steps) => format!("steps = {}", steps.saturating_mul(2)),
    }
}

/// The number of weights of a model.
fn weights(infer: &Infer) -> usize {
    infer.cost.parameters
}

/// What shows that a training has not converged. Nothing is known of one that was stopped, by the user or by the validation rows.
pub fn judged(infer: &Infer, fitted: &Fitted, rows: usize) -> Option<Unfinished> {
    let options = &infer.training()?.options;
    let is_whole = fitted.epochs == fitted.planned && !fitted.interrupted && fitted.loss.is_finite();
    match is_whole {
        true => unfinished(&fitted.history, options.schedule, (weights(infer), rows)),
        false => None,
    }
}

/// The warnings about a training of an infer.
pub fn warnings(infer: &Infer, fitted: &Fitted, dataset: &Dataset) -> Vec<Diagnostic> {
    let Some(train) = infer.training() else {
        return Vec::new();
    };
    let rows = examples(&infer.bindings, &dataset.train);
    let mut warnings = Vec::new();
    let names = (&*infer.name, &*longer(&train.options));
    // A training that got worse has one warning, which names the cause.
    match judged(infer, fitted, rows).filter(|_| fitted.worsened.is_none()) {
        Some(Unfinished::Falling(fall)) => warnings.push(codes::not_converged(names, fall, rows)),
        Some(Unfinished::Noisy(error)) => warnings.push(codes::noisy_loss(names, error, rows)),
        None => {}
    }
    if let Some(worsened) = &fitted.worsened {
        warnings.push(codes::worsened(&infer.name, worsened, rows));
    }
    if let Some((best, worst)) = spread(fitted)
        && worst.is_above(best, material(weights(infer), rows))
    {
        warnings.push(codes::restarts_differ(
            &infer.name,
            fitted.restarts.len(),
            (best.loss, worst.loss),
            rows,
        ));
    }
    warnings
}

/// The best and the worst of several trainings.
fn spread(fitted: &Fitted) -> Option<(Estimate, Estimate)> {
    let settled = || fitted.restarts.iter().map(|restart| restart.settled);
    let best = settled().min_by(|a, b| a.loss.total_cmp(&b.loss))?;
    let worst = settled().max_by(|a, b| a.loss.total_cmp(&b.loss))?;
    Some((best, worst))
}

/// Adds to the diagnostics of an infer.
pub fn diagnostics(value: &mut Value, infer: &Infer, fitted: &Fitted, rows: usize) {
    if fitted.steps == 0 {
        return;
    }
    value["converged"] = json!(judged(infer, fitted, rows).is_none() && !fitted.interrupted);
    if !fitted.restarts.is_empty() {
        let one = |restart: &restarts::Restart| {
            json!({
                "seed": restart.seed,
                "loss": finite(restart.settled.loss),
                "loss_se": finite(restart.settled.error),
            })
        };
        value["restarts"] = fitted.restarts.iter().map(one).collect();
    }
}

/// The line of the table about several trainings.
pub fn table(fitted: &Fitted, rows: usize) -> String {
    let per_row = |loss: f64| number(-loss / rows.max(1) as f64);
    match spread(fitted) {
        Some((best, worst)) => {
            let range = format!("{} to {}", per_row(worst.loss), per_row(best.loss));
            let count = fitted.restarts.len();
            format!("  {:<21} {range:>10}\n", format!("of {count} restarts"))
        }
        None => String::new(),
    }
}
