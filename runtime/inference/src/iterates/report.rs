//! The report on iterates and on members of ensembles. It consists of diagnostics in the result object, and of lines in the printed table.

use crate::posterior::of_sites;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::iterates::{Covariance, Swag};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::number::{finite, table_line};
use bnnc_data::Dataset;
use bnnc_data::metrics::extent;
use bnnc_training::diagnostics::iterates;
use bnnc_training::iterates::Collected;
use bnnc_training::{TrainingResult, report};
use serde_json::{Value, json};

/// Adds the losses, the iterates and the members to the diagnostics of an inference block.
pub fn diagnostics(value: &mut Value, infer: &InferenceBlock, found: &Collected, rows: usize) {
    let fitted = &found.fitted;
    report::losses(value, infer, fitted, rows);
    match infer.iterated() {
        Some(swag) => {
            let (form, rank) = match swag.gaussian.covariance {
                Covariance::Point => ("point", 0),
                Covariance::Diagonal => ("diagonal", 0),
                Covariance::LowRank(_) => ("low_rank", found.iterates.1),
                Covariance::Snapshots => ("snapshots", 0),
            };
            value["best_epoch"] = json!(fitted.best_epoch);
            value["iterates"] = json!(found.iterates.0);
            value["covariance"] = json!(form);
            value["rank"] = json!(rank);
            value["scale"] = finite(swag.gaussian.scale);
            if let Some(breadth) = found.breadth {
                value["breadth"] = finite(breadth);
            }
        }
        None => {
            let trainings = found.trainings.iter().map(|training| {
                json!({
                    "seed": training.seed,
                    "loss": finite(training.loss),
                    "epochs": training.epochs,
                    "best_epoch": training.best_epoch,
                    "steps": training.steps,
                })
            });
            value["members"] = trainings.collect();
        }
    }
    value["sites"] = of_sites(infer, |site| &site.kl);
}

/// The iterates have diverged if the loss per row rises by more than this number.
const LARGEST_RISE: f64 = 1.0;

/// Returns the warnings about the iterates of an inference block. `rows` is the number of rows on which it was trained.
pub fn warnings(
    infer: &InferenceBlock,
    found: &Collected,
    (rows, dataset): (usize, &Dataset),
) -> Vec<Diagnostic> {
    let fitted = &found.fitted;
    let Some(swag) = infer.iterated() else {
        let agreement = found
            .agreement
            .filter(|_| report::doubt(infer, fitted, rows).is_none());
        let agreeing = agreement.map(|ratio| iterates::agreeing_members(&infer.name, ratio));
        return agreeing.into_iter().collect();
    };
    let losses = fitted.history.means();
    let rise = match (losses.first(), losses.last()) {
        (Some(first), Some(last)) => (last - first) / rows.max(1) as f64,
        _ => 0.0,
    };
    let diverged = (rise > LARGEST_RISE).then(|| iterates::iterates_diverged(&infer.name, rise));
    let is_gaussian = matches!(
        swag.gaussian.covariance,
        Covariance::Diagonal | Covariance::LowRank(_)
    );
    let is_still =
        is_gaussian && swag.options.iterates.is_none() && swag.train.options.batch_of(rows) >= rows;
    let still = is_still.then(|| iterates::still_iterates(&infer.name, rows));
    let falling = match swag.gaussian.covariance {
        Covariance::Point => None,
        _ if is_still => None,
        _ => fall(swag, fitted, rows).map(|fall| iterates::falling_rate(&infer.name, fall)),
    };
    let has_warning = still.is_some() || falling.is_some();
    let broad = found
        .breadth
        .filter(|breadth| !has_warning && !(1.0 / BROAD..=BROAD).contains(breadth));
    let narrow = found
        .narrowest
        .as_ref()
        .filter(|(_, breadth)| !has_warning && broad.is_none() && *breadth < 1.0 / BROAD);
    let narrow = narrow.map(|(name, breadth)| {
        let raw = report::raw(infer, dataset);
        iterates::narrow_parameter(&infer.name, name, *breadth, raw.as_deref())
    });
    let is_converged = report::doubt(infer, fitted, rows).is_none();
    let broad =
        broad.map(|breadth| iterates::other_breadth(&infer.name, breadth, swag.gaussian.scale, is_converged));
    diverged
        .into_iter()
        .chain(still)
        .chain(falling)
        .chain(broad)
        .chain(narrow)
        .collect()
}

/// A warning is given if the variances of a Gaussian over iterates are more than this number times the posterior variances. For standard
/// deviations, the ratio is five.
const BROAD: f64 = 25.0;

/// The learning rate may decrease by at most this factor while iterates are collected. If the rate decreases more, the iterates scatter less than
/// with a constant rate.
const FALL: f64 = 2.0;

/// Returns the factor by which the learning rate decreases while iterates are collected, if this factor is above [`FALL`]. If the rate decreases to
/// zero, the factor is infinite.
fn fall(swag: &Swag, fitted: &TrainingResult, rows: usize) -> Option<f64> {
    let (planned, rates) = (fitted.planned, swag.train.options.rates(rows));
    let taken: Vec<f64> = (1..=fitted.epochs)
        .filter(|epoch| swag.takes(*epoch, planned))
        .map(|epoch| rates.factor(epoch as f64 / planned as f64))
        .collect();
    let counted = match swag.options.keep {
        0 => &taken[..],
        keep => &taken[taken.len().saturating_sub(keep)..],
    };
    let (least, most) = counted
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), rate| {
            (least.min(*rate), most.max(*rate))
        });
    let fall = most / least;
    (swag.options.iterates.is_none() && fall > FALL).then_some(fall)
}

/// Returns the lines about iterates and members for the printed table.
pub fn table(infer: &InferenceBlock, found: &Collected, rows: usize) -> String {
    let mut text = report::head(infer, &found.fitted, rows);
    match infer.iterated() {
        Some(_) => {
            let (iterates, rank) = found.iterates;
            text.push_str(&table_line("iterates", iterates));
            if rank > 0 {
                text.push_str(&table_line("rank", rank));
            }
        }
        None => {
            text.push_str(&table_line("members", members(infer, found)));
            let (best, worst) = extent(found.trainings.iter().map(|training| training.loss));
            let range = format!(
                "{} to {}",
                report::per_row(worst, rows),
                report::per_row(best, rows)
            );
            text.push_str(&table_line("of each member", range));
        }
    }
    text.push('\n');
    text
}

/// Returns a short description of the work that the training did.
pub fn work(infer: &InferenceBlock, found: &Collected) -> String {
    let Collected { fitted, iterates, .. } = found;
    match infer.iterated() {
        Some(_) => format!(
            "{} epochs, {} steps, {} iterates",
            fitted.epochs, fitted.steps, iterates.0
        ),
        None => format!("{} members, {} steps", members(infer, found), fitted.steps),
    }
}

/// Returns the number of members as text. If the user stopped the run early, the text also contains the planned number.
fn members(infer: &InferenceBlock, found: &Collected) -> String {
    let count = found.members.len();
    match infer.ensemble() {
        Some(ensemble) if found.fitted.interrupted => {
            format!("{count} of {}, interrupted", ensemble.options.members)
        }
        _ => count.to_string(),
    }
}
